"""Results of `make audit`: found, clean, or not checked (neither)."""

from pathlib import Path

import pytest

from tools.audit import CLEAN, FOUND, LOCKS, NOT_CHECKED, audit, message_of, outcome_of

REFUSED = "ERROR: ConnectionError: Max retries exceeded"


@pytest.mark.parametrize(
    ("status", "report_text", "outcome"),
    [
        (0, "No known vulnerabilities found", CLEAN),
        (1, "Found 2 known vulnerabilities in 1 package\nName Version ID", FOUND),
        (1, REFUSED, NOT_CHECKED),
        (1, "", NOT_CHECKED),
        (2, "usage: pip-audit", NOT_CHECKED),
    ],
)
def test_outcome(status: int, report_text: str, outcome: int) -> None:
    assert outcome_of(status, report_text) == outcome


def test_what_was_not_checked_is_not_called_clean() -> None:
    assert {lock.name for lock in LOCKS} == {"base.lock", "ml.lock", "dev.lock"}
    assert "NOT CHECKED" in message_of("base.lock", NOT_CHECKED, "", REFUSED)
    assert "could not be reached" in message_of("base.lock", NOT_CHECKED, "", REFUSED)
    assert "was not asked" in message_of("base.lock", NOT_CHECKED, "", "usage: pip-audit")


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        ([CLEAN, CLEAN], CLEAN),
        ([CLEAN, NOT_CHECKED], NOT_CHECKED),
        ([NOT_CHECKED, FOUND], FOUND),
        ([FOUND, NOT_CHECKED], FOUND),
    ],
)
def test_a_known_weakness_is_worse_than_what_was_not_checked(
    outcomes: list[int], worst: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = iter(outcomes)
    monkeypatch.setattr("tools.audit.outcome_of", lambda status, output: next(results))
    monkeypatch.setattr("tools.audit.command", lambda lock: ["true"])
    assert audit([Path("some.lock")] * 2) == worst
