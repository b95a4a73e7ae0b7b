"""Counts behind the figures: against plain Python on judged rows, and against the published file."""

import csv
import random
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Project
from annotation.models import NamedQuerySet
from benchmarks.replay import judgment_file
from judging.figures.rules import Relevances, relevances_by, tables_of
from judging.figures.selectors import (
    Scope,
    agreement_by_day,
    cases,
    grade_ranges,
    grades_shared,
    relevance_by_similarity,
    relevance_counted,
    relevance_of_ranks,
)
from judging.imports.historic import judgments_import
from judging.models import Judgment, Pair
from judging.quality.rules.agreement import Weights, kappas_of
from judging.quality.rules.quality import judgments_of, partners
from judging.quality.selectors import final_columns
from judging.review.selectors import annotator_numbers
from judging.work.rules import TVR_RANKING
from judging.work.services.batches import batch_advance
from tests import factories
from tests.benchmarks.real_file import needs_real_file
from tests.judging.play import finish, grade, judge, judge_round, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Sixty pairs of two or four random grades by eight people, some of them twice on a pair."""
    chance = random.Random(11)
    lines = ["pair_id,worker,relevance"]
    for pair in range(60):
        grades = [chance.randrange(5) for _ in range(chance.choice((2, 4)))]
        lines += [f"{pair},{chance.randrange(8)},{grade}" for grade in grades]
    file = tmp_path / "judgments.csv"
    file.write_text("\n".join(lines))
    judgments_import(path=file, project_name="random")
    return Project.objects.get(name="random")


def test_relevance_is_counted_as_plain_python_counts_it(project: Project) -> None:
    settled = list(
        Pair.objects.filter(batch__project=project, state="settled").values_list("relevance", "candidate__rank")
    )
    scope = Scope(project.pk)
    counts = Counter(relevance for relevance, _ in settled)
    assert relevance_counted(scope, TVR_RANKING).counts == tuple(counts[relevance] for relevance in range(5))
    ranks = Counter((rank, relevance) for relevance, rank in settled)
    assert relevance_of_ranks(scope, TVR_RANKING) == relevances_by(
        ((*group, n) for group, n in ranks.items()), TVR_RANKING
    )


STEPS = [(0.15, 3), (0.149999, 2), (1.0, 19), (0.95, 19), (0.0, 0), (-0.000001, -1), (-0.05, -1)]


@pytest.mark.parametrize(("similarity", "step"), STEPS)
def test_a_step_of_similarity_holds_its_lower_end_and_the_last_both(similarity: float, step: int) -> None:
    pair = factories.PairFactory(state="settled", relevance=2, candidate__similarity=similarity)
    assert relevance_by_similarity(Scope(pair.batch.project_id), TVR_RANKING) == {step: Relevances((0, 0, 1, 0, 0))}


def test_grades_are_counted_as_plain_python_counts_them(project: Project) -> None:
    grades: dict[int, list[int]] = {}
    for row in Judgment.objects.filter(pair__batch__project=project):
        grades.setdefault(row.pair_id, []).append(row.grade)
    expected_ranges = Counter((min(pair_grades), max(pair_grades)) for pair_grades in grades.values())
    assert grade_ranges(Scope(project.pk)) == dict(expected_ranges)


def test_grades_count_from_the_end_of_the_first_round() -> None:
    """Of three pairs one settles, two wait with distant grades; what somebody still holds is not final."""
    batch = factories.BatchFactory(pairs=3)
    judge(batch, [0, 2, 0])
    scope = Scope(batch.project_id)
    assert grade_ranges(scope) == {}
    other = take(batch)
    grade(other, [4, 2, 3])
    assert grade_ranges(scope) == {}
    finish(other)
    batch_advance(batch_id=batch.pk)
    assert grade_ranges(scope) == {(0, 4): 1, (2, 2): 1, (0, 3): 1}
    assert [row[1:] for row in agreement_by_day(scope, zone="UTC", judges=2)] == [([0, 3], 1), ([0, 4], 1), ([2, 2], 1)]


def test_partners_agree_with_the_report_on_quality(project: Project) -> None:
    """Two ways to the same kappas: a join in the database, numpy over columns."""
    numbers = annotator_numbers(project)
    tables = tables_of(grades_shared(Scope(project.pk)), numbers, 5)
    agreement = {
        both: (int(table.sum()), *kappas_of(table[None], Weights.QUADRATIC).tolist()) for both, table in tables.items()
    }
    report = partners(judgments_of(final_columns(project_id=project.pk, zone="UTC")), TVR_RANKING)
    expected_agreement = {
        (numbers[one], numbers[other["annotator"]]): (other["pairs"], *_defined(other["quadratic"]))
        for one, others in report.items()
        for other in others
        if numbers[one] < numbers[other["annotator"]]
    }
    assert agreement == {both: pytest.approx(values) for both, values in expected_agreement.items()}
    assert len(agreement) == 28


def _defined(kappa: float | None) -> list[float]:
    return [] if kappa is None else [kappa]


def test_imported_judgments_say_nothing_about_time(project: Project) -> None:
    assert agreement_by_day(Scope(project.pk), zone="UTC", judges=2) == []


def test_filters() -> None:
    project: Project = factories.ProjectFactory()
    named_set = NamedQuerySet.objects.create(project=project, name="chosen")
    for split, query_set, pilot in (("val", None, False), ("test", None, False), ("test", named_set, True)):
        query = factories.QueryFactory(project=project, split=split, query_set=query_set)
        batch = factories.BatchFactory(query=query, pairs=0, is_pilot=pilot)
        factories.PairFactory(batch=batch, state="settled", relevance=2)
    factories.PairFactory(state="settled", relevance=2)

    def total(**values: Any) -> int:
        return relevance_counted(Scope(project.pk, **values), TVR_RANKING).n

    assert [total(), total(pilot=True), total(simulated=False)] == [2, 3, 2]
    assert [total(split=split, pilot=True) for split in ("val", "test", "train")] == [1, 2, 0]
    assert [total(query_set_id=named_set.pk, pilot=pilot) for pilot in (True, False)] == [1, 0]


class TestCases:
    def test_by_rank_with_every_state(self, project: Project) -> None:
        batch = factories.BatchFactory(query__project=project, query__text="A man sings", pairs=0)
        for rank, state, more in (
            (2, "dropped", {"reason": "no_consensus"}),
            (1, "settled", {"relevance": 4}),
            (3, "open", {}),
        ):
            factories.PairFactory(batch=batch, state=state, candidate__rank=rank, candidate__similarity=0.5, **more)
        _, ((query, candidates),) = cases(Scope(project.pk), words="SINGS", page=None)
        assert query == batch.query
        assert [one[:4] for one in candidates] == [
            *((1, 4, "settled", 0.5), (2, None, "dropped", 0.5), (3, None, "open", 0.5))
        ]
        moment = batch.pairs.get(candidate__rank=1).candidate.moment
        assert (candidates[0].caption, candidates[0].preview) == ("", moment.preview_uuid)
        factories.CaptionFactory(moment=moment, text="A man sings loudly")
        type(moment).objects.exclude(pk=moment.pk).update(preview_state="failed", preview_error="gone", preview="")
        _, ((_, (first, second, _)),) = cases(Scope(project.pk), words="SINGS", page=None)
        assert (first.caption, second.preview) == ("A man sings loudly", None)

    def test_found_by_number_and_page(self, project: Project) -> None:
        for number in range(100, 105):
            query = factories.QueryFactory(project=project, number=number, text="A man sings" + "!" * number)
            batch = factories.BatchFactory(query=query, pairs=0)
            factories.PairFactory(batch=batch, state="settled", relevance=1)
        page, page_cases = cases(Scope(project.pk), words="", page="2")
        assert page.number == 2
        assert (page.paginator.count, [query.number for query, _ in page_cases]) == (8, [103, 104])
        assert [query.number for query, _ in cases(Scope(project.pk), words="103", page=None)[1]] == [103]
        assert cases(Scope(project.pk), words="nobody says this", page=None)[1] == []


def ranges_of_file(path: Path) -> Counter[tuple[int, int]]:
    grades: dict[str, list[int]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            grades.setdefault(row["pair_id"], []).append(int(row["relevance"]))
    return Counter((min(pair_grades), max(pair_grades)) for pair_grades in grades.values())


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs_real_file
def test_the_published_judgments() -> None:
    """Figures 5 a and 5 b of the paper; it prints 0.01 % where its file holds 655 of 96,483 pairs."""
    judgments_import(path=judgment_file(), project_name="TVR-Ranking")
    scope = Scope(Project.objects.get(name="TVR-Ranking").pk)
    ranges = grade_ranges(scope)
    assert ranges == dict(ranges_of_file(judgment_file()))
    assert (ranges[0, 4], sum(ranges.values())) == (655, 96_483)
    assert relevance_counted(scope, TVR_RANKING).counts == (5_929, 19_245, 30_056, 24_439, 14_773)
    assert sum(group.n for group in relevance_of_ranks(scope, TVR_RANKING).values()) == 94_442
    assert relevance_by_similarity(scope, TVR_RANKING) == {}
    tables = tables_of(grades_shared(scope), annotator_numbers(Project.objects.get(name="TVR-Ranking")), 5)
    assert len({number for both in tables for number in both}) == 21


def test_every_two_of_four_are_compared() -> None:
    """A pair with four grades holds six comparisons."""
    project: Project = factories.ProjectFactory()
    batch = factories.BatchFactory(query__project=project, pairs=1)
    judge_round(batch, [0], [4])
    judge_round(batch, [1], [2])
    tables = tables_of(grades_shared(Scope(project.pk)), annotator_numbers(project), 5)
    compared = [tuple(sorted(int(i) for i in (*table.nonzero()[0], *table.nonzero()[1]))) for table in tables.values()]
    assert sorted(compared) == list(combinations([0, 1, 2, 4], 2))
