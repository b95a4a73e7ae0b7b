"""Lists that people look at: a page of one, and CSV files that they open in a spreadsheet, the one writer and reader.

``templates/_pages.html`` leads from page to page and keeps what the list is filtered by.

A spreadsheet computes a cell that begins with a sign of a formula, and one set to another separator begins a cell
wherever that stands, inside quotes of ours too. So every text is quoted, and an apostrophe is put before whatever
could begin a formula: at the start of a cell, and after every comma, semicolon, bar, tab and end of line; not after
a space or a colon, so a spreadsheet set to separate cells by these is not covered. ``plain`` removes exactly these
again, and no apostrophe that belongs to the text. Numbers are written as numbers, negative ones too.

Files for programs (releases, qrels, the API) are not written here: they hold every text as it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from numbers import Number
from typing import IO, Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header

PER_PAGE = 20
CONTENT_TYPE = "text/csv; charset=utf-8"
LINES_AT_ONCE = 500  # of a stream: each piece costs the server as much as a line
CARRIAGE_RETURN = re.compile(r"\r\n?")
_SEPARATORS = ",;|\\t\\n\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # the last four are full-width
# What may stand before a sign
_SKIPPED = "['\"\\u200b-\\u200d\\u2060\\ufeff]|[^\\S\\t\\n\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]"
_DANGER = f"(?:(?:^|(?<=[{_SEPARATORS}]))(?=(?:{_SKIPPED})*[{_SIGNS}])|^(?='*[\\t\\n]))"
DANGER = re.compile(_DANGER)
GUARD = re.compile(f"{_DANGER}'")


def page_of(request: HttpRequest, rows: Any, size: int = PER_PAGE) -> Page[Any]:
    """Return the page that ``?page=`` names: the first for nonsense, the last for one behind it."""
    return Paginator(rows, size).get_page(request.GET.get("page"))


def guarded(text: str) -> str:
    """Return the text as a cell holds it: no spreadsheet takes any part of it for a formula.

    A line feed stands for every end of line, and what UTF-8 cannot hold is written out.
    """
    safe = CARRIAGE_RETURN.sub("\n", text.encode("utf-8", "backslashreplace").decode())
    return DANGER.sub("'", safe)


def plain(cell: str) -> str:
    """Return the text that ``guarded`` made the cell of."""
    return GUARD.sub("", cell)


def csv_line(values: Iterable[object]) -> str:
    """Return one row with its end of line: numbers as they are, everything else as quoted text, None as nothing."""
    return f"{','.join(map(_cell, values))}\n"


def csv_lines(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Return the header and the rows, line by line."""
    yield csv_line(columns)
    yield from map(csv_line, rows)


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    return "".join(csv_lines(columns, rows))


def csv_write(target: IO[str], columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    target.writelines(csv_lines(columns, rows))


def csv_download(name: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> HttpResponse:
    """Return the file as an answer, complete before it is sent."""
    return HttpResponse(csv_text(columns, rows), content_type=CONTENT_TYPE, headers=_headers(name))


def csv_stream(name: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> StreamingHttpResponse:
    """Return the file as an answer that is sent while it is made."""
    return lines_stream(name, csv_lines(columns, rows), content_type=CONTENT_TYPE)


def lines_stream(name: str, lines: Iterator[str], *, content_type: str) -> StreamingHttpResponse:
    """Return lines, with their ends, as a file of this name that is sent while it is made."""
    return StreamingHttpResponse(_pieces(lines), content_type=content_type, headers=_headers(name))


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """Yield many lines at once; as a generator, so that an answer that is broken off closes its rows."""
    while piece := "".join(islice(lines, LINES_AT_ONCE)):
        yield piece


def _headers(name: str) -> dict[str, str]:
    return {"Content-Disposition": content_disposition_header(True, name) or ""}


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Number) and not isinstance(value, bool):
        return str(value)
    text = guarded(str(value)).replace('"', '""')
    return f'"{text}"'
