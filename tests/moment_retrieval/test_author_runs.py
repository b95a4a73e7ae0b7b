"""The authors' nine runs load, with the corpus that translates their video indexes."""

from pathlib import Path

import pytest

from moment_retrieval import formats
from moment_retrieval.errors import CorpusNeeded
from moment_retrieval.records import read_corpus
from moment_retrieval.tables import queries_of
from tests.moment_retrieval.shared_data import CORPUS, RUNS, needs_shared, oracle

pytestmark = needs_shared

PATHS = sorted(RUNS.glob("*.val.json.gz"))
ORACLE_NAMES = {"xml": "XML", "reloclnet": "ReLoCLNet", "conquer": "CONQUER"}


def test_there_are_nine() -> None:
    assert len(PATHS) == 9


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_an_author_run_loads(path: Path) -> None:
    corpus = read_corpus(CORPUS)
    queries = queries_of(formats.read_run(path, formats.FileFormat.TVR_RANKING, corpus=corpus, strict=False))
    assert len(queries) == (497 if path.name.startswith("conquer") else 500)
    assert {len(query.moments) for query in queries} == {40}
    assert {moment.video for query in queries for moment in query.moments} <= set(corpus.durations_s)


def test_the_form_of_an_author_run_is_seen() -> None:
    corpus = read_corpus(CORPUS)
    run = formats.read_run(PATHS[0], formats.FileFormat.TVR_RANKING, corpus=corpus)
    assert dict(formats.read_run(PATHS[0], corpus=corpus)) == dict(run)


@pytest.mark.parametrize("name", ["XML_N20", "ReLoCLNet_N40", "CONQUER_N40"])
def test_the_rows_are_those_the_oracle_was_made_from(name: str) -> None:
    model, size = name.split("_")
    path = RUNS / f"{model.lower()}_{size.lower()}.val.json.gz"
    videos, rows = oracle("ground_truth.json")["videos"], oracle(f"pred_{name}.json")["queries"]
    for query_id, moments in formats.read_run(path, corpus=read_corpus(CORPUS), strict=False).items():
        correct = [(videos[video], start, end) for video, start, end in rows[query_id]]
        assert [(moment.video, moment.start_s, moment.end_s) for moment in moments] == correct


def test_an_author_run_without_the_corpus_is_refused_with_its_position() -> None:
    with pytest.raises(
        CorpusNeeded, match=r"xml_n1\.val\.json\.gz: line 1: entry 1: query 54251: prediction 1: video 20787"
    ):
        formats.read_run(RUNS / "xml_n1.val.json.gz")
