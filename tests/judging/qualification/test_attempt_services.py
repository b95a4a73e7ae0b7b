"""Sittings: who may begin which, what becomes of a grade, and when they end."""

from decimal import Decimal
from itertools import pairwise
from uuid import uuid4

import pytest

from accounts.models import Membership, Project, StandingChange
from accounts.services.members import status_change
from core.exceptions import NotPossible
from judging.exceptions import (
    AssignmentIncomplete,
    AttemptOver,
    FormStale,
    GuidelineStale,
    GuidelineUnconfirmed,
    NotAnnotator,
    NotAssigned,
    PairWithdrawn,
    TooFewPairs,
    WarmUpDue,
)
from judging.guidelines.services import guideline_confirm, guideline_publish, policy_publish
from judging.models import KnownPair, Sitting, SittingGrade
from judging.qualification.selectors.sittings import attempt_of
from judging.qualification.services.exams import known_pair_retire
from judging.qualification.services.onboarding import onboarding_advance
from judging.work.rules import attempt_key
from judging.work.services.assignments import assignment_take
from tests.factories import MINUTES, NOW, BatchFactory, ProjectFactory, annotator, lead
from tests.judging.exams import (
    closed_exam,
    cohort_exam,
    examinee,
    give,
    hand_in,
    in_feedback,
    newcomer,
    pairs_in_order,
    sit,
    start,
    status_of,
    tutorial,
)

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


class TestStart:
    def test_two_tabs_start_one_attempt(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        assert start(user, project) == start(user, project)
        assert Sitting.objects.count() == 1

    def test_everybody_of_a_cohort_grades_the_same_in_an_order_of_their_own(self, project: Project) -> None:
        cohort_exam(project, queries=4, depth=5)
        orders = [start(examinee(project), project).known_ids for _ in range(3)]
        assert len({tuple(sorted(order)) for order in orders}) == 1
        assert len({tuple(order) for order in orders}) == 3

    def test_the_pairs_of_a_query_come_together(self, project: Project) -> None:
        cohort_exam(project, queries=4, depth=5)
        queries = [known_pair.query_id for known_pair in pairs_in_order(start(examinee(project), project))]
        assert sum(a != b for a, b in pairwise(queries)) == 3

    def test_whoever_handed_in_does_not_sit_the_round_again(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        attempt = sit(user, project, lambda known_pair: 2)
        assert start(user, project) == attempt

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            ("training", "confirm the guideline|do the tutorial"),
            ("suspended", "suspended"),
            ("left", "have left"),
            ("qualified", "qualified"),
        ],
    )
    def test_the_exam_is_for_who_has_come_so_far(self, project: Project, status: str, words: str) -> None:
        cohort_exam(project)
        tutorial(project)
        with pytest.raises(NotPossible, match=words):
            start(examinee(project, status), project)
        assert not Sitting.objects.exists()

    def test_the_guideline_comes_before_the_tutorial(self, project: Project) -> None:
        tutorial(project)
        user = newcomer(project)
        with pytest.raises(GuidelineUnconfirmed):
            start(user, project, "tutorial")
        guideline_confirm(project=project, annotator=user, version=1)
        assert start(user, project, "tutorial").known_ids == [
            known_pair.pk for known_pair in KnownPair.objects.order_by("pk")
        ]

    def test_only_annotators_sit(self, project: Project) -> None:
        cohort_exam(project)
        for user in (lead(project), examinee(ProjectFactory())):
            with pytest.raises(NotAnnotator):
                start(user, project)

    def test_a_tutorial_that_was_done_is_not_begun_again(self, project: Project) -> None:
        tutorial(project)
        user = examinee(project, "training")
        attempt = sit(user, project, lambda known_pair: 4, purpose="tutorial")
        Membership.objects.filter(user=user).update(standing="training")
        assert start(user, project, "tutorial") == attempt


class TestGrade:
    def test_a_form_sent_again_is_one_grade(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        first = pairs_in_order(start(user, project))[0]
        key = attempt_key(attempt=Sitting.objects.get().uuid, pair=first.uuid, last=None)
        Sitting.objects.update(created_at=NOW - MINUTES)
        answers = [give(user, first, 3, key=key, active_ms=900, now=NOW) for _ in range(2)]
        assert [index for _, index in answers] == [1, 1]
        row = SittingGrade.objects.get()
        assert (row.uuid, row.grade, row.active_ms, row.position) == (key, 3, 900, 1)

    def test_a_form_that_does_not_know_the_last_grade_is_stale(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        first = pairs_in_order(start(user, project))[0]
        key = attempt_key(attempt=Sitting.objects.get().uuid, pair=first.uuid, last=None)
        give(user, first, 3, key=key)
        for other in (key, uuid4()):
            with pytest.raises(FormStale):
                give(user, first, 1, key=other)
        assert SittingGrade.objects.get().grade == 3

    def test_nobody_is_at_a_pair_for_longer_than_it_was_shown(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        attempt = start(user, project)
        Sitting.objects.update(created_at=NOW - MINUTES)
        first, second, *_ = pairs_in_order(attempt)
        give(user, first, 3, active_ms=10**9, now=NOW)
        give(user, second, 3, now=NOW + 2 * MINUTES)
        assert list(attempt.grades.order_by("position").values_list("active_ms", flat=True)) == [60_000, 120_000]

    def test_first_grades_change_until_they_are_handed_in(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        attempt = start(user, project)
        Sitting.objects.update(created_at=NOW - MINUTES)
        for index, known_pair in enumerate(pairs_in_order(attempt)):
            give(user, known_pair, 3, active_ms=100, now=NOW + index * MINUTES)
        give(user, pairs_in_order(attempt)[0], 1, active_ms=50, now=NOW + 9 * MINUTES)
        hand_in(attempt)
        assert [row.grade for row in attempt.grades.order_by("position")] == [1, 3, 3, 3]
        assert attempt.grades.get(position=1).active_ms == 150
        with pytest.raises(AttemptOver, match="handed in"):
            give(user, pairs_in_order(attempt)[0], 2)

    def test_handing_in_needs_every_grade_and_happens_once(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        attempt = start(user, project)
        give(user, pairs_in_order(attempt)[0], 3)
        with pytest.raises(AssignmentIncomplete, match="3 pairs still need"):
            hand_in(attempt)
        for known_pair in pairs_in_order(attempt):
            give(user, known_pair, 3)
        hand_in(attempt)
        hand_in(attempt, now=NOW + MINUTES)
        attempt.refresh_from_db()
        assert (attempt.state, attempt.graded_at) == ("waiting", NOW)

    @pytest.mark.parametrize("grade", [-1, 5])
    def test_out_of_range(self, project: Project, grade: int) -> None:
        cohort_exam(project)
        user = examinee(project)
        with pytest.raises(ValueError):
            give(user, pairs_in_order(start(user, project))[0], grade)

    def test_pairs_of_others_are_none_of_ones_business(self, project: Project) -> None:
        cohort_exam(project)
        attempt = start(examinee(project), project)
        with pytest.raises(NotAssigned):
            give(examinee(project), pairs_in_order(attempt)[0], 2)

    def test_whoever_is_suspended_gives_no_grade(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        attempt = start(user, project)
        status_change(membership=user.memberships.get(), to="suspended", actor=None)
        with pytest.raises(NotAnnotator):
            give(user, pairs_in_order(attempt)[0], 2)

    def test_a_pair_taken_out_needs_no_grade(self, project: Project) -> None:
        cohort_exam(project)
        user = examinee(project)
        attempt = start(user, project)
        bad, *rest = pairs_in_order(attempt)
        known_pair_retire(pair=bad, actor=lead(project), reason="The clip is black.", now=NOW)
        with pytest.raises(PairWithdrawn):
            give(user, bad, 2)
        for known_pair in rest:
            give(user, known_pair, 2)
        assert hand_in(attempt).state == "waiting"

    def test_what_is_revealed_at_once_is_final(self, project: Project) -> None:
        pairs = tutorial(project)
        user = examinee(project, "training")
        start(user, project, "tutorial")
        open_attempt, _ = give(user, pairs[0], 0)
        assert open_attempt.shows_truth_of(open_attempt.pairs[0])
        assert not open_attempt.shows_truth_of(open_attempt.pairs[1])
        with pytest.raises(AttemptOver):
            give(user, pairs[0], 4)


class TestFeedback:
    def test_every_attempt_is_saved_until_aligned(self, project: Project) -> None:
        user = annotator(project)
        attempt = in_feedback(user, project)  # a 0 where the truth is 4
        known_pair = pairs_in_order(attempt)[0]
        assert give(user, known_pair, 1)[1] == 0
        assert give(user, known_pair, 2)[1] == 0
        assert give(user, known_pair, 3)[1] is None
        assert list(attempt.grades.order_by("attempt").values_list("grade", flat=True)) == [0, 1, 2, 3]
        attempt.refresh_from_db()
        assert (attempt.state, attempt.ended_at) == ("done", NOW)
        with pytest.raises(AttemptOver):
            give(user, known_pair, 4)

    def test_only_misaligned_pairs_come_back(self, project: Project) -> None:
        user = annotator(project)
        attempt = in_feedback(user, project)
        other = closed_exam(project, [(2,)]).known_pairs.get()
        Sitting.objects.filter(pk=attempt.pk).update(known_ids=[other.pk, *attempt.known_ids])
        open_attempt = attempt_of(annotator_id=user.pk, attempt=attempt.uuid)
        assert open_attempt is not None
        assert [pair_view.truth for pair_view in open_attempt.misaligned] == [Decimal(4)]
        with pytest.raises(AttemptOver, match="not in your feedback round"):
            give(user, other, 2)

    def test_the_last_pair_taken_out_ends_it(self, project: Project) -> None:
        attempt = in_feedback(annotator(project), project)
        for _ in range(2):
            known_pair_retire(
                pair=pairs_in_order(attempt)[0], actor=lead(project), reason="Two people in one.", now=NOW
            )
        attempt.refresh_from_db()
        assert attempt.state == "done"


class TestSteps:
    def test_each_step_is_recorded_with_its_reason(self, project: Project) -> None:
        tutorial(project)
        user = newcomer(project)
        onboarding_advance(project=project, annotator=user)
        guideline_confirm(project=project, annotator=user, version=1)
        assert status_of(user) == "training"
        sit(user, project, lambda known_pair: 2, purpose="tutorial")
        assert status_of(user) == "exam"
        steps = StandingChange.objects.filter(membership__user=user).values_list("from_standing", "to_standing")
        assert list(steps) == [("candidate", "training"), ("training", "exam")]
        assert StandingChange.objects.last().reason == "Confirmed the guideline and did the tutorial."  # type: ignore[union-attr]

    def test_asking_again_changes_nothing(self, project: Project) -> None:
        user = newcomer(project)
        for _ in range(3):
            onboarding_advance(project=project, annotator=user)
        assert StandingChange.objects.count() == 1

    def test_strangers_and_leads_have_no_steps(self, project: Project) -> None:
        assert onboarding_advance(project=project, annotator=lead(project)) is None
        assert onboarding_advance(project=project, annotator=annotator(ProjectFactory())) is None

    def test_a_new_version_of_the_guideline_is_confirmed_before_the_exam(self, project: Project) -> None:
        user = newcomer(project, "training")
        guideline_publish(project=project, actor=None, body="New.", levels=["a", "b", "c", "d", "e"])
        with pytest.raises(GuidelineStale):
            guideline_confirm(project=project, annotator=user, version=1)
        guideline_confirm(project=project, annotator=user, version=2)
        assert status_of(user) == "exam"


class TestWarmUp:
    def warm(self, project: Project, **values: object) -> None:
        policy_publish(project=project, actor=None, **{"warm_up": True, **values})
        BatchFactory(query__project=project)

    def test_a_batch_waits_for_it(self, project: Project) -> None:
        self.warm(project)
        closed_exam(project, [TRUTHS])
        user = annotator(project)
        with pytest.raises(WarmUpDue):
            assignment_take(project=project, annotator=user)
        sit(user, project, lambda known_pair: 2, purpose="warm-up")
        assert Sitting.objects.get().state == "done"
        assert assignment_take(project=project, annotator=user)

    def test_one_that_was_begun_is_finished_first(self, project: Project) -> None:
        self.warm(project)
        closed_exam(project, [TRUTHS])
        user = annotator(project)
        attempt = start(user, project, "warm-up")
        give(user, pairs_in_order(attempt)[0], 2)
        with pytest.raises(WarmUpDue):
            assignment_take(project=project, annotator=user)
        assert start(user, project, "warm-up") == attempt

    def test_a_session_that_goes_on_needs_none(self, project: Project) -> None:
        self.warm(project, warm_up_hours=8)
        closed_exam(project, [TRUTHS])
        user = annotator(project)
        sit(user, project, lambda known_pair: 2, purpose="warm-up")
        graded_at = SittingGrade.objects.latest("created_at").created_at
        with pytest.raises(TooFewPairs):
            start(user, project, "warm-up")
        assert assignment_take(project=project, annotator=user, now=graded_at + 479 * MINUTES)

    def test_none_where_the_project_asks_for_none(self, project: Project) -> None:
        self.warm(project, warm_up=False)
        closed_exam(project, [TRUTHS])
        user = annotator(project)
        with pytest.raises(NotPossible, match="No warm-up is due"):
            start(user, project, "warm-up")
        assert assignment_take(project=project, annotator=user)

    def test_too_few_unseen_pairs_stop_nobody(self, project: Project) -> None:
        self.warm(project)
        closed_exam(project, [TRUTHS[:4]])
        assert assignment_take(project=project, annotator=annotator(project))
