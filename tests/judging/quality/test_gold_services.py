"""Pairs of known truth among the others: mixed in at the rate, never seen before, never counted, never noticed."""

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import Project, User
from judging.exceptions import FormStale
from judging.guidelines.services import policy_publish
from judging.models import Assignment, Batch, GoldGrade, Judgment, Pair
from judging.quality.rules.quality import gold_least
from judging.quality.selectors import gold_counts
from judging.work.selectors.assignments import final_grades, given_in, preview_visible_to, work_done
from judging.work.services.assignments import assignment_finish, assignment_return, assignment_take
from judging.work.services.batches import batch_advance
from tests.factories import NOW, BatchFactory, GoldGradeFactory, ProjectFactory, QueryFactory, annotator
from tests.judging.play import flag, give, judge, key_of, pairs_by_rank

pytestmark = pytest.mark.django_db


def gold_in_force(project: Project, percent: int) -> None:
    policy_publish(project=project, actor=None, gold_percent=percent)


def next_of(project: Project, person: User) -> Assignment:
    assignment = assignment_take(project=project, annotator=person, now=NOW)
    assert assignment is not None
    return assignment


def second_round(pairs: int, far_apart: int) -> Batch:
    """A batch in its second round: some pairs far apart, the others settled at once with equal grades."""
    batch: Batch = BatchFactory(pairs=pairs)
    judge(batch, [0] * far_apart + [2] * (pairs - far_apart))
    judge(batch, [4] * far_apart + [2] * (pairs - far_apart))
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()
    assert batch.round == 2
    return batch


def batch_of(project: Project, pairs: int) -> Batch:
    batch: Batch = BatchFactory(query=QueryFactory(project=project), pairs=pairs)
    return batch


KNOWN = gold_least(20)  # pairs of a batch of twenty


def finished(project: Project, pairs: int = KNOWN) -> Batch:
    batch = batch_of(project, pairs + 1)
    judge(batch, [3] * pairs + [2])
    judge(batch, [3] * pairs + [3])
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()
    assert batch.state == "done"
    return batch


class TestSecondRound:
    def test_settled_pairs_of_the_batch_are_mixed_in(self) -> None:
        batch = second_round(pairs=8, far_apart=4)
        assert next_of(batch.project, annotator(batch.project)).gold_ids == []  # without a rate
        gold_in_force(batch.project, 50)
        assignment = next_of(batch.project, annotator(batch.project))
        gold = Pair.objects.filter(pk__in=assignment.gold_ids)
        assert len(assignment.pair_ids) == 6 and len(assignment.gold_ids) == 2
        assert set(gold.values_list("state", flat=True)) == {"settled"}

    def test_pairs_settled_with_different_grades_are_not_known(self) -> None:
        batch: Batch = BatchFactory(pairs=4)
        judge(batch, [0, 0, 2, 2])
        judge(batch, [4, 4, 3, 1])
        batch_advance(batch_id=batch.pk)
        gold_in_force(batch.project, 50)
        assert next_of(batch.project, annotator(batch.project)).gold_ids == []

    def test_nobody_grades_what_they_have_seen(self) -> None:
        batch = second_round(pairs=8, far_apart=4)
        gold_in_force(batch.project, 50)
        person = annotator(batch.project)
        first = next_of(batch.project, person)
        assert first.gold_ids
        assignment_return(project=batch.project, annotator=person, now=NOW)
        again = next_of(batch.project, person)
        assert set(again.gold_ids).isdisjoint(first.pair_ids)

    def test_gold_grades_decide_nothing(self) -> None:
        batch = second_round(pairs=8, far_apart=4)
        gold_in_force(batch.project, 50)
        before = dict(batch.pairs.filter(state="settled").values_list("pk", "relevance"))
        for _ in range(2):
            person = annotator(batch.project)
            assignment = next_of(batch.project, person)
            for pair in pairs_by_rank(assignment):
                give(assignment, pair, 0)
            assignment_finish(project=batch.project, annotator=person, now=NOW)
        assert GoldGrade.objects.count() == 4
        assert set(GoldGrade.objects.values_list("grade", "truth")) == {(0, 2)}
        assert dict(batch.pairs.filter(pk__in=before).values_list("pk", "relevance")) == before
        assert not Judgment.objects.filter(pair__in=before, round=2).exists()


class TestWholeBatch:
    def test_a_finished_batch_is_shown_again_when_so_much_is_due(self) -> None:
        batch = finished(BatchFactory(pairs=0).project)
        project = batch.project
        person = annotator(project)
        for _ in range(4):
            judge(batch_of(project, KNOWN), [1] * KNOWN, person)
        gold_in_force(project, 50)
        real = batch_of(project, 2)
        assignment = next_of(project, person)
        assert assignment.batch_id != real.pk
        assert sorted(assignment.gold_ids) == sorted(assignment.pair_ids)
        assert len(assignment.pair_ids) == KNOWN + 1
        for pair in pairs_by_rank(assignment):
            give(assignment, pair, 3)
        assert assignment_finish(project=project, annotator=person, now=NOW)
        assert GoldGrade.objects.filter(truth=3).count() == KNOWN
        assert GoldGrade.objects.filter(truth=None).count() == 1  # settled with different grades: for company
        assert gold_counts(project) == {person.pk: (KNOWN, 0)}
        assignment.batch.refresh_from_db()
        assert (assignment.batch.state, assignment.batch.free_slots) == ("done", 0)
        assert next_of(project, person).batch_id == real.pk

    def test_three_equal_grades_are_a_truth_where_three_judge(self) -> None:
        project = ProjectFactory(top_grade=1, judges=3, max_spread=0, batch_size=5)
        batch = batch_of(project, 5)
        for grade in (1, 1, 0):
            judge(batch, [1, 1, 1, grade, grade])  # two pairs go to a second round: they are for company
        batch_advance(batch_id=batch.pk)
        for _ in range(3):
            judge(batch, [1, 1])
        batch_advance(batch_id=batch.pk)
        person = annotator(project)
        for _ in range(2):
            judge(batch_of(project, 5), [0] * 5, person)
        gold_in_force(project, 50)
        batch_of(project, 5)
        assignment = next_of(project, person)
        assert assignment.batch_id == batch.pk
        for pair, value in zip(pairs_by_rank(assignment), [0, 1, 1, 1, 1], strict=True):
            give(assignment, pair, value)
        assert set(assignment.gold_grades.values_list("truth", flat=True)) == {1, None}
        assert assignment_finish(project=project, annotator=person, now=NOW)
        assert gold_counts(project) == {person.pk: (3, 1)}

    def test_not_when_nothing_else_waits(self) -> None:
        project = finished(BatchFactory(pairs=0).project).project
        gold_in_force(project, 50)
        assert assignment_take(project=project, annotator=annotator(project), now=NOW) is None


class TestUnnoticed:
    @pytest.fixture
    def open_assignment(self) -> Assignment:
        batch = second_round(pairs=8, far_apart=4)
        gold_in_force(batch.project, 50)
        return next_of(batch.project, annotator(batch.project))

    @pytest.fixture
    def gold(self, open_assignment: Assignment) -> Pair:
        return Pair.objects.get(pk=open_assignment.gold_ids[0])

    def test_a_form_sent_again_is_answered_as_the_first_time(self, open_assignment: Assignment, gold: Pair) -> None:
        key = key_of(open_assignment, gold)
        first = give(open_assignment, gold, 3, key=key)
        again = give(open_assignment, gold, 3, key=key, now=NOW + timedelta(seconds=5))
        assert (first.index, GoldGrade.objects.count()) == (again.index, 1)

    def test_a_grade_may_be_changed_and_the_first_one_is_saved(self, open_assignment: Assignment, gold: Pair) -> None:
        give(open_assignment, gold, 3, key=key_of(open_assignment, gold))
        give(open_assignment, gold, 1, key=key_of(open_assignment, gold), comment="hardly")
        row = GoldGrade.objects.get()
        assert (row.grade, row.revision, row.comment) == (1, 1, "hardly")
        assert [grade for _, grade, _ in row.history] == [3, 1]
        with pytest.raises(FormStale, match="your grade for this pair is 1"):
            give(open_assignment, gold, 2, key=row.uuid)
        assert give(open_assignment, gold, 3, key=row.uuid).assignment.answered == 1
        row.refresh_from_db()
        assert row.grade == 1

    def test_it_can_be_flagged(self, open_assignment: Assignment, gold: Pair) -> None:
        flag(open_assignment, gold)
        gold.refresh_from_db()
        assert gold.state == "settled"

    def test_it_counts_as_the_persons_work_and_shows_among_their_grades(self, open_assignment: Assignment) -> None:
        for pair in pairs_by_rank(open_assignment):
            give(open_assignment, pair, 1)
        assignment_finish(project=open_assignment.project, annotator=open_assignment.annotator, now=NOW)
        work = work_done(project=open_assignment.project, annotator=open_assignment.annotator, since=NOW)
        assert work == {"batches": 1, "judgments": 6, "today": 6}
        assert len(given_in(open_assignment)[0]) == 6
        assert final_grades(project=open_assignment.project, annotator=open_assignment.annotator).count() == 6

    def test_its_clip_stays_in_sight_after_the_rest_is_returned(self, open_assignment: Assignment, gold: Pair) -> None:
        give(open_assignment, gold, 2)
        assignment_return(project=open_assignment.project, annotator=open_assignment.annotator, now=NOW)
        preview = gold.candidate.moment.preview_uuid
        assert preview_visible_to(user=open_assignment.annotator, preview=preview) is not None

    def test_its_page_says_nothing_else(self, open_assignment: Assignment, gold: Pair, client: Client) -> None:
        client.force_login(open_assignment.annotator)
        other = next(pair for pair in pairs_by_rank(open_assignment) if pair.pk not in open_assignment.gold_ids)
        pages = []
        for pair in (gold, other):
            Assignment.objects.filter(pk=open_assignment.pk).update(expires_at=NOW + timedelta(days=9999))
            text = client.get(f"/pairs/{pair.uuid}/").content.decode()
            pages.append({line.strip().split(" ")[0] for line in text.splitlines()})
            assert "gold" not in text.lower() and "settled" not in text
        assert pages[0] == pages[1]


@pytest.mark.parametrize(("max_spread", "misaligned"), [(0, 1), (1, 0)])
def test_misaligned_is_further_than_grades_that_agree(max_spread: int, misaligned: int) -> None:
    batch = BatchFactory(query__project=ProjectFactory(max_spread=max_spread))
    first = GoldGradeFactory(assignment__batch=batch, grade=3, truth=2)
    Assignment.objects.filter(pk=first.assignment_id).update(state="finished", ended_at=NOW)
    assert gold_counts(batch.project) == {first.annotator_id: (1, misaligned)}
