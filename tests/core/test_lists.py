"""CSV for spreadsheets: no text is a formula in any of them, numbers stay numbers, and texts come back as they were."""

import csv
import re
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import lists
from core.lists import csv_line, csv_text, csv_write, guarded, plain

SIGNS = "=+-@＝＋－＠"
SEPARATORS = ",;|\t\n"
texts = st.text() | st.text(alphabet=f"{SIGNS}{SEPARATORS}\r'\" a1\u00a0\u200b|\ufeff", max_size=30)


def normal(text: str) -> str:
    """The text as a file of UTF-8 with one kind of line end can hold it."""
    return re.sub(r"\r\n?", "\n", text.encode("utf-8", "backslashreplace").decode())


def read(text: str, **dialect: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text, newline=""), **dialect))  # type: ignore[arg-type]


GUARDED = {  # a text, and its cell
    **{f"{sign}1": f"'{sign}1" for sign in SIGNS},
    **{f"a{separator}=1": f"a{separator}'=1" for separator in SEPARATORS},
    **{text: text for text in ("a:=1", "a =1", "plain, with a comma", "'Tis so; isn't it", "a-b = c", "")},
    **{"\tx": "'\tx", "\nx": "'\nx", "\rx": "'\nx", "\r=LINK(1)": "'\n'=LINK(1)", "a\r\n=1": "a\n'=1"},
    **{"a; =1": "a;' =1", 'a;"=1': "a;'\"=1", " =1": "' =1", "'=1": "''=1", "a;'=1": "a;''=1"},
    "half \ud800": "half \\ud800",
}


@pytest.mark.parametrize("text", GUARDED)
def test_what_could_begin_a_formula_is_guarded_and_nothing_else(text: str) -> None:
    assert guarded(text) == GUARDED[text]
    assert plain(GUARDED[text]) == normal(text)


@given(st.lists(texts, min_size=1, max_size=5))
def test_a_row_comes_back(row: list[str]) -> None:
    (cells,) = read(csv_line(row))
    assert [plain(cell) for cell in cells] == [normal(text) for text in row]


@given(st.lists(texts, min_size=1, max_size=4), st.sampled_from(SEPARATORS))
def test_no_cell_begins_a_formula_whatever_separates_cells(row: list[str], separator: str) -> None:
    """Spreadsheets set to another separator read our line otherwise: as quoted where a quote begins a cell."""
    line = csv_line(row)
    pieces = [cell for cells in read(line, delimiter=separator if separator != "\n" else ",") for cell in cells]
    pieces += line.split(separator)  # by readers that know no quotes
    for piece in pieces:
        assert not piece.lstrip(' \u00a0\u200b\ufeff"').startswith(tuple(SIGNS)), piece


def test_numbers_stay_numbers_and_every_text_is_quoted() -> None:
    for value in (-1, -1.5, Decimal("-2.50"), np.int64(-3), np.float32(-0.5), 1e-9):
        assert csv_line([value, "-1"]) == f'{value},"\'-1"\n'
    assert csv_line(["a", 1, None, "", True, 'say "x"']) == '"a",1,,"","True","say ""x"""\n'
    assert read(csv_line(["x\r=LINK(1)", "y"])) == [["x\n'=LINK(1)", "y"]]


def test_a_file_is_the_same_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "LINES_AT_ONCE", 7)
    columns, rows = ["a", "b"], [["=1", number] for number in range(1000)]
    target = StringIO()
    csv_write(target, columns, rows)
    streamed = b"".join(lists.csv_stream("x.csv", columns, rows).streaming_content)  # type: ignore[arg-type]
    whole = lists.csv_download("x.csv", columns, rows)
    assert target.getvalue().encode() == streamed == whole.content == csv_text(columns, rows).encode()
    assert whole["Content-Disposition"] == 'attachment; filename="x.csv"'


@pytest.mark.django_db  # an answer that ends looks after the connection
def test_a_download_that_is_broken_off_closes_its_rows() -> None:
    ended = []

    def rows() -> Iterator[list[int]]:
        try:
            yield from ([number] for number in range(10_000))
        finally:
            ended.append(True)

    response = lists.csv_stream("x.csv", ["number"], rows())
    next(iter(response.streaming_content))  # type: ignore[call-overload]
    assert not ended
    response.close()
    assert ended
