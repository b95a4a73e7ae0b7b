"""What ``make run`` says in the terminal, and what can go wrong: every message tells a person what to do."""

import sys
from pathlib import Path

LOGINS = (
    ("annotator", "annotator-demo", "judge the pairs that wait for you; ? opens the guideline"),
    ("lead", "lead-demo", "the review queue: a query's 20 candidates, a second batch or not; releases"),
    ("admin", "admin-demo", "corpus, queries, releases, runs and their scores"),
)


def say(text: str) -> None:
    """Print a line; a terminal that has gone away must not stop an orderly end."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):
        sys.stdout = None  # print() then does nothing


def welcome(address: str, var: Path, seconds: float) -> str:
    """The block that is shown when the site answers."""
    rows = [("log in as", "password", "and look at"), *LOGINS]
    table = "\n".join(f"    {name:<11} {password:<16} {task}" for name, password, task in rows)
    return f"""
  MomentJudge is running (ready in {seconds:.1f} s)

    {address}

{table}

    Data       {var}
    Logs       {var / "log"}
    Stop       Ctrl-C
"""


class EmbeddedError(Exception):
    """What goes wrong around the embedded services; its text is shown to a person as it is, without a traceback.

    Not of ``core.exceptions``, which import Django: the supervisor runs without it.
    """
