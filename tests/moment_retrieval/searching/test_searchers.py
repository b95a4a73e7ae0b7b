"""Typed words against the corpus of a tiny training."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from moment_retrieval.answers import Answer, Hit, UnknownWords, Words, folded
from moment_retrieval.cli import main
from moment_retrieval.errors import MissingFeatures, ScoringError
from moment_retrieval.features import open_features
from moment_retrieval.index import Index
from moment_retrieval.searchers import CandidateSearcher, CorpusSearcher
from tests.moment_retrieval.threads import one_thread
from tests.moment_retrieval.training.tiny import experiment, write_json


class Spoken(Words):
    """Reads the number of a query of the tiny collection as that query's words."""

    name = "numbers"

    def __init__(self, folder: Path, width: int = 10) -> None:
        self._path, self._width = folder / "query.h5", width

    @property
    def width(self) -> int:
        return self._width

    def rows(self, text: str) -> np.ndarray:
        with open_features(self._path) as store:
            return store.rows(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """XML and ReLoCLNet trained, and a CONQUER that looks at the best videos of XML."""
    folder, first = tmp_path_factory.mktemp("searching"), {"source": "checkpoint", "path": "../xml"}
    with one_thread():
        for baseline, more in (("xml", {}), ("reloclnet", {}), ("conquer", {"candidates": first})):
            assert main(["train", str(experiment(folder, baseline, epochs=1, **more))]) == 0
    return folder


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """Files to spoil, and nothing searched yet."""
    shutil.copytree(folder, tmp_path / "all", ignore=shutil.ignore_patterns("search", "last", "prepared"))
    return tmp_path / "all"


def searcher(folder: Path, baseline: str) -> CorpusSearcher | CandidateSearcher:
    words = Spoken(folder)
    if baseline != "conquer":
        return CorpusSearcher.open(folder / baseline, words)
    return CandidateSearcher.open(folder / "conquer", words, CorpusSearcher.open(folder / "xml", words))


@pytest.mark.parametrize("baseline", ["xml", "reloclnet", "conquer"])
def test_an_answer_is_what_the_training_predicted(baseline: str, folder: Path) -> None:
    """As predictions.val.json holds it, moment for moment."""
    predicted = json.loads((folder / baseline / "predictions.val.json").read_text())[3]
    answer = searcher(folder, baseline).answer(str(predicted["query_id"]), 100, every=True)
    moments = [[hit.video, hit.start_s, hit.end_s] for hit in answer.hits]
    assert moments == [row[:3] for row in predicted["predictions"]]
    scores = [row[3] for row in predicted["predictions"]]
    assert [hit.score for hit in answer.hits] == pytest.approx(scores, rel=1e-4)


@pytest.mark.parametrize("baseline", ["xml", "reloclnet"])
def test_a_score_is_the_product_of_its_explanation(baseline: str, folder: Path) -> None:
    answer = searcher(folder, baseline).answer("5003", 12)
    assert answer.hits
    for hit in answer.hits:
        why = answer.videos[hit.video]
        assert why.score == pytest.approx((why.seen + why.heard) / 2)
        score = math.exp(answer.alpha * why.score) * why.start[hit.first] * why.end[hit.last]
        assert hit.score == pytest.approx(score, rel=1e-3)
        assert sum(why.start) == pytest.approx(1, abs=1e-4) and len(why.start) == len(why.end)


def test_conquer_gives_the_scores_of_its_candidates_and_answers_are_folded_and_travel(folder: Path) -> None:
    conquer, xml = searcher(folder, "conquer"), searcher(folder, "xml")
    answer, first = conquer.answer("5003", 12), xml.answer("5003", 100, every=True)
    shared = answer.videos.keys() & first.videos.keys()
    assert shared
    for name in shared:
        assert answer.videos[name].seen == pytest.approx(first.videos[name].seen, rel=1e-4)
        assert sum(answer.videos[name].start) == pytest.approx(1, abs=1e-4)
    xml = searcher(folder, "xml")
    once, every = xml.answer("5003", 12), xml.answer("5003", 12, every=True)
    assert once.hits[0].span == every.hits[0].span and once.hits[0].folded > 0 == every.hits[0].folded
    assert len({hit.video for hit in once.hits}) >= len({hit.video for hit in every.hits})
    answer = searcher(folder, "xml").answer("5003", 12)
    assert Answer.of(json.loads(json.dumps(answer.as_dict()))) == answer


class TestTheSavedIndex:
    def test_is_made_once_and_anew_where_it_is_spoilt_or_of_other_weights(self, copied: Path) -> None:
        saved, features = copied / "xml" / "search", (copied / "video.h5").read_bytes()
        first = searcher(copied, "xml").answer("5003", 12)
        (copied / "video.h5").unlink()
        assert searcher(copied, "xml").answer("5003", 12).hits == first.hits
        (copied / "video.h5").write_bytes(features)
        (saved / "index.safetensors").write_bytes(b"cut short")
        assert searcher(copied, "xml").answer("5003", 12).hits == first.hits
        assert len(Index.load(saved / "index.safetensors")) == 12
        about = saved / "index.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), "weights": "others"}))
        searcher(copied, "xml")
        assert json.loads(about.read_text())["weights"] != "others"

    def test_a_disk_that_takes_nothing_is_no_failure(self, copied: Path) -> None:
        (copied / "xml" / "search").write_text("in the way")
        assert searcher(copied, "xml").answer("5003", 12).hits


class Short(Spoken):
    """Reads the first word alone."""

    def rows(self, text: str) -> np.ndarray:
        return super().rows(text.removeprefix("query "))[:1]


FILE_GONE = "features of this training: .*no such file"


@pytest.mark.parametrize(
    ("change", "words", "error", "message"),
    [
        (lambda all_: shutil.rmtree(all_ / "xml" / "best"), Spoken, ScoringError, "cannot be read"),
        (lambda all_: (all_ / "video.h5").unlink(), Spoken, ScoringError, f"the {FILE_GONE}"),
        (lambda all_: (all_ / "query.h5").unlink(), Spoken, ScoringError, f"the query {FILE_GONE}"),
        (
            lambda all_: write_json(all_ / "video_corpus.json", {"x": 3.0}),
            Spoken,
            MissingFeatures,
            "none of the videos",
        ),
        (Path, lambda all_: Spoken(all_, 11), UnknownWords, "makes 11 numbers of a word, and this training reads 10"),
        (Path, Short, UnknownWords, r"makes 1 rows of query 5000, and the file of this training has \d"),
        (Path, lambda _: Words("file"), UnknownWords, "not known"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    change: Callable[[Path], object], words: Callable[[Path], Words], error: type[Exception], message: str, copied: Path
) -> None:
    change(copied)
    with pytest.raises(error, match=message):
        CorpusSearcher.open(copied / "xml", words(copied), is_assumed=words is Short or "query" in message)


class Sentences(Spoken):
    """Reads a query of the tiny collection by its text, which ends in its number."""

    def rows(self, text: str) -> np.ndarray:
        return super().rows(text.rsplit(maxsplit=1)[-1])


class TestCommand:
    @pytest.fixture(autouse=True)
    def read_numbers(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("moment_retrieval.answers.Words", lambda *names, **_: Sentences(folder))

    @pytest.mark.parametrize("baseline", ["xml", "conquer"])
    def test_prints_an_answer(self, baseline: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        first = ["--first", str(folder / "xml")] if baseline == "conquer" else []
        command = ["search", str(folder / baseline), "5003", "--moments", "3", *first]
        assert main(command) == 0
        hits = searcher(folder, baseline).answer("5003", 3).hits
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[-1] for line in lines] == ["video", *(hit.video for hit in hits)]
        assert [float(line.split()[2]) for line in lines[1:]] == [round(hit.start_s, 2) for hit in hits]
        assert main([*command, "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["hits"]) == 3

    def test_refuses(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for arguments, message in ((["5003", "--moments", "0"], "1 or more, not 0"), ([" "], "there are no words")):
            assert main(["search", str(folder / "xml"), *arguments]) == 2
            assert message in capsys.readouterr().err


class TestFolding:
    def test_the_better_of_two_that_overlap_by_half_stands_for_both(self) -> None:
        hits = [
            Hit("alpha", 0, 4, 3.0, 0, 1),
            Hit("alpha", 0, 8, 2.0, 0, 2),  # 4 of 8 s
            Hit("alpha", 3, 8, 1.0, 1, 2),  # 1 of 8 s
            Hit("beta", 0, 4, 0.5, 0, 1),
        ]
        result = folded(hits)
        assert [(hit.video, hit.start_s, hit.folded) for hit in result] == [
            ("alpha", 0, 1),
            ("alpha", 3, 0),
            ("beta", 0, 0),
        ]
