"""Audit events in words."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from accounts.models import Membership
from annotation.captions.models import CaptionReview
from judging.audit.rules import SENTENCES, actions_saying, in_words, kind_words

ROOT = Path(__file__).resolve().parents[3]
ACTION = re.compile(r"\"([a-z]+(?:_[a-z]+)*\.[a-z]+(?:[._-][a-z]+)*)\"")
APPS = ("core", "accounts", "annotation", "judging", "models_runner")
OF_NO_PROJECT = {  # nobody's page shows them
    *("token.create", "token.revoke", "identity.set", "identity.export", "session.end"),
    *("totp.confirm", "totp.codes", "totp.off", "totp.recover", "passkey.add", "passkey.remove"),
    *("provider.link", "provider.unlink"),
}
NOT_DONE = {"corpus.discard", "judgments.discard"}  # of files that became no rows
MADE_OF_PARTS = {
    *(f"annotator.{status}" for status in Membership.Status.values),
    *(f"caption.{decision}" for decision in CaptionReview.Decision.values),
    *("batch.extend", "batch.close"),
}

BOUNDS = {"query": "q", "was": [1, 2], "becomes": [1.5, 2]}
QUERY_SET = {"name": "a", "priority": "High", "paused": True, "pilot": False}
COPY = {"source_name": "Winter", "copied": ["policy 2"]}
BOARD = {"hides_test": False, "hides_val": True, "uploads_per_day": None}
MAY = "changed what participants may"


@pytest.mark.parametrize(
    ("action", "data", "words"),
    [
        ("batch.close", {"query": "A man sits", "reason": "enough"}, "closed “A man sits”: enough"),
        ("batch.close", {"query": "A man sits", "reason": ""}, "closed “A man sits”"),
        ("exam.close", {"finished": 3, "missed": 0}, "closed an exam: 3 finished, 0 missed it"),
        ("moment.bounds", BOUNDS, "moved the bounds of a moment of “q” from 1, 2 to 1.5, 2 s"),
        ("query_set.change", QUERY_SET, "changed the query set a: priority High, paused yes, pilot no"),
        ("project.copy", COPY, "copied from another project, Winter: policy 2"),
        ("leaderboard.change", BOARD, f"{MAY}; test labels hidden: no; validation labels hidden: yes"),
        ("release.create", {}, "made release –"),
        ("thing.never_heard_of", {"n": 1}, "thing never heard of"),
    ],
)
def test_sentence(action: str, data: dict[str, object], words: str) -> None:
    assert in_words(action, data) == words


def test_every_kind_can_be_chosen_by_words_of_its_own() -> None:
    words = [kind_words(action) for action in SENTENCES]
    assert len(set(words)) == len(words)
    assert not any(mark in sentence for sentence in words for mark in "{}[]:(")
    assert kind_words("release.create") == "made release …"


def test_actions_by_a_word_of_their_sentence() -> None:
    assert actions_saying("Releas") == [action for action, sentence in SENTENCES.items() if "release" in sentence]
    assert actions_saying("version}") == actions_saying("zebra") == []


def test_every_action_of_the_code_has_its_words() -> None:
    actions = MADE_OF_PARTS | set(action_names())
    assert actions - set(SENTENCES) == OF_NO_PROJECT | NOT_DONE
    assert {"pair.withdraw", "release.create", "judgments.import", "pool.open"} <= actions


def action_names() -> Iterator[str]:
    """Yield the services' names of audit actions."""
    for file in chain.from_iterable((ROOT / app).rglob("*.py") for app in APPS):
        for line in file.read_text().splitlines():
            if "action" in line.lower() or "_followed(" in line:
                yield from ACTION.findall(line)
