"""Names of corpora, projects and query sets."""

import pytest

from core.exceptions import NotPossible
from core.texts import checked_name

TURNS = "\u202a\u202b\u202d\u202e\u202c\u2066\u2067\u2068\u2069"
REFUSED = {  # names, and what is wrong with them
    "1 to 200 characters": ["", "  ", "a" * 201],
    "one line without control characters": ["a\rb", "a\nb", "a\tb", "a\0b", "a\u2028b", "a\x85b", "a\ud800"],
    "direction": [f"songs {mark}4102" for mark in TURNS],
}


@pytest.mark.parametrize("name", [" songs ", "Lieder, für 2 «Stimmen»", "👩‍🎤", "שירים", "أغان", "songs שירים"])
def test_spaces_around_a_name_are_left_out_and_it_may_run_from_right_to_left(name: str) -> None:
    assert checked_name(name) == name.strip()


@pytest.mark.parametrize(("name", "words"), [(name, words) for words, names in REFUSED.items() for name in names])
def test_a_name_is_one_line_of_some_length_that_turns_no_text_round(name: str, words: str) -> None:
    with pytest.raises(NotPossible, match=words):
        checked_name(name)
