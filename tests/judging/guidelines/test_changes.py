"""Differences between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from judging.guidelines.selectors import Line, Sign, changes

LINES = st.lists(st.sampled_from("abcd"), max_size=12)


def test_nothing_differs() -> None:
    assert changes(["a", "b"], ["a", "b"]) == []


def test_what_is_gone_stands_before_what_is_new_with_the_lines_around() -> None:
    before, after = list("abcdefgh"), [*"abcd", "E", *"fgh"]
    skipped, deletion, new = Line(Sign.SKIPPED), Line(Sign.GONE, "e"), Line(Sign.NEW, "E")
    same_lines = [Line(Sign.KEPT, text) for text in "cdfg"]
    assert changes(before, after) == [skipped, *same_lines[:2], deletion, new, *same_lines[2:], skipped]


@given(LINES, LINES)
def test_both_texts_can_be_read_from_it(before: list[str], after: list[str]) -> None:
    lines = changes(before, after, around=100)
    if before == after:
        assert lines == []
    else:
        assert [line.text for line in lines if line.sign != Sign.NEW] == before
        assert [line.text for line in lines if line.sign != Sign.GONE] == after
