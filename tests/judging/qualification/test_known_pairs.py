"""Pairs of known truth: which there are, and which a person has never seen."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Project, User
from core.models import AuditEvent
from judging.exceptions import GradeUnknown, NotPossibleNow
from judging.guidelines.services import policy_publish
from judging.models import Exam, KnownPair, Pair
from judging.qualification.selectors.exams import known_pairs_shown, known_pairs_unseen
from judging.qualification.services.exams import (
    known_pair_anchor,
    known_pair_explain,
    known_pair_retire,
    known_pairs_enter,
    known_pairs_sweep,
)
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    BatchFactory,
    CandidateFactory,
    MomentFactory,
    PairFactory,
    ProjectFactory,
    QueryFactory,
    annotator,
    lead,
)
from tests.judging.exams import (
    closed_exam,
    cohort_exam,
    examinee,
    failed,
    give,
    later_exam,
    pairs_add,
    pairs_in_order,
    right,
    sit,
    sit_all,
    start,
    tutorial,
)
from tests.judging.play import judge_round, take

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


def unseen(project: Project, user: User, **more: object) -> set[int]:
    pairs = known_pairs_unseen(project_id=project.pk, annotator_id=user.pk, **more)  # type: ignore[arg-type]
    return {known_pair.id for known_pair in pairs}


class TestEntered:
    def test_pairs_settled_with_equal_grades_are_known_to_who_did_not_grade_them(
        self, project: Project, django_assert_num_queries: Any
    ) -> None:
        batch = BatchFactory(query__project=project, pairs=4)
        judge_round(batch, [3, 2, 0, 0], [3, 3, 4, 0])
        with django_assert_num_queries(1):
            assert known_pairs_enter(project_id=project.pk) == 2
        assert known_pairs_enter(project_id=project.pk) == 0
        rows = KnownPair.objects.order_by("rank").values_list("rank", "truth", "source", "query")
        assert list(rows) == [(1, 3, "settled", batch.query_id), (4, 0, "settled", batch.query_id)]
        user = annotator(project)
        assert len(unseen(project, user)) == 2
        assert not unseen(project, user, splits=["train"])  # from which exams draw
        assert not any(unseen(project, assignment.annotator) for assignment in batch.assignments.all())
        Pair.objects.update(state="withdrawn", relevance=None, reason="withdrawn_by_lead")
        assert not unseen(project, user)

    def test_those_of_a_second_round_or_a_pilot_are_not(self, project: Project) -> None:
        batch = BatchFactory(query__project=project, pairs=1)
        judge_round(batch, [0], [4])
        judge_round(batch, [2], [2])
        pilot = BatchFactory(query__project=project, pairs=1)
        judge_round(pilot, [1], [1])
        type(pilot).objects.filter(pk=pilot.pk).update(is_pilot=True)
        assert known_pairs_enter(project_id=project.pk) == 0

    def test_the_sweep_enters_what_was_settled_lately_and_all_where_nothing_is_entered(self, project: Project) -> None:
        day = 24 * 60 * MINUTES
        for entered in (0, 1):
            batch = BatchFactory(query__project=project, pairs=1)
            judge_round(batch, [3], [3])
            batch.refresh_from_db()
            known_pairs_sweep(now=batch.done_at + 3 * day)
            assert KnownPair.objects.count() == 1
            known_pairs_sweep(now=batch.done_at + day)
            assert KnownPair.objects.count() == entered + 1


class TestUnseen:
    def test_pairs_of_closed_exams_serve_where_they_are_shown_and_not_retired(self, project: Project) -> None:
        first, second, third = closed_exam(project, [(0, 2.5, 4)]).known_pairs.order_by("pk")
        cohort_exam(project)  # no truth yet
        closed_exam(ProjectFactory(), [(2,)])
        pairs_add(project, queries=1, depth=2, truths=(1, 2), source="lead")  # for the tutorial alone
        user = annotator(project)
        assert unseen(project, user) == unseen(project, user, splits=["train"]) == {first.pk, second.pk, third.pk}
        known_pair_retire(pair=first, actor=lead(project), reason="Bad.", now=NOW)
        second.moment.preview_state, second.moment.preview_error = "failed", "gone"
        second.moment.save()
        assert unseen(project, user) == {third.pk}

    def test_what_an_attempt_holds_is_seen_by_its_person(self, project: Project) -> None:
        exam = cohort_exam(project)
        user, other = examinee(project), examinee(project)
        start(user, project)
        Exam.objects.filter(pk=exam.pk).update(state="closed", closed_at=NOW)
        KnownPair.objects.update(truth=Decimal(2))
        assert not unseen(project, user)
        assert len(unseen(project, other)) == 4

    def test_a_query_of_the_same_words_with_the_same_moment_is_seen(self, project: Project) -> None:
        known_pair = closed_exam(project, [(2,)]).known_pairs.get()
        duplicate = QueryFactory(project=project, text=known_pair.query.text, split="val")
        candidate = CandidateFactory(query=duplicate, moment=known_pair.moment)
        batch = BatchFactory(query=duplicate, pairs=0)
        PairFactory(batch=batch, candidate=candidate)
        user = annotator(project)
        assert unseen(project, user)
        take(batch, user)
        assert not unseen(project, user)

    def test_examples_and_the_tutorial_are_seen_by_all(self, project: Project) -> None:
        tutorial(project)
        first, second = closed_exam(project, [(2, 3)]).known_pairs.order_by("pk")
        guideline = project.guidelines.get()
        guideline.examples.create(grade=1, query_text=first.query.text, moment=first.moment)
        guideline.examples.create(grade=2, query_text=second.query.text, moment=MomentFactory())
        assert unseen(project, annotator(project)) == {second.pk}


def test_what_was_explained_before_stays_in_the_audit(project: Project) -> None:
    known_pair = closed_exam(project, [(2,)]).known_pairs.get()
    actor = lead(project)
    for words in ("First.", "Second.", "Second."):
        known_pair_explain(pair=known_pair, actor=actor, explanation=words)
    event_data = AuditEvent.objects.filter(action="known_pair.explain").order_by("pk").values_list("data", flat=True)
    assert [(row["was"], row["becomes"]) for row in event_data] == [("", "First."), ("First.", "Second.")]


class TestAnchors:
    def test_given_changed_and_taken_back_until_somebody_hands_in(self) -> None:
        exam = cohort_exam(queries=1, depth=2)
        boss = lead(exam.project)
        known_pair = exam.known_pairs.earliest("pk")
        for grade in (2, 2, 3, None):
            assert known_pair_anchor(pair=known_pair, actor=boss, grade=grade).anchor == grade
        actions = AuditEvent.objects.filter(action__startswith="known_pair.anchor").order_by("pk")
        assert [(event.action, event.data) for event in actions] == [
            ("known_pair.anchor", {"grade": 2}),
            ("known_pair.anchor", {"grade": 3, "was": "2"}),
            ("known_pair.anchor_remove", {"was": "3"}),
        ]
        begun = examinee(exam.project)
        give(begun, pairs_in_order(start(begun, exam.project))[0], 4)
        known_pair_anchor(pair=known_pair, actor=boss, grade=1)
        sit_all(exam, [2, 2])
        assert known_pairs_shown(project_id=exam.project_id) == set()  # a truth that is not revealed yet
        later = closed_exam(ProjectFactory(), [(2,)]).known_pairs.get()
        for pair, words in ((known_pair, "Somebody has handed in"), (later, "first cohort that is open")):
            with pytest.raises(NotPossibleNow, match=words):
                known_pair_anchor(pair=pair, actor=boss, grade=2)
        with pytest.raises(GradeUnknown, match="0 to 4"):
            known_pair_anchor(pair=later, actor=boss, grade=5)


class TestShownBefore:
    """A failed account is told truths; who comes back under another name is asked other pairs, as far as there are."""

    def test_pairs_never_shown_are_drawn_first(self, messages: Messages) -> None:
        project = later_exam([TRUTHS] * 5, queries=2).project
        first = failed(project, messages)
        assert first.shown_before == 0
        shown_ids = known_pairs_shown(project_id=project.pk)
        assert shown_ids == {known_pair.pk for known_pair in pairs_in_order(first)}, (
            "a grade that was no more than one off is told, too"
        )
        for _ in range(5):
            again = start(examinee(project), project)
            assert shown_ids.isdisjoint(again.known_ids)
            assert again.shown_before == 0
        assert known_pairs_shown(project_id=ProjectFactory().pk) == set()
        failed(project, messages)
        assert start(examinee(project), project).shown_before == 5  # of one query nothing was shown, of the other all

    def test_a_warm_up_shows_every_truth(self) -> None:
        project = ProjectFactory()
        exam = closed_exam(project, [TRUTHS])
        policy_publish(project=project, actor=None, warm_up=True)
        sit(annotator(project), project, right, purpose="warm-up")
        assert known_pairs_shown(project_id=project.pk) == set(exam.known_pairs.values_list("pk", flat=True))
