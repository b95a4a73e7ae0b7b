"""Cells of files that people open in a spreadsheet."""

import csv
from io import StringIO

import pytest

from annotation.services.import_reports import safe_cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=LINK(1)", "'=LINK(1)"),
        ("\r=LINK(1)", "'\n=LINK(1)"),
        ("fine\r=LINK(1)", "fine\n=LINK(1)"),
        ("fine\r\nstill", "fine\nstill"),
        ("half \ud800", "half \\ud800"),
        ("plain, with a comma", "plain, with a comma"),
        (-1.5, -1.5),
        (None, None),
    ],
)
def test_a_cell_is_no_formula(text: object, cell: object) -> None:
    assert safe_cell(text) == cell


def test_no_text_begins_a_row_of_its_own() -> None:
    file = StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerow([safe_cell("x\r=LINK(1)"), "y"])
    assert "\r" not in file.getvalue()
    assert list(csv.reader(StringIO(file.getvalue(), newline=""))) == [["x\n=LINK(1)", "y"]]
