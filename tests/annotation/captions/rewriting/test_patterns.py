"""The 100 most frequent sentence patterns of TVR's validation release: a sentence of each, and its caption, reviewed.

``patterns.csv`` holds, for each pattern, how many of the 10,895 descriptions have it, an invented sentence that has it
too, and the caption that somebody who read it found right.
"""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from annotation.captions.rewriting.english import tokenise
from annotation.captions.rewriting.lexicon import lexicon_for
from annotation.captions.rewriting.mentions import Mention, Reader
from annotation.captions.rewriting.rules import rewrite
from tests.annotation.captions.rewriting.test_rules import TVR

FRAME_WORDS = {"and", "to", "as", "while", "his", "her", "he", "she", "him", "with", "at"}
ANY = "…"  # words that are neither of the frame nor a name
with Path(__file__).with_name("patterns.csv").open(encoding="utf-8") as lines:
    PATTERNS = list(csv.DictReader(lines))


def pattern(text: str, *, video: str = "") -> str:
    """Return the frame of a sentence: names, the few words that decide about their wording, and what is between."""
    tokens = tokenise(text)
    mentions = {mention.start: mention for mention in Reader(tokens, lexicon_for(video=video)).mentions()}
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        mention, word = mentions.get(at), tokens[at].text.lower()
        part = _name(mention) if mention else word if word in FRAME_WORDS or not tokens[at].is_word else ANY
        parts += [] if part == ANY and parts[-1:] == [ANY] else [part]
        at = mention.end if mention else at + 1
    return " ".join(parts)


def _name(mention: Mention) -> str:
    return (
        f"{'title ' * bool(mention.title)}{'the ' * bool(mention.article)}NAME{chr(39) + 's' if mention.owns else ''}"
    )


@pytest.mark.parametrize("row", PATTERNS, ids=[row["pattern"] for row in PATTERNS])
def test_a_frequent_pattern_has_its_caption(row: dict[str, str]) -> None:
    assert rewrite(row["sentence"], lexicon_for()) == row["caption"]


def test_sentences_have_their_patterns() -> None:
    assert len(PATTERNS) == 100
    assert [pattern(row["sentence"]) for row in PATTERNS] == [row["pattern"] for row in PATTERNS]


@pytest.mark.skipif(not TVR.exists(), reason="the TVR release is not here")
def test_the_patterns_are_the_most_frequent() -> None:
    rows = [json.loads(line) for line in TVR.read_text(encoding="utf-8").splitlines()]
    counts = Counter(pattern(row["desc"], video=row["vid_name"]) for row in rows).most_common(100)
    assert counts == [(row["pattern"], int(row["descriptions"])) for row in PATTERNS]
    assert sum(n for _, n in counts) == 4295  # of 10,895 descriptions
