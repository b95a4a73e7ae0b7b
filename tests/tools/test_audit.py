"""What `make audit` says: found, clean, or not asked, which is neither."""

from pathlib import Path

import pytest

from tools.audit import CLEAN, FOUND, LOCKS, NOT_ASKED, audit, message_of, outcome_of

REFUSED = "ERROR: ConnectionError: Max retries exceeded"


@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (0, "No known vulnerabilities found", CLEAN),
        (1, "Found 2 known vulnerabilities in 1 package\nName Version ID", FOUND),
        (1, REFUSED, NOT_ASKED),
        (1, "", NOT_ASKED),
        (2, "usage: pip-audit", NOT_ASKED),
    ],
)
def test_outcome(status: int, said: str, outcome: int) -> None:
    assert outcome_of(status, said) == outcome


def test_what_was_not_asked_is_not_called_clean() -> None:
    assert "NOT CHECKED" in message_of("base.lock", NOT_ASKED, "", REFUSED)
    assert "could not be reached" in message_of("base.lock", NOT_ASKED, "", REFUSED)
    assert "was not asked" in message_of("base.lock", NOT_ASKED, "", "usage: pip-audit")


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        ([CLEAN, CLEAN], CLEAN),
        ([CLEAN, NOT_ASKED], NOT_ASKED),
        ([NOT_ASKED, FOUND], FOUND),
        ([FOUND, NOT_ASKED], FOUND),
    ],
)
def test_a_known_weakness_is_worse_than_what_was_not_asked(
    outcomes: list[int], worst: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = iter(outcomes)
    monkeypatch.setattr("tools.audit.outcome_of", lambda status, said: next(told))
    monkeypatch.setattr("tools.audit.command", lambda lock: ["true"])
    assert audit([Path("some.lock")] * 2) == worst


def test_every_lock_is_asked_about() -> None:
    assert {lock.name for lock in LOCKS} == {"base.lock", "ml.lock", "dev.lock"}
