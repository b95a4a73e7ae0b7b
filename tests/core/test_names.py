"""Names of corpora, projects and query sets."""

import pytest

from core.exceptions import NotPossible
from core.texts import checked_name


@pytest.mark.parametrize("name", [" songs ", "Lieder, für 2 «Stimmen»", "👩‍🎤"])
def test_spaces_around_a_name_are_left_out(name: str) -> None:
    assert checked_name(name) == name.strip()


@pytest.mark.parametrize("name", ["", "  ", "a" * 201])
def test_a_name_has_a_length(name: str) -> None:
    with pytest.raises(NotPossible, match="1 to 200 characters"):
        checked_name(name)


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "a\tb", "a\0b", "a\u2028b", "a\x85b", "a\ud800"])
def test_a_name_is_one_line(name: str) -> None:
    with pytest.raises(NotPossible, match="one line without control characters"):
        checked_name(name)


@pytest.mark.parametrize("mark", "\u202a\u202b\u202d\u202e\u202c\u2066\u2067\u2068\u2069")
def test_a_name_turns_no_text_round(mark: str) -> None:
    with pytest.raises(NotPossible, match="direction"):
        checked_name(f"songs {mark}4102")


@pytest.mark.parametrize("name", ["שירים", "أغان", "songs שירים"])
def test_a_name_may_run_from_right_to_left(name: str) -> None:
    assert checked_name(name) == name
