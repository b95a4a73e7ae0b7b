"""Read files of topics: tab-separated values, JSON Lines, and the two forms of TREC. Pure.

A topic has a number, a title, a description and a narrative; the last two may be missing. The forms of TREC are the XML
of later tracks (``<topic number="1"><title>…``) and the tags of the first ones (``<top>``, ``<num> Number: 301``,
``<title>``, ``<desc> Description:``, ``<narr> Narrative:``), which are no XML: few of them are closed.
Source: Voorhees and Harman, TREC: Experiment and Evaluation in Information Retrieval, MIT Press 2005, chapter 2.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple
from xml.parsers import expat  # nosec B407 - declarations of types and entities are refused

from annotation.corpora.importers.base import BadLine, ImportFileError
from annotation.corpora.importers.files import Budget, Limits, pieces_of

LARGEST_NUMBER = 2**53  # what JSON readers hold exactly
LONGEST_TITLE, LONGEST_TEXT = 500, 10_000  # characters
LARGEST_FILE = 64 * 2**20  # bytes of text
FIELDS = ("number", "title", "description", "narrative")
TSV, JSONL, TREC = "tsv", "jsonl", "trec"
LABELS = {
    TSV: "Tab-separated (number, title, description, narrative)",
    JSONL: "JSON Lines (an object with these fields on each line)",
    TREC: "TREC topics (XML, or the <top> of the first tracks)",
}
ENDINGS = {TSV: (".tsv", ".tab"), JSONL: (".jsonl", ".ndjson"), TREC: (".xml", ".trec", ".topics")}
UNFIT = {"Cc", "Cs"}  # controls, and halves of pairs: bytes that are not UTF-8
LINE_END = re.compile(r"\r\n|\n|\r")
PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
OLD_TAG = re.compile(r"<(/?)(top|num|title|desc|narr)>", re.IGNORECASE)
OLD_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description|Narrative)\s*:", re.IGNORECASE)
XML_FIELDS = {
    **{"number": "number", "num": "number", "id": "number", "title": "title", "query": "title"},
    **{"description": "description", "desc": "description", "narrative": "narrative", "narr": "narrative"},
}


class TopicRecord(NamedTuple):
    """One topic of a file; ``line`` is where it begins, from 1."""

    line: int
    number: int
    title: str
    description: str = ""
    narrative: str = ""


Item = TopicRecord | BadLine


def read_topics(form: str, source: IO[bytes], *, budget: Budget | None = None) -> Iterable[Item]:
    """Yield every topic of an open file, and its bad lines; gzip is unpacked on the way.

    Raises:
        ImportFileError: it is packed in another way, too large, no XML, or declares entities.
    """
    text = "".join(pieces_of(source, budget=budget or Budget(Limits(size=LARGEST_FILE))))
    if len(text) > LARGEST_FILE:
        raise ImportFileError(f"A file of topics has at most {LARGEST_FILE // 2**20} MB of text; split it.")
    return READERS[form](text)


def form_of(file_name: str) -> str:
    """Return the form that the name of a file tells; empty where it tells none."""
    name = file_name.lower().removesuffix(".gz")
    return next((form for form, endings in ENDINGS.items() if name.endswith(endings)), "")


def record_of(line: int, values: dict[str, Any]) -> TopicRecord:
    """Return the topic of these values, as the file holds them. Raises ValueError, whose words say what is wrong."""
    return TopicRecord(line, number_of(values.get("number")), **texts_of(values))


def texts_of(values: dict[str, Any]) -> dict[str, str]:
    """Return title (one line), description and narrative (paragraphs). Raises ValueError: one of them is no text that
    can be stored, is too long, or there is no title."""
    texts = {}
    for name in FIELDS[1:]:
        value = values.get(name)
        if value is not None and not isinstance(value, str):
            raise ValueError(f"the {name} is no text")
        paragraphs = [" ".join(part.split()) for part in PARAGRAPH_END.split((value or "").replace("\r\n", "\n"))]
        text = (" " if name == "title" else "\n\n").join(filter(None, paragraphs))
        if any(unicodedata.category(character) in UNFIT for character in text if character != "\n"):
            raise ValueError(f"the {name} holds a control character, or bytes that are not UTF-8")
        if len(text) > (most := LONGEST_TITLE if name == "title" else LONGEST_TEXT):
            raise ValueError(f"the {name} has {len(text):,} characters, more than {most:,}")
        texts[name] = text
    if not texts["title"]:
        raise ValueError("the title is missing")
    return texts


def number_of(value: object) -> int:
    """Return the number of a topic. Raises ValueError: it is missing, or no whole number from 1 on."""
    text = str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    if value is None or (isinstance(value, str) and not text):
        raise ValueError("the number is missing")
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or not 1 <= int(text) <= LARGEST_NUMBER:
        raise ValueError(f"the number is {str(value)[:40]!r}, no whole number from 1 to {LARGEST_NUMBER}")
    return int(text)


def _item(line: int, read: Callable[[], dict[str, Any]]) -> Item:
    try:
        return record_of(line, read())
    except ValueError as error:
        return BadLine(line, str(error))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers."""
    return ((at, line) for at, line in enumerate(LINE_END.split(text), start=1) if line.strip())


def _read_tsv(text: str) -> Iterator[Item]:
    """Read a topic a line; a first line with the names of the columns is passed over, and says their order."""
    columns: tuple[str, ...] = FIELDS
    for at, line in _lines(text):
        cells = line.split("\t")
        names = tuple(cell.strip().lower() for cell in cells)
        if columns is FIELDS and "number" in names and set(names) <= set(FIELDS) and len(set(names)) == len(names):
            columns = tuple(names)
            continue
        yield _item(at, lambda cells=cells, columns=columns: _cells(cells, columns))  # type: ignore[misc]


def _cells(cells: list[str], columns: tuple[str, ...]) -> dict[str, Any]:
    if len(cells) > len(columns):
        raise ValueError(f"it has {len(cells)} cells, and there are {len(columns)} columns: {', '.join(columns)}")
    return dict(zip(columns, cells, strict=False))


def _read_jsonl(text: str) -> Iterator[Item]:
    for at, line in _lines(text):
        yield _item(at, lambda line=line: _object(line))  # type: ignore[misc]


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    if unknown := sorted(set(value) - set(FIELDS)):
        raise ValueError(f"there is no field {unknown[0][:40]!r}; a topic has {', '.join(FIELDS)}")
    return value


def _read_trec(text: str) -> Iterator[Item]:
    first = OLD_TAG.search(text)
    is_old = first is not None and first[2].lower() == "top" and not text[: first.start()].strip()
    return _read_tags(text) if is_old else iter(_read_xml(text))


def _read_tags(text: str) -> Iterator[Item]:
    """Read the tags of the first tracks: a field goes from its tag to the next one."""
    values: dict[str, Any] | None = None
    line = begins = 1
    tags = list(OLD_TAG.finditer(text))
    after = 0
    for tag, end in zip(tags, [*(other.start() for other in tags[1:]), len(text)], strict=True):
        line += text.count("\n", after, tag.start())
        after, name = tag.start(), tag[2].lower()
        if name == "top":
            if values is not None:
                yield _item(begins, lambda values=values: values)  # type: ignore[misc]
            values, begins = (None, line) if tag[1] else ({}, line)
        elif not tag[1] and values is not None:
            values[XML_FIELDS[name]] = OLD_LABEL.sub("", text[tag.end() : end], count=1)
    if values is not None:
        yield _item(begins, lambda: values or {})


def _read_xml(text: str) -> list[Item]:
    """Read topics in XML. Raises ImportFileError: it is no XML, holds no topic, or declares a type or entities."""
    return _TopicParser().read(text)


class _TopicParser:
    """Collects the elements ``topic`` or ``top`` wherever they stand; what is inside their fields is text."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.values: dict[str, str] | None = None
        self.field = ""
        self.depth = 0  # of elements inside the field
        self.line = 0
        self.parser = expat.ParserCreate("utf-8")  # whatever the file declares
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse

    def read(self, text: str) -> list[Item]:
        try:
            self.parser.Parse(text.encode("utf-8", "surrogateescape"), True)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, str(error))
            raise ImportFileError(f"Line {error.lineno} is no XML that can be read: {reason}.") from error
        if not self.items:
            raise ImportFileError('There is no topic in the file: a <topic number="1"> with a <title>, or a <top>.')
        return self.items

    def refuse(self, *declaration: object) -> None:
        raise ImportFileError(
            f"Line {self.parser.CurrentLineNumber} declares a document type or an entity, which no topic needs and is"
            " never read. Remove it."
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.lower()
        if self.values is None:
            if name in ("topic", "top"):
                self.line = self.parser.CurrentLineNumber
                lower = {key.lower(): value for key, value in attributes.items()}
                numbers = [lower[key] for key in ("number", "num", "id") if key in lower]
                self.values = {"number": numbers[0]} if numbers else {}
        elif self.field:
            self.depth += 1
        elif name in XML_FIELDS:
            self.field = XML_FIELDS[name]
            self.values[self.field] = ""

    def end(self, name: str) -> None:
        if self.values is None:
            return
        if self.field and self.depth:
            self.depth -= 1
        elif self.field and XML_FIELDS.get(name.lower()) == self.field:
            self.values[self.field] = OLD_LABEL.sub("", self.values[self.field], count=1)
            self.field = ""
        elif not self.field and name.lower() in ("topic", "top"):
            values, self.values = self.values, None
            self.items.append(_item(self.line, lambda: dict(values)))

    def characters(self, text: str) -> None:
        if self.values is not None and self.field:
            self.values[self.field] += text


READERS: dict[str, Callable[[str], Iterable[Item]]] = {TSV: _read_tsv, JSONL: _read_jsonl, TREC: _read_trec}
