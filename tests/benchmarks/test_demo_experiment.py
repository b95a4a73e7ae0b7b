"""The demo's experiment: how it is set up, and, slowly, that the baselines learn."""

from pathlib import Path

import pytest

from annotation.demo import true_relevance
from benchmarks import demo_experiment
from benchmarks.demo_experiment import LEARNT, SHUFFLED
from moment_retrieval.records import JudgedMoment, VideoCorpus
from moment_retrieval.tables import JudgedTable


def test_a_query_is_in_one_split_and_judged_on_every_moment_that_concerns_it() -> None:
    demo = demo_experiment.Demo.of(videos=30, seed=3)
    texts = [{query.text for query in demo.splits[name]} for name in ("train", "val", "test")]
    captions = {moment.caption for _, moment in demo.moments}
    assert set.union(*texts) == captions
    assert sum(map(len, texts)) == len(captions) == sum(map(len, demo.splits.values()))
    assert len(texts[1]) == len(texts[2]) == len(captions) // 5
    query = demo.splits["val"][0]
    (judged,) = demo_experiment.judged_moments([query], demo)
    grades = [true_relevance(query.moment, moment) for _, moment in demo.moments]
    assert [row["relevance"] for row in judged["relevant_moment"]] == [grade for grade in grades if grade]


@pytest.mark.deployment
def test_chance_finds_a_moment_as_often_as_counting_says() -> None:
    """One video of three clips: a span is clips 1-2, 2-3 or all, and a moment of all clips is met by each."""
    corpus = VideoCorpus({"a": 4.5}, {0: "a"})
    for video, chance in (("a", 1.0), ("b", 0.0)):
        judged = JudgedTable.from_moments({"1": [JudgedMoment(video, 0.0, 4.5, 4)]})
        assert demo_experiment.by_chance(judged, corpus, seed=1) == chance


def test_the_control_differs_in_its_links_alone(tmp_path: Path) -> None:
    for baseline in demo_experiment.SETTINGS:
        learnt, shuffled = (demo_experiment.plan_of(tmp_path, baseline, variant) for variant in (LEARNT, SHUFFLED))
        assert [line.split(":")[0] for line in shuffled.differences(vars(learnt))] == ["shuffle_links"]


@pytest.mark.slow
@pytest.mark.timeout(3600)  # of a machine that does much else
def test_every_baseline_learns(tmp_path: Path) -> None:
    report = demo_experiment.experiment(tmp_path, videos=200, seed=demo_experiment.SEED, workers=2)
    assert report["learnt"], report["scores"]
