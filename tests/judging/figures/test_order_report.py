"""The report on order effects, by hand on few judgments and against plain Python on many."""

import random
from math import sqrt
from statistics import mean, stdev

import pytest

from accounts.models import Project
from judging.figures.selectors import OrderEffects, Scope, order_effects
from judging.models import Judgment
from tests.factories import BatchFactory, ProjectFactory, QueryFactory, annotator
from tests.judging.play import finish, give, judge, take

pytestmark = pytest.mark.django_db


def report(project: Project, *, simulated: bool = True, annotator_id: int | None = None) -> OrderEffects:
    return order_effects(Scope(project.pk, simulated=simulated), annotator_id=annotator_id)


def test_by_hand() -> None:
    """One person gives 4 then 2, another 2 to each of the same pairs: deviations are 2 and 0, and -2 and 0."""
    batch = BatchFactory(pairs=2)
    assignment = take(batch)
    pairs = [assignment.batch.pairs.get(pk=pk) for pk in assignment.pair_ids]
    for pair, grade in zip(pairs, (4, 2), strict=True):
        give(assignment, pair, grade)
    finish(assignment)
    judge(batch, [2, 2])
    result = report(batch.project, annotator_id=assignment.annotator_id)
    assert [(e.group, e.n, e.mean, e.deviation) for e in result.by_position] == [(1, 1, 4.0, 2.0), (2, 1, 2.0, 0.0)]
    assert [(e.group, e.n, e.deviation) for e in result.by_previous] == [(None, 1, 2.0), (4, 1, 0.0)]
    assert report(batch.project).judgments == 4


def test_equal_to_plain_python() -> None:
    chance = random.Random(3)
    project = ProjectFactory()
    for _ in range(4):
        batch = BatchFactory(query=QueryFactory(project=project), pairs=5)
        for _ in range(2):
            judge(batch, [chance.randrange(5) for _ in range(5)], annotator(project))
    rows = list(Judgment.objects.all())
    others = {row.pk: [o.grade for o in rows if o.pair_id == row.pair_id and o.pk != row.pk] for row in rows}
    result = report(project)
    for effects, field in ((result.by_position, "position"), (result.by_previous, "previous_grade")):
        assert {e.group for e in effects} == {getattr(row, field) for row in rows}
        for e in effects:
            group = [row for row in rows if getattr(row, field) == e.group]
            assert e.n == len(group)
            assert e.mean == pytest.approx(mean(row.grade for row in group))
            deviations = [row.grade - mean(others[row.pk]) for row in group]
            assert e.deviation == pytest.approx(mean(deviations))
            width = 1.96 * stdev(deviations) / sqrt(len(deviations)) if len(deviations) > 1 else None
            assert e.half_width == (width and pytest.approx(width))


def test_undefined_values_are_none() -> None:
    batch = BatchFactory(pairs=2)
    person = judge(batch, [3, 3]).annotator
    assert [e[3:] for e in report(batch.project).by_position] == [(None, None), (None, None)]
    judge(batch, [2, 2])
    assert [e[3:] for e in report(batch.project, annotator_id=person.pk).by_position] == [(1.0, None), (1.0, None)]


def test_open_work_and_programs_are_left_out() -> None:
    batch = BatchFactory(pairs=2)
    assignment = take(batch)
    give(assignment, batch.pairs.get(pk=assignment.pair_ids[0]), 3)
    judge(batch, [1, 1], annotator(batch.project, is_simulated=True))
    assert report(batch.project).judgments == 2
    assert report(batch.project, simulated=False).judgments == 0
