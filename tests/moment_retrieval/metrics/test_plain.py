"""Measures through ir_measures: by hand."""

import math

import pytest

from moment_retrieval.errors import InvalidCutoff, InvalidRecord
from moment_retrieval.metrics.ndcg_iou import Gain
from moment_retrieval.metrics.plain import plain
from moment_retrieval.records import JudgedMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable

JUDGED = JudgedTable.from_moments(
    {
        "1": [JudgedMoment("a", 0, 10, 4), JudgedMoment("b", 0, 10, 2), JudgedMoment("a", 3, 5, 0)],
        "2": [JudgedMoment("b", 0, 10, 1)],
        "3": [],
    }
)
RUN = RunTable.from_moments(
    {"1": [Span("b", 0, 10), Span("a", 3, 5), Span("b", 0, 10), Span("a", 0, 10)], "2": [Span("a", 0, 9.99)], "3": []}
)


def values(gain: Gain = Gain.EXPONENTIAL, *, by_video: bool = False) -> dict[str, float]:
    return plain(RUN, JUDGED, measures=["nDCG@10", "AP", "P@2", "R@2"], gain=gain, by_video=by_video).per_query["1"]


def test_by_hand_and_what_is_refused() -> None:
    exponential = (3 + 15 / math.log2(5)) / (15 + 3 / math.log2(3))
    linear = (2 + 4 / math.log2(5)) / (4 + 2 / math.log2(3))
    assert values() == pytest.approx({"nDCG@10": exponential, "AP": (1 + 2 / 4) / 2, "P@2": 0.5, "R@2": 0.5})
    assert values(Gain.LINEAR)["nDCG@10"] == pytest.approx(linear)
    of_videos = (3 + 15 / math.log2(3)) / (15 + 3 / math.log2(3))
    assert values(by_video=True) == pytest.approx({"nDCG@10": of_videos, "AP": 1.0, "P@2": 1.0, "R@2": 1.0})
    scores = plain(RunTable.from_moments({"2": RUN["2"]}), JUDGED)
    assert (set(scores.mean.values()), scores.missing) == ({0.0}, ("1", "3"))
    for name in ("Magic@10", "nDCG@@", "import os"):
        with pytest.raises(InvalidCutoff, match="ir_measures knows no measure"):
            plain(RUN, JUDGED, measures=[name])
    with pytest.raises(InvalidRecord, match="whole numbers"):
        plain(RunTable.from_moments({}), JudgedTable.from_moments({"1": [JudgedMoment("a", 0, 1, 1.5)]}))


def test_estimators_for_incomplete_judgments_by_hand() -> None:
    """Of x, b, a, y, c the moments x and y are not judged; a and c are relevant, b and d are not."""
    judged = [
        JudgedMoment("a", 0, 5, 2),
        JudgedMoment("b", 0, 5, 0),
        JudgedMoment("c", 0, 5, 1),
        JudgedMoment("d", 0, 5, 0),
    ]
    run = RunTable.from_moments({"1": [Span(name, 0, 5) for name in "xbayc"]})
    names = ["Bpref", "infAP", "AP(judged_only=True)", "nDCG(judged_only=True)@10"]
    mean = plain(run, JudgedTable.from_moments({"1": judged}), measures=names).mean
    condensed_ndcg = (3 / math.log2(3) + 1 / math.log2(4)) / (3 / math.log2(2) + 1 / math.log2(3))
    # above a: one of two ranks is judged, as none of it is relevant; above c: two of four, half of them relevant
    inferred_ap = (1 / 3 + (1 / 5 + 4 / 5 * 2 / 4 * 1 / 2)) / 2
    values = (0.5, inferred_ap, (1 / 2 + 2 / 3) / 2, condensed_ndcg)
    assert [mean[name] for name in names] == pytest.approx(values, abs=1e-4)
