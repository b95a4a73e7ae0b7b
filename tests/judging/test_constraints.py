"""The database refuses rows that break a rule, whoever writes them: every named constraint and trigger once.

The entries are in ``constraints``, one file per area.
"""

from collections import Counter
from contextlib import nullcontext
from importlib import import_module
from pkgutil import iter_modules

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from annotation.models import Candidate
from judging.models import Flag, Judgment
from tests import migrated
from tests.factories import (
    NOW,
    AssignmentFactory,
    CandidateFactory,
    JudgmentFactory,
    MembershipFactory,
    QueryFactory,
    triggers_asleep,
)
from tests.judging import constraints
from tests.judging.constraints.judgments import flag, pair_of_batch
from tests.judging.constraints.writes import Refused

pytestmark = pytest.mark.django_db
AREAS = [
    import_module(f"{constraints.__name__}.{module.name}")
    for module in iter_modules(constraints.__path__)
    if module.name != "writes"
]
REFUSED: Refused = {name: prepare for area in AREAS for name, prepare in area.REFUSED.items()}
MORE = {
    sentence: (words, prepare)
    for area in AREAS
    for words, cases in getattr(area, "MORE", {}).items()
    for sentence, prepare in cases.items()
}
TRIGGERS = {name for area in AREAS for name in getattr(area, "TRIGGERS", ())}
CASES = {**{name: (name, prepare) for name, prepare in REFUSED.items()}, **MORE}


@pytest.mark.parametrize("case", CASES)
def test_bad_row_is_refused(case: str) -> None:
    words, prepare = CASES[case]
    write = prepare()
    only_constraints = case in REFUSED or words in REFUSED
    watched = triggers_asleep() if only_constraints else nullcontext()
    with pytest.raises(IntegrityError, match=words), transaction.atomic(), watched:
        write()


def test_every_constraint_is_tried() -> None:
    apps_of_ours = [apps.get_app_config(label) for label in migrated.APPS]
    models = [model for app in apps_of_ours for model in app.get_models()]
    assert {constraint.name for model in models for constraint in model._meta.constraints} == set(REFUSED)


def test_every_trigger_is_tried() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
        assert {name for (name,) in cursor.fetchall()} == TRIGGERS


def test_every_entry_is_in_one_area() -> None:
    sentences = [sentence for area in AREAS for cases in getattr(area, "MORE", {}).values() for sentence in cases]
    triggers = [name for area in AREAS for name in getattr(area, "TRIGGERS", ())]
    entered = Counter([*(name for area in AREAS for name in area.REFUSED), *sentences, *triggers])
    assert [name for name, times in entered.items() if times > 1] == []


def test_grades_of_an_open_assignment_may_change() -> None:
    judgment = JudgmentFactory()
    assert Judgment.objects.filter(pk=judgment.pk).update(grade=0) == 1


def test_candidates_of_no_batch_may_change() -> None:
    candidate = CandidateFactory()
    assert Candidate.objects.filter(pk=candidate.pk).update(rank=9) == 1
    candidate.delete()


@pytest.mark.parametrize("state", ["finished", "lapsed", "returned"])
def test_a_slot_whose_assignment_has_ended_is_free_again(state: str) -> None:
    """Whether a pair of it still lacks a grade is the service's to say."""
    ended = AssignmentFactory(state=state)
    assert AssignmentFactory(batch=ended.batch, slot=ended.slot)


def test_an_escalated_pair_is_judged_in_round_2() -> None:
    assignment = AssignmentFactory(batch__round=2)
    assignment.batch.pairs.update(state="escalated")
    assert JudgmentFactory(assignment=assignment).round == 2


def test_a_flag_that_was_taken_back_may_be_set_again() -> None:
    first = flag()
    Flag.objects.filter(pk=first.pk).update(withdrawn_at=NOW)
    flag(assignment=first.assignment)
    assert Flag.objects.filter(pair=first.pair, withdrawn_at=None).count() == 1


def test_queries_of_one_text_share_one_judging() -> None:
    judged = QueryFactory(split="val")
    assert QueryFactory(project=judged.project, text=judged.text, split="val", judged_as=judged)
    assert QueryFactory(project=judged.project, text=judged.text, split="train")


def test_a_person_appears_again_only_in_an_import() -> None:
    pair = pair_of_batch()
    person = MembershipFactory(project=pair.batch.project).user
    for slot in (1, 2):
        Judgment.objects.create(
            pair=pair, annotator=person, occurrence=slot - 1, round=1, slot=slot, grade=1, source="imported"
        )
    assert pair.judgments.count() == 2


def test_what_is_judged_cannot_be_deleted_from_under_it() -> None:
    judgment = JudgmentFactory()
    for row in (
        judgment.pair,
        judgment.assignment,
        judgment.annotator,
        judgment.pair.batch,
        judgment.pair.candidate.moment,
    ):
        with pytest.raises(IntegrityError):
            row.delete()
