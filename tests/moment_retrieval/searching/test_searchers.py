"""Typed words against the corpus of a tiny training."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from moment_retrieval.answers import Answer, UnknownWords, Words
from moment_retrieval.cli import main
from moment_retrieval.errors import MissingFeatures, ScoringError
from moment_retrieval.features import open_features
from moment_retrieval.index import Index
from moment_retrieval.searchers import CandidateSearcher, CorpusSearcher
from tests.moment_retrieval.training.tiny import experiment


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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """XML and ReLoCLNet trained, and a CONQUER that looks at the best videos of XML."""
    folder = tmp_path_factory.mktemp("searching")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for baseline in ("xml", "reloclnet"):
        assert main(["train", str(experiment(folder, baseline, epochs=1))]) == 0
    first = {"source": "checkpoint", "path": "../xml"}
    assert main(["train", str(experiment(folder, "conquer", epochs=1, candidates=first))]) == 0
    yield folder
    torch.set_num_threads(threads)


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
    answer = searcher(folder, baseline).answer(str(predicted["query_id"]), 40, every=True)
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


def test_conquer_gives_the_scores_of_its_candidates(folder: Path) -> None:
    conquer, xml = searcher(folder, "conquer"), searcher(folder, "xml")
    answer, first = conquer.answer("5003", 12), xml.answer("5003", 100, every=True)
    shared = answer.videos.keys() & first.videos.keys()
    assert shared
    for name in shared:
        assert answer.videos[name].seen == pytest.approx(first.videos[name].seen, rel=1e-4)
        assert sum(answer.videos[name].start) == pytest.approx(1, abs=1e-4)


def test_moments_that_overlap_a_better_one_are_folded(folder: Path) -> None:
    xml = searcher(folder, "xml")
    once, every = xml.answer("5003", 12), xml.answer("5003", 12, every=True)
    assert once.hits[0].span == every.hits[0].span and once.hits[0].folded > 0 == every.hits[0].folded
    assert len({hit.video for hit in once.hits}) >= len({hit.video for hit in every.hits})


def test_an_answer_travels_as_json(folder: Path) -> None:
    answer = searcher(folder, "xml").answer("5003", 12)
    assert Answer.of(json.loads(json.dumps(answer.as_dict()))) == answer


class TestTheSavedIndex:
    def test_is_made_once(self, copied: Path) -> None:
        first = searcher(copied, "xml").answer("5003", 12)
        (copied / "video.h5").unlink()
        assert searcher(copied, "xml").answer("5003", 12).hits == first.hits

    def test_is_made_anew_where_it_is_spoilt(self, copied: Path) -> None:
        first = searcher(copied, "xml").answer("5003", 12)
        (copied / "xml" / "search" / "index.safetensors").write_bytes(b"cut short")
        assert searcher(copied, "xml").answer("5003", 12).hits == first.hits
        assert len(Index.load(copied / "xml" / "search" / "index.safetensors")) == 12

    def test_is_made_anew_for_other_weights(self, copied: Path) -> None:
        searcher(copied, "xml")
        about = copied / "xml" / "search" / "index.json"
        about.write_text(json.dumps({**json.loads(about.read_text()), "weights": "others"}))
        searcher(copied, "xml")
        assert json.loads(about.read_text())["weights"] != "others"

    def test_a_disk_that_takes_nothing_is_no_failure(self, copied: Path) -> None:
        (copied / "xml" / "search").write_text("in the way")
        assert searcher(copied, "xml").answer("5003", 12).hits


class TestWhatCannotBeSearched:
    def test_weights_that_are_gone(self, copied: Path) -> None:
        shutil.rmtree(copied / "xml" / "best")
        with pytest.raises(ScoringError, match=r"cannot be read"):
            searcher(copied, "xml")

    def test_features_that_are_gone(self, copied: Path) -> None:
        (copied / "video.h5").unlink()
        with pytest.raises(ScoringError, match="the features of this training: .*no such file"):
            searcher(copied, "xml")

    def test_features_of_other_videos(self, copied: Path) -> None:
        (copied / "video_corpus.json").write_text('{"elsewhere": 3.0}')
        with pytest.raises(MissingFeatures, match="none of the videos"):
            searcher(copied, "xml")

    def test_words_of_another_size(self, folder: Path) -> None:
        with pytest.raises(UnknownWords, match="makes 11 numbers of a word, and this training reads 10"):
            CorpusSearcher.open(folder / "xml", Spoken(folder, 11))

    def test_words_that_make_other_rows_than_the_file_holds(self, folder: Path) -> None:
        class Short(Spoken):
            def rows(self, text: str) -> np.ndarray:
                return super().rows(text.removeprefix("query "))[:1]

        with pytest.raises(UnknownWords, match=r"makes 1 rows of query 5000, and the file of this training has \d"):
            CorpusSearcher.open(folder / "xml", Short(folder), is_assumed=True)

    def test_words_named_as_those_of_a_file_that_is_gone(self, copied: Path) -> None:
        words = Spoken(copied)
        (copied / "query.h5").unlink()
        with pytest.raises(ScoringError, match="the query features of this training: .*no such file"):
            CorpusSearcher.open(copied / "xml", words, is_assumed=True)

    def test_words_that_nobody_can_make(self) -> None:
        with pytest.raises(UnknownWords, match="not known"):
            Words("file")


class Sentences(Spoken):
    """Reads a query of the tiny collection by its text, which ends in its number."""

    def rows(self, text: str) -> np.ndarray:
        return super().rows(text.rsplit(maxsplit=1)[-1])


class TestCommand:
    @pytest.fixture(autouse=True)
    def read_numbers(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("moment_retrieval.answers.Words", lambda *names: Sentences(folder))

    @pytest.mark.parametrize("baseline", ["xml", "conquer"])
    def test_prints_the_moments_of_an_answer(
        self, baseline: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = ["--first", str(folder / "xml")] if baseline == "conquer" else []
        assert main(["search", str(folder / baseline), "5003", "--moments", "3", *first]) == 0
        hits = searcher(folder, baseline).answer("5003", 3).hits
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[-1] for line in lines] == ["video", *(hit.video for hit in hits)]
        assert [float(line.split()[2]) for line in lines[1:]] == [round(hit.start_s, 2) for hit in hits]

    def test_prints_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["search", str(folder / "xml"), "5003", "--moments", "2", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["hits"]) == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [(["5003", "--moments", "0"], "--moments must be 1 or more, not 0"), ([" "], "there are no words")],
    )
    def test_refuses(
        self, arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["search", str(folder / "xml"), *arguments]) == 2
        assert message in capsys.readouterr().err
