"""Matrices made by the released script of Wray et al., which no copy of the repository holds."""

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from django.conf import settings
from numpy.typing import NDArray

from moment_retrieval.relevance.tagger import LexiconTagger, Tags

PARITY = Path(settings.MOMENTJUDGE_SHARED) / "parity" / "svr"
EPIC = Path(settings.MOMENTJUDGE_SHARED) / "data" / "epic_kitchens_100"
needs_parity = pytest.mark.skipif(not PARITY.is_dir(), reason=f"no shared data at {PARITY}; set MOMENTJUDGE_SHARED")


@cache
def read_reference(name: str) -> Any:
    return json.loads((PARITY / name).read_text(encoding="utf-8"))


@cache
def matrix(file: str, name: str) -> NDArray[np.float64]:
    with np.load(PARITY / file) as arrays:
        return np.asarray(arrays[name])


def captions60() -> list[str]:
    return [row["narration"] for row in read_reference("captions60.json")]


class GivenTags:
    """A tagger whose tags somebody else made, by text."""

    name = "tags by hand"

    def __init__(self, tags: dict[str, Tags]) -> None:
        self.tags = tags

    def tag(self, text: str) -> Tags:
        return self.tags[text]


def given_tags() -> LexiconTagger:
    """Return the tags that the released script had for its captions."""
    rows = read_reference("captions60.json")
    tags_by_text = {row["narration"]: Tags(tuple(row["parsed_verbs"]), tuple(row["parsed_nouns"])) for row in rows}
    return cast(LexiconTagger, GivenTags(tags_by_text))
