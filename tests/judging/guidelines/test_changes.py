"""Differences between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from judging.guidelines.selectors import Line, changes

LINES = st.lists(st.sampled_from("abcd"), max_size=12)


def test_nothing_differs() -> None:
    assert changes(["a", "b"], ["a", "b"]) == []


def test_what_is_gone_stands_before_what_is_new_with_the_lines_around() -> None:
    before, after = list("abcdefgh"), [*"abcd", "E", *"fgh"]
    skipped, deletion, new = Line("skipped"), Line("gone", "e"), Line("new", "E")
    same_lines = [Line("kept", text) for text in "cdfg"]
    assert changes(before, after) == [skipped, *same_lines[:2], deletion, new, *same_lines[2:], skipped]


@given(LINES, LINES)
def test_both_texts_can_be_read_from_it(before: list[str], after: list[str]) -> None:
    lines = changes(before, after, around=100)
    if before == after:
        assert lines == []
    else:
        assert [line.text for line in lines if line.sign != "new"] == before
        assert [line.text for line in lines if line.sign != "gone"] == after
