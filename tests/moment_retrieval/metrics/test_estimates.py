"""Estimates from incomplete judgments: by hand, and against trec_eval through ir_measures."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import Bpref, infAP

from moment_retrieval.cli import main
from moment_retrieval.errors import InvalidRecord, ScoringError
from moment_retrieval.formats.builder import SourceFile
from moment_retrieval.formats.trec import is_pool, read_pool
from moment_retrieval.metrics.estimates import EPSILON, EstimateMeasure, Pool, estimates, pool_for
from moment_retrieval.serialization import pool_of, truth_bytes, truth_of
from moment_retrieval.tables import JudgedTable, RunTable

RANKS = st.permutations(range(12))
GRADES = st.lists(st.sampled_from([-1, 0, 0, 1, 3]), min_size=12, max_size=12).filter(lambda grades: max(grades) >= 0)
BITS = st.lists(st.sampled_from([0, 1]), min_size=12, max_size=12)
STRATA = st.lists(st.integers(0, 2), min_size=12, max_size=12)


def table(grades: list[int], kind: type[JudgedTable] = JudgedTable) -> JudgedTable:
    """Moment ``n`` of one video lasts from 10 n to 10 n + 5 seconds."""
    rows = [(0, 10 * number, 10 * number + 5, grade) for number, grade in enumerate(grades) if grade >= 0]
    return kind.from_moments({"q": np.array(rows, np.float64).reshape(-1, 4)})


def sampled(grades: list[int], strata: list[int] | None = None) -> Pool:
    strata = strata or [0] * len(grades)
    rows = [(0, 10 * number, 10 * number + 5, 0) for number, grade in enumerate(grades) if grade < 0]
    return Pool(
        np.array([stratum for stratum, grade in zip(strata, grades, strict=True) if grade >= 0], np.int64),
        JudgedTable.from_moments({"q": np.array(rows, np.float64).reshape(-1, 4)} if rows else {}),
        np.array([stratum for stratum, grade in zip(strata, grades, strict=True) if grade < 0], np.int64),
    )


def run_of(ranks: list[int]) -> RunTable:
    rows = [(0, 10 * number, 10 * number + 5) for number in ranks]
    return RunTable.from_moments({"q": np.array(rows, np.float64).reshape(-1, 3)})


def mean(name: str, run: RunTable, judged: JudgedTable, pool: Pool | None = None) -> float:
    return float(estimates(run, judged, mus=(0.5,), pool=pool).mean[EstimateMeasure(name, 0.5)])


@given(RANKS, GRADES)
def test_bpref_and_infap_are_those_of_trec_eval(ranks: list[int], grades: list[int]) -> None:
    """Of documents; here each moment is one, and rank 11 is no moment that was pooled."""
    judged_grades = [*grades[:11], -1]
    if max(judged_grades) < 0:
        return
    qrels = [ir_measures.Qrel("q", str(number), grade) for number, grade in enumerate(grades[:11])]
    docs = [ir_measures.ScoredDoc("q", str(number), -rank) for rank, number in enumerate(ranks)]
    reference = ir_measures.calc_aggregate([Bpref, infAP], qrels, docs)
    judged, pool = table(judged_grades), sampled(grades[:11])
    assert mean("bpref", run_of(ranks), judged, pool) == pytest.approx(reference[Bpref], abs=1e-6)
    assert mean("infAP", run_of(ranks), judged, pool) == pytest.approx(reference[infAP], abs=1e-6)


@given(RANKS, GRADES)
def test_xinfap_of_one_stratum_is_infap(ranks: list[int], grades: list[int]) -> None:
    judged, pool = table(grades), sampled(grades)
    assert mean("xinfAP", run_of(ranks), judged, pool) == pytest.approx(mean("infAP", run_of(ranks), judged, pool))


@given(
    RANKS,
    st.lists(st.sampled_from([0, 1]), min_size=12, max_size=12),
    st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_xinfap_of_full_judgments_is_average_precision(ranks: list[int], grades: list[int], strata: list[int]) -> None:
    hits = np.array([grades[number] for number in ranks])
    precision = np.cumsum(hits) / np.arange(1, 13)
    average = float((precision * hits).sum() / hits.sum()) if hits.any() else 0.0
    assert mean("xinfAP", run_of(ranks), table(grades), sampled(grades, strata)) == pytest.approx(average, abs=1e-3)


def test_xinfap_by_hand() -> None:
    """Stratum 0: two moments, both judged. Stratum 1: four, of which one relevant and one other are judged."""
    grades, strata = [1, 0, 1, 0, -1, -1], [0, 0, 1, 1, 1, 1]
    # the list: 0 (relevant), 4 (not judged), 2 (relevant). Before rank 3: stratum 0 holds one, all relevant;
    # stratum 1 one, of which nothing is known: one half
    third = (1 + 1 * (1 + EPSILON) / (1 + 2 * EPSILON) + 1 * EPSILON / (2 * EPSILON)) / 3
    in_all = 1 + 4 / 2  # stratum 1 holds 4, half of the two judged are relevant
    value = (1 * 1.0 + 2 * third) / in_all
    assert mean("xinfAP", run_of([0, 4, 2]), table(grades), sampled(grades, strata)) == pytest.approx(value)


def test_of_a_stratum_that_nobody_judged_a_moment_is_relevant_by_half_and_none_in_all() -> None:
    """Moment 0 was pooled in a stratum of its own and never judged; it stands before the only relevant one."""
    grades, strata = [-1, 1, 0], [1, 0, 0]
    assert mean("xinfAP", run_of([0, 1]), table(grades), sampled(grades, strata)) == pytest.approx((1 + 0.5) / 2)


def test_bpref_by_hand() -> None:
    """Relevant moments 0 and 1, others 2, 3 and 4; moment 5 was not judged and changes nothing."""
    judged = table([1, 2, 0, 0, 0])
    assert mean("bpref", run_of([2, 5, 0, 3, 1]), judged) == pytest.approx((0.5 + 0.0) / 2)
    assert mean("bpref", run_of([0, 5, 1, 2]), judged) == 1.0
    assert mean("bpref", RunTable.from_moments({}), judged) == 0.0


def test_a_second_prediction_of_a_moment_is_no_second_hit() -> None:
    judged = table([1, 1, 0])
    assert mean("bpref", run_of([0, 0, 0]), judged) == 0.5


POOL = """
q1 0 v:0-5 top 2
q2 0 w:0-5 rest 0
q1 0 v:10-15 rest -1
q1 0 v:20-25 rest 0
"""


def test_a_pool_is_read_from_its_file() -> None:
    assert is_pool(POOL) and not is_pool("q1 0 v:0-5 2")
    judged, pool = read_pool(SourceFile(POOL.encode()))
    assert judged.query_ids == ("q1", "q2") and judged.weights.tolist() == [2, 0, 0]
    assert pool.judged_stratum.tolist() == [0, 1, 1]
    assert pool.unjudged.query_ids == ("q1",) and pool.unjudged_stratum.tolist() == [1]
    assert pool.n_strata == 2


def test_the_part_of_a_pool_follows_the_rows_of_its_ground_truth() -> None:
    judged, pool = read_pool(SourceFile(POOL.encode()))
    moments = {"q1": np.array([(0, 20, 25, 0), (0, 0, 5, 2)], np.float64)}
    part = pool_for(replace_names(JudgedTable.from_moments(moments), "v"), judged, pool)
    assert part is not None and part.judged_stratum.tolist() == [1, 0]
    assert part.unjudged["q1"][0].start_s == 10 and part.unjudged_stratum.tolist() == [1]
    other = replace_names(JudgedTable.from_moments({"q2": np.array([(0, 0, 5, 0)], np.float64)}), "w")
    part = pool_for(other, judged, pool)
    assert part is not None and part.unjudged.query_ids == () and part.judged_stratum.tolist() == [1]
    assert pool_for(replace_names(other, "elsewhere"), judged, pool) is None


def replace_names(table: JudgedTable, name: str) -> JudgedTable:
    return replace(table, spans=table.spans._replace(names=(name,)))


def test_a_pool_is_packed_beside_its_judged_moments() -> None:
    judged, pool = read_pool(SourceFile(POOL.encode()))
    result = pool_of(truth_bytes(judged, pool))
    assert result is not None and dict(result.unjudged) == dict(pool.unjudged)
    assert result.judged_stratum.tolist() == pool.judged_stratum.tolist()
    assert result.unjudged_stratum.tolist() == pool.unjudged_stratum.tolist()
    assert dict(truth_of(truth_bytes(judged, pool))) == dict(judged)
    assert pool_of(truth_bytes(judged)) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q1 0 v:0-5 top -2", "line 1: .*relevance must be from 0 to"),
        ("q1 0 v:0-5 top many", "line 1: .*relevance"),
        ("q1 0 v:0-5 top -1\nq2 0 v:0-5 top 1", "query q1 has pooled moments, and none of them was judged"),
        ("q1 0 v:0-5 top 1\nq1 0 v:0-5 1", "line 2: expected 5 columns"),
    ],
)
def test_a_wrong_pool_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ScoringError, match=reason):
        read_pool(SourceFile(line.encode()))


def test_a_pool_of_other_judgments_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="strata of 2 judged moments, the ground truth 3"):
        estimates(run_of([0]), table([1, 0, 0]), pool=sampled([1, 0]))


def test_the_command_prints_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pool.txt").write_text(POOL)
    (tmp_path / "run.txt").write_text("q1 Q0 v:0-5 1 1.0 mine\nq2 Q0 w:0-5 1 1.0 mine\n")
    options = ["--ground-truth", str(tmp_path / "pool.txt"), "--metric", "estimates", "--output", "csv"]
    assert main(["score", str(tmp_path / "run.txt"), *options, "--mu", "0.5"]) == 0
    output = capsys.readouterr().out
    assert "bpref,IoU>=0.5" in output and "xinfAP,IoU>=0.5" in output
    qrels = "\n".join(f"{q} 0 {m} {g}" for q, _, m, _, g in map(str.split, POOL.strip().splitlines()) if g != "-1")
    (tmp_path / "qrels.txt").write_text(qrels)
    options[1] = str(tmp_path / "qrels.txt")
    assert main(["score", str(tmp_path / "run.txt"), *options]) == 0
    assert "xinfAP" not in capsys.readouterr().out


RELEVANT = "111011101101001011000100100000100100000001"  # by rank of the pool; the run has the same order
DRAWS = 400


def of_draws(samples: list[set[int]], stratum_of: Callable[[int], int]) -> tuple[RunTable, JudgedTable, Pool]:
    """Return the run, and the pool of ``RELEVANT`` judged at these ranks, as one query for each sample."""
    grades = [int(letter) for letter in RELEVANT]
    runs, judged, rest, strata = {}, {}, {}, {True: list[int](), False: list[int]()}
    for number, sample in enumerate(samples):
        rows = [(0, 10 * rank, 10 * rank + 5, grade) for rank, grade in enumerate(grades, start=1)]
        runs[f"{number}"] = np.array([row[:3] for row in rows], np.float64)
        judged[f"{number}"] = np.array([row for rank, row in enumerate(rows, 1) if rank in sample], np.float64)
        rest[f"{number}"] = np.array([row for rank, row in enumerate(rows, 1) if rank not in sample], np.float64)
        for rank in range(1, len(grades) + 1):
            strata[rank in sample].append(stratum_of(rank))
    pool = Pool(np.array(strata[True]), JudgedTable.from_moments(rest), np.array(strata[False]))
    return RunTable.from_moments(runs), JudgedTable.from_moments(judged), pool


def test_xinfap_of_strata_that_were_drawn_from_is_average_precision_in_the_mean() -> None:
    """All of ranks 1 to 12 and 20 of the other 30 are judged: over many draws xinfAP is the average precision of full
    judgments, within two standard errors. Of the 32 best by rank it is far off, and so is infAP of the draws."""
    hits = np.array([int(letter) for letter in RELEVANT])
    average = float((np.cumsum(hits) / np.arange(1, len(hits) + 1) * hits).sum() / hits.sum())
    chance = random.Random(7)
    samples = [{*range(1, 13), *chance.sample(range(13, 43), 20)} for _ in range(DRAWS)]
    run, judged, pool = of_draws(samples, lambda rank: int(rank > 12))
    scores = estimates(run, judged, mus=(0.5,), pool=pool)
    _, inferred, stratified = scores.values.T
    error = float(stratified.std(ddof=1) / np.sqrt(DRAWS))
    assert error < 0.005
    assert abs(stratified.mean() - average) < 2 * error
    assert abs(inferred.mean() - average) > 5 * error
    by_rank = mean("xinfAP", *of_draws([set(range(1, 33))], lambda rank: int(rank > 32)))
    assert abs(by_rank - average) > 10 * error
