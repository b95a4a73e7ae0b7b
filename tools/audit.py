"""python -m tools.audit: known weaknesses of the locked packages; what could not be asked is no clean bill.

Exit status 0: asked, and nothing is known. 1: something is. 3: nothing is of what was asked, and some was not, as the
service of advisories could not be reached.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LOCKS = sorted((Path(__file__).resolve().parent.parent / "requirements").glob("*.lock"))
UNREACHABLE = re.compile(r"connection|timeout|timed out|max retries|resol|proxy|ssl|httperror", re.IGNORECASE)
CLEAN, FOUND, NOT_CHECKED = 0, 1, 3


def command(lock: Path) -> list[str]:
    words = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip"]
    return [*words, "--progress-spinner", "off", "--timeout", "15"]


def audit(locks: Sequence[Path] = LOCKS) -> int:
    """Ask about each lock and print what is known."""
    outcomes = {CLEAN}
    for lock in locks:
        run = subprocess.run(command(lock), capture_output=True, text=True, check=False)
        outcome = outcome_of(run.returncode, run.stdout + run.stderr)
        print(message_of(lock.name, outcome, run.stdout, run.stderr))
        outcomes.add(outcome)
    return next(outcome for outcome in (FOUND, NOT_CHECKED, CLEAN) if outcome in outcomes)


def outcome_of(status: int, output: str) -> int:
    """Return the outcome; pip-audit ends with 1 both for a weakness and for a service that does not answer."""
    if status == 0:
        return CLEAN
    return FOUND if re.search(r"Found \d+ known vulnerabilit", output) else NOT_CHECKED


def message_of(name: str, outcome: int, stdout: str, stderr: str) -> str:
    if outcome == CLEAN:
        return f"{name}: no known weakness."
    if outcome == FOUND:
        return f"{name}:\n{stdout.strip()}"
    last = (stderr.strip().splitlines() or ["it said nothing"])[-1][:200]
    why = "could not be reached" if UNREACHABLE.search(stderr) else "was not asked"
    return f"{name}: NOT CHECKED. The service of advisories {why}, so nothing is known about these packages: {last}"


if __name__ == "__main__":
    sys.exit(audit())
