"""Exams: opened with their pairs, closed with the truth, reported, and passed or not."""

from decimal import Decimal

import pytest

from annotation.exceptions import NotPossible
from annotation.models import AuditEvent, Project, Query, StandingChange
from annotation.services.members import standing_change
from judging.exceptions import NotPossibleNow, SittingOver, TooFewPairs, Unfinished
from judging.models import Exam, KnownPair, Sitting
from judging.services.exams import exam_close, exam_create, exam_prepare, exam_report, exams_sweep
from judging.services.policies import policy_publish
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    CaptionFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    lead,
)
from tests.judging.exams import (
    EVERYBODY,
    asked,
    by_pair,
    closed_exam,
    cohort_exam,
    examinee,
    give,
    hand_in,
    regrade,
    sit,
    standing_of,
    start,
    tutorial,
)

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


def trained(queries: int = 4, moments: int = 5) -> Project:
    """A project with so many training queries, and moments to rank."""
    project = ProjectFactory()
    for place in range(moments):
        moment = MomentFactory(video__corpus=project.corpus)
        CaptionFactory(moment=moment, text=f"a person does thing {place}")
    for place in range(queries):
        QueryFactory(project=project, split=Query.Split.TRAIN, text=f"somebody does thing {place}")
    return project  # type: ignore[no-any-return]


class TestCreate:
    def test_a_cohort_is_asked_the_best_moments_of_random_training_queries(
        self, encoder: list[list[str]], messages: Messages
    ) -> None:
        project = trained()
        judged = QueryFactory(project=project, split=Query.Split.VAL)
        with messages():
            exam = exam_create(project=project, actor=lead(project), kind="cohort", queries=2, depth=3, seed=5)
        exam.refresh_from_db()
        pairs = list(exam.known_pairs.order_by("query", "rank"))
        assert (exam.state, exam.seed, exam.number) == ("open", 5, 1)
        assert [known.rank for known in pairs] == [1, 2, 3, 1, 2, 3]
        assert len({known.query_id for known in pairs}) == 2
        assert judged.pk not in {known.query_id for known in pairs}
        best = pairs[0]
        assert best.query.text.split()[-1] == best.moment.captions.get().text.split()[-1]

    def test_the_same_seed_draws_the_same_pairs(self, encoder: list[list[str]]) -> None:
        project, drawn = trained(queries=8), []
        for _ in range(2):
            exam = exam_create(project=project, actor=None, kind="cohort", queries=2, depth=2, seed=7)
            exam_prepare(exam_id=exam.pk)
            drawn.append(list(exam.known_pairs.order_by("pk").values_list("query", "moment", "rank")))
            exam.known_pairs.all().delete()
            exam.delete()
        assert drawn[0] == drawn[1]

    @pytest.mark.parametrize(
        ("queries", "depth", "words"),
        [(9, 2, "4 queries for an exam, where 9 are needed"), (2, 9, "Previews of 5 moments are ready")],
    )
    def test_what_cannot_be_drawn_fails_with_figures(
        self, encoder: list[list[str]], messages: Messages, queries: int, depth: int, words: str
    ) -> None:
        project = trained()
        with messages():
            exam = exam_create(project=project, actor=None, kind="cohort", queries=queries, depth=depth)
        exam.refresh_from_db()
        assert exam.state == "failed"
        assert words in exam.error
        exam_create(project=project, actor=None, kind="cohort", queries=1, depth=1)  # another may be tried

    def test_texts_that_everybody_saw_or_others_were_asked_are_not_drawn_again(self, encoder: list[list[str]]) -> None:
        project = trained(queries=3)
        first = exam_create(project=project, actor=None, kind="cohort", queries=1, depth=1, seed=1)
        exam_prepare(exam_id=first.pk)
        Exam.objects.filter(pk=first.pk).update(state="closed", closed_at=NOW)
        rest = project.queries.exclude(known_pairs__exam=first).first()
        assert rest is not None
        guideline = project.guidelines.get()
        guideline.examples.create(grade=1, query_text=rest.text, moment=MomentFactory())
        second = exam_create(project=project, actor=None, kind="cohort", queries=1, depth=1, seed=1)
        exam_prepare(exam_id=second.pk)
        texts = set(KnownPair.objects.filter(exam=second).values_list("query__text", flat=True))
        assert len(texts) == 1
        assert texts.isdisjoint({rest.text, *first.known_pairs.values_list("query__text", flat=True)})

    def test_a_lost_message_is_sent_again(self, encoder: list[list[str]], messages: Messages) -> None:
        project = trained()
        exam = exam_create(project=project, actor=None, kind="cohort", queries=1, depth=1)
        Exam.objects.filter(pk=exam.pk).update(created_at=NOW)
        with messages():
            exams_sweep(now=NOW + 2 * MINUTES)
        exam.refresh_from_db()
        assert exam.state == "open"

    def test_one_exam_at_a_time(self) -> None:
        exam = cohort_exam()
        with pytest.raises(NotPossibleNow, match="Close the exam"):
            exam_create(project=exam.project, actor=None, kind="stored")

    def test_stored_truth_opens_at_once_where_there_is_enough(self) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS, TRUTHS])
        exam = exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
        assert exam.state == "open"
        assert not exam.known_pairs.exists()

    @pytest.mark.parametrize("unfit", ["few", "open", "retired", "val"])
    def test_too_few_known_pairs_are_refused_with_figures(self, unfit: str) -> None:
        project = ProjectFactory()
        exam = closed_exam(project, [TRUTHS])
        if unfit == "open":
            Exam.objects.filter(pk=exam.pk).update(state="failed", closed_at=None)
        if unfit == "retired":
            KnownPair.objects.filter(truth=2).update(is_retired=True)
        if unfit == "val":
            project.queries.update(split="val")
        with pytest.raises(TooFewPairs, match=r"\d, where \d"):
            exam_create(project=project, actor=None, kind="stored", queries=2 if unfit == "few" else 1, depth=5)

    @pytest.mark.parametrize("values", [{"kind": "oral"}, {"queries": 0}, {"depth": 41}])
    def test_out_of_range(self, values: dict[str, object]) -> None:
        with pytest.raises(ValueError):
            exam_create(project=ProjectFactory(), actor=None, **{"kind": "cohort", **values})  # type: ignore[arg-type]


class TestClose:
    def test_truth_is_the_median_of_first_grades(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=3)
        people = [examinee(exam.project) for _ in range(4)]
        for user, grades in zip(people, ([0, 4, 2], [1, 4, 2], [2, 0, 3], [3, 4, 3]), strict=True):
            assert sit(user, exam.project, by_pair(exam, grades)).state == "waiting"
        with messages():
            exam_close(exam=exam, actor=lead(exam.project))
        truths = list(exam.known_pairs.order_by("pk").values_list("truth", flat=True))
        assert truths == [Decimal("1.5"), Decimal("4"), Decimal("2.5")]
        states = list(exam.sittings.order_by("pk").values_list("state", flat=True))
        assert states == ["feedback", "done", "feedback", "feedback"]  # 0, 0 and 3 are 1.5 and 4 away

    def test_it_asks_while_people_are_unfinished_and_names_them(self, messages: Messages) -> None:
        exam = cohort_exam()
        for _ in range(3):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        late, absent = examinee(exam.project), examinee(exam.project)
        give(late, asked(start(late, exam.project))[0], 2)
        with pytest.raises(Unfinished) as caught:
            exam_close(exam=exam, actor=lead(exam.project))
        numbers = sorted(user.memberships.get().number for user in (late, absent))
        assert caught.value.numbers == numbers
        assert all(str(number) in str(caught.value) for number in numbers)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        missed = Sitting.objects.get(annotator=late)
        assert (missed.state, missed.passed) == ("missed", None)
        assert standing_of(late) == "exam"

    def test_grades_of_who_missed_it_do_not_count(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=2)
        for grade in (1, 2, 3):
            sit(examinee(exam.project), exam.project, by_pair(exam, [grade, grade]))
        late = examinee(exam.project)
        give(late, asked(start(late, exam.project))[0], 4)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        assert set(exam.known_pairs.values_list("truth", flat=True)) == {Decimal(2)}

    def test_what_is_complete_is_handed_in_by_closing(self, messages: Messages) -> None:
        exam = cohort_exam()
        for _ in range(2):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        third = examinee(exam.project)
        for known in asked(start(third, exam.project)):
            give(third, known, 2)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        assert Sitting.objects.get(annotator=third).state == "done"

    def test_fewer_than_three_make_no_truth(self) -> None:
        exam = cohort_exam()
        for _ in range(2):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        with pytest.raises(NotPossible, match="2 of at least 3"):
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        assert not KnownPair.objects.exclude(truth=None).exists()

    def test_closing_again_changes_nothing(self, messages: Messages) -> None:
        exam = cohort_exam()
        for _ in range(3):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        for _ in range(2):
            with messages():
                exam_close(exam=exam, actor=lead(exam.project))
        assert AuditEvent.objects.filter(action="exam.close").count() == 1
        exam.refresh_from_db()
        before = exam.report
        assert exam_report(exam_id=exam.pk).report == before

    def test_a_grade_after_closing_is_refused(self, messages: Messages) -> None:
        exam = cohort_exam()
        for _ in range(3):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        late = examinee(exam.project)
        pair = asked(start(late, exam.project))[0]
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        with pytest.raises(SittingOver, match="closed before"):
            give(late, pair, 2)

    def test_pairs_taken_out_have_no_truth_and_are_not_asked_for(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=2)
        bad = exam.known_pairs.order_by("pk")[0]
        KnownPair.objects.filter(pk=bad.pk).update(is_retired=True)
        for _ in range(3):
            user = examinee(exam.project)
            sitting = start(user, exam.project)
            assert bad.pk not in sitting.known_ids
            give(user, asked(sitting)[0], 3)
            hand_in(sitting)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project))
        assert list(exam.known_pairs.order_by("pk").values_list("truth", flat=True)) == [None, Decimal(3)]

    def test_people_of_a_stored_exam_who_are_not_done_miss_it(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS])
        exam = exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        sitting = start(user, project)
        with pytest.raises(Unfinished):
            exam_close(exam=exam, actor=lead(project))
        exam_close(exam=exam, actor=lead(project), confirmed=EVERYBODY)
        sitting.refresh_from_db()
        assert sitting.state == "missed"


class TestResult:
    def cohort(self, messages: Messages, *, last: list[int]) -> tuple[Exam, Sitting]:
        """Two who agree, one nearly, and somebody who gives ``last``; the exam is closed."""
        exam = cohort_exam(queries=2, depth=5)
        agreed = [0, 1, 2, 3, 4, 4, 3, 2, 1, 0]
        for grades in (agreed, agreed, [0, 1, 2, 3, 4, 4, 3, 2, 1, 1]):
            sit(examinee(exam.project), exam.project, by_pair(exam, grades))
        other = sit(examinee(exam.project), exam.project, by_pair(exam, last))
        with messages():
            exam_close(exam=exam, actor=lead(exam.project))
        exam.refresh_from_db()
        other.refresh_from_db()
        return exam, other

    def test_who_is_aligned_everywhere_is_qualified_as_the_round_closes(self, messages: Messages) -> None:
        exam, _ = self.cohort(messages, last=[0, 1, 2, 3, 4, 4, 3, 2, 1, 0])
        assert set(exam.sittings.values_list("state", "passed")) == {("done", True)}
        reasons = StandingChange.objects.filter(to_standing="qualified").values_list("reason", flat=True)
        assert len(reasons) == 4
        assert all("Passed exam 1: Quadratic kappa" in reason for reason in reasons)
        assert exam.report["misaligned"] == 0
        assert exam.report["n"] == 4

    def test_nobody_passes_before_all_feedback_is_done(self, messages: Messages) -> None:
        _, other = self.cohort(messages, last=[2, 1, 2, 3, 4, 4, 3, 2, 1, 0])
        assert (other.state, other.passed, standing_of(other.annotator)) == ("feedback", None, "exam")
        assert other.report["misaligned"] == pytest.approx(0.1)
        assert other.report["after_feedback"] is None
        with messages():
            regrade(other)
        other.refresh_from_db()
        assert (other.state, other.passed, standing_of(other.annotator)) == ("done", True, "qualified")
        assert other.report["after_feedback"]["quadratic"]["value"] > other.report["kappas"]["quadratic"]["value"]

    def test_a_kappa_below_the_policy_fails_and_says_why(self, messages: Messages) -> None:
        exam, other = self.cohort(messages, last=[4, 3, 2, 1, 0, 0, 1, 2, 3, 4])
        with messages():
            regrade(other)
        other.refresh_from_db()
        assert (other.passed, standing_of(other.annotator)) == (False, "exam")
        assert "is below 0.40" in other.report["why"]
        exam.refresh_from_db()
        assert exam.report["after_feedback"] is not None

    def test_first_grades_count_however_good_the_later_ones_are(self, messages: Messages) -> None:
        _, other = self.cohort(messages, last=[4, 3, 2, 1, 0, 0, 1, 2, 3, 4])
        before = other.report["kappas"]
        with messages():
            regrade(other)
        other.refresh_from_db()
        assert other.report["kappas"] == before

    def test_stored_truth_is_evaluated_at_once(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS, TRUTHS])
        exam = exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
        user = examinee(project)
        with messages():
            sitting = sit(user, project, lambda known: int(known.truth or 0))
        sitting.refresh_from_db()
        assert (sitting.state, sitting.passed, standing_of(user)) == ("done", True, "qualified")
        assert sitting.report["pairwise"] is None
        exam.refresh_from_db()
        assert (exam.state, exam.report["n"]) == ("open", 1)

    def test_the_same_grade_everywhere_has_no_kappa_and_does_not_pass(self, messages: Messages) -> None:
        project = ProjectFactory()
        policy_publish(project=project, actor=None, exam_kappa=-1)
        closed_exam(project, [(2, 2, 2, 2, 2)])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        with messages():
            sitting = sit(user, project, lambda known: 2)
        sitting.refresh_from_db()
        assert sitting.report["kappas"]["quadratic"]["value"] is None
        assert (sitting.passed, standing_of(user)) == (False, "exam")
        assert "cannot be computed" in sitting.report["why"]

    def test_a_retake_asks_for_pairs_never_seen_as_often_as_the_policy_lets(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS, TRUTHS, TRUTHS])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        seen: set[int] = set()
        for _ in range(2):
            with messages():
                sitting = sit(user, project, lambda known: 4 - int(known.truth or 0))
            assert seen.isdisjoint(sitting.known_ids)
            seen |= set(sitting.known_ids)
            with messages():
                regrade(sitting)
            sitting.refresh_from_db()
            assert sitting.passed is False
        with pytest.raises(NotPossible, match="no attempt left"):
            start(user, project)

    def test_a_retake_without_enough_unseen_pairs_says_so(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        with messages():
            sitting = sit(user, project, lambda known: 4 - int(known.truth or 0))
            regrade(sitting)
        with pytest.raises(TooFewPairs, match="Too few pairs of known truth not seen before: 0"):
            start(user, project)

    def test_who_comes_back_from_a_suspension_sits_anew(self, messages: Messages) -> None:
        _, other = self.cohort(messages, last=[0, 1, 2, 3, 4, 4, 3, 2, 1, 0])
        member = other.annotator.memberships.get()
        for standing in ("suspended", "exam"):
            standing_change(membership=member, to=standing, actor=None, reason="Not at it.")
        with pytest.raises(NotPossible, match="No exam is open"):
            start(other.annotator, other.project)
        assert standing_of(other.annotator) == "exam"


def test_the_tutorial_comes_first() -> None:
    project = ProjectFactory()
    tutorial(project)
    cohort_exam(project)
    user = examinee(project, "training")
    with pytest.raises(NotPossible, match="First do the tutorial"):
        start(user, project)
