"""Files of topics: every form read alike, and bad lines with their numbers."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.corpora.importers.base import BadLine, ImportFileError
from annotation.topics.files import TopicRecord, read_topics

WORDS = st.text("abcé <&>'\"", min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)
TOPICS = st.lists(st.tuples(WORDS, WORDS | st.just(""), WORDS | st.just("")), min_size=1, max_size=4)
OLD = """
<top>
<num> Number: 301
<title> International  Organized Crime

<desc> Description:
Identify organizations that
act abroad. Description: all of it.

<narr> Narrative:
Relevant is a name.

Not relevant is a rumour.

</top>

<top>
<title> No number
</top>
"""


def read(form: str, text: str | bytes) -> list[TopicRecord | BadLine]:
    return list(read_topics(form, io.BytesIO(text.encode() if isinstance(text, str) else text)))


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


@given(TOPICS)
def test_all_forms_say_the_same(topics: list[tuple[str, str, str]]) -> None:
    rows = [dict(zip(("title", "description", "narrative"), texts, strict=True)) for texts in topics]
    tsv = "".join("\t".join([str(at), *texts]) + "\n" for at, texts in enumerate(topics, 1))
    jsonl = "".join(json.dumps({"number": at, **row}) + "\n" for at, row in enumerate(rows, 1))
    fields = ["".join(f"<{name}>{escaped(text)}</{name}>" for name, text in row.items()) for row in rows]
    elements = [f'<topic number="{at}">{field}</topic>' for at, field in enumerate(fields, 1)]
    xml = f"<topics>{''.join(elements)}</topics>"
    records = [(at, *texts) for at, texts in enumerate(topics, 1)]
    for form, text in (("tsv", tsv), ("jsonl", jsonl), ("trec", xml)):
        assert [item[1:] for item in read(form, text) if isinstance(item, TopicRecord)] == records


def test_the_tags_of_the_first_tracks() -> None:
    topic, bad = read("trec", OLD)
    assert topic == TopicRecord(
        line=2,
        number=301,
        title="International Organized Crime",
        description="Identify organizations that act abroad. Description: all of it.",
        narrative="Relevant is a name.\n\nNot relevant is a rumour.",
    )
    assert bad == BadLine(17, "the number is missing")


@pytest.mark.parametrize(
    ("form", "text", "line", "reason"),
    [
        ("tsv", "number\ttitle\n\n\tA man\n", 3, "the number is missing"),
        ("tsv", "5\n", 1, "the title is missing"),
        ("tsv", "5\ta\tb\tc\td\n", 1, "it has 5 cells, and there are 4 columns"),
        ("tsv", "MB01\ta\n", 1, "the number is 'MB01', no whole number"),
        ("tsv", "0\ta\n", 1, "no whole number from 1"),
        ("tsv", b"5\tcaf\xe9\n", 1, "bytes that are not UTF-8"),
        ("tsv", "5\t" + "a" * 501, 1, "the title has 501 characters, more than 500"),
        ("jsonl", '{"number": 5, "title": "a"}\n{"number": 6', 2, "it is no JSON"),
        ("jsonl", "[5]", 1, "it is no JSON object"),
        ("jsonl", '{"number": true, "title": "a"}', 1, "the number is 'True'"),
        ("jsonl", '{"number": 5, "title": ["a"]}', 1, "the title is no text"),
        ("jsonl", '{"number": 5, "title": "a", "desc": "b"}', 1, "there is no field 'desc'"),
        ("trec", "<topics>\n<topic><title>a</title></topic></topics>", 2, "the number is missing"),
    ],
)
def test_bad_lines(form: str, text: str | bytes, line: int, reason: str) -> None:
    [bad] = [item for item in read(form, text) if isinstance(item, BadLine)]
    assert bad.line == line and reason in bad.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<topics>\n<topic>", "Line 2 is no XML"),
        ('<!DOCTYPE t [<!ENTITY a "aaaa">]><t><topic number="1"><title>&a;</title></topic></t>', "Line 1 declares"),
        ("<topics><query>a</query></topics>", "There is no topic in the file"),
    ],
)
def test_xml_that_is_not_read(text: str, reason: str) -> None:
    with pytest.raises(ImportFileError, match=reason):
        read("trec", text)
