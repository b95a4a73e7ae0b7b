"""The demo's experiment: how it is set up, when it has failed, and, slowly, that the baselines learn."""

from pathlib import Path

import pytest

from annotation.demo import true_relevance
from benchmarks import demo_experiment
from benchmarks.demo_experiment import LEARNT, SHUFFLED
from moment_retrieval.records import JudgedMoment, VideoCorpus
from moment_retrieval.tables import JudgedTable


@pytest.fixture(scope="module")
def demo() -> demo_experiment.Demo:
    return demo_experiment.Demo.of(videos=30, seed=3)


def test_no_text_is_a_query_in_two_splits(demo: demo_experiment.Demo) -> None:
    texts = [{query.text for query in demo.splits[name]} for name in ("train", "val", "test")]
    captions = {moment.caption for _, moment in demo.moments}
    assert set.union(*texts) == captions
    assert sum(map(len, texts)) == len(captions) == sum(map(len, demo.splits.values()))
    assert len(texts[1]) == len(texts[2]) == len(captions) // 5


def test_a_query_is_judged_on_every_moment_that_concerns_it(demo: demo_experiment.Demo) -> None:
    query = demo.splits["val"][0]
    (judged,) = demo_experiment.judged_moments([query], demo)
    grades = [true_relevance(query.moment, moment) for _, moment in demo.moments]
    rows = judged["relevant_moment"]
    assert [row["relevance"] for row in rows] == [grade for grade in grades if grade]
    assert query.text in {row["caption"] for row in rows}


@pytest.mark.deployment
def test_chance_finds_a_moment_as_often_as_counting_says() -> None:
    """One video of three clips: a span is clips 1-2, 2-3 or all, and a moment of all clips is met by each."""
    corpus = VideoCorpus({"a": 4.5}, {0: "a"})
    judged = JudgedTable.from_moments({"1": [JudgedMoment("a", 0.0, 4.5, 4)]})
    assert demo_experiment.by_chance(judged, corpus, seed=1) == 1.0
    elsewhere = JudgedTable.from_moments({"1": [JudgedMoment("b", 0.0, 4.5, 4)]})
    assert demo_experiment.by_chance(elsewhere, corpus, seed=1) == 0.0


@pytest.mark.parametrize(("learnt", "good"), [(0.31, True), (0.29, False)])
def test_a_baseline_has_learnt_that_beats_its_control(learnt: float, good: bool) -> None:
    scores = {LEARNT: {"val": learnt}, SHUFFLED: {"val": 0.2}}
    assert demo_experiment.has_learnt(scores, {"val": 0.01}) is good


@pytest.mark.parametrize(("chance", "good"), [(0.06, True), (0.07, False)])
def test_and_that_beats_chance(chance: float, good: bool) -> None:
    scores = {LEARNT: {"val": 0.3}, SHUFFLED: {"val": 0.01}}
    assert demo_experiment.has_learnt(scores, {"val": chance}) is good


def test_the_control_differs_in_its_links_alone(tmp_path: Path) -> None:
    for baseline in demo_experiment.SETTINGS:
        learnt, shuffled = (demo_experiment.plan_of(tmp_path, baseline, variant) for variant in (LEARNT, SHUFFLED))
        assert [line.split(":")[0] for line in shuffled.differences(vars(learnt))] == ["shuffle_links"]


@pytest.mark.slow
@pytest.mark.timeout(3600)  # of a machine that does much else
def test_every_baseline_learns(tmp_path: Path) -> None:
    report = demo_experiment.experiment(tmp_path, videos=200, seed=demo_experiment.SEED, workers=2)
    assert report["learnt"], report["scores"]
