"""Exams: opened with their pairs, closed with the truth, reported, and passed or not."""

import random
from decimal import Decimal
from statistics import median

import pytest

from accounts.models import Project, StatusChange
from accounts.services.members import status_change
from annotation.models import Query
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.exceptions import AttemptOver, NotPossibleNow, TooFewPairs, Unfinished
from judging.guidelines.services import policy_publish
from judging.models import Exam, ExamAttempt, KnownPair
from judging.qualification.rules.passing import MISALIGNED
from judging.qualification.rules.truth import Distance
from judging.qualification.selectors.exam_attempts import onboarding_facts
from judging.qualification.selectors.exams import (
    exam_anchor_rows,
    exam_pairs,
    known_pairs_in_stock,
)
from judging.qualification.services.exam_attempts import missed_exam_count
from judging.qualification.services.exams import EXAMS, exam_close, exam_create, exam_prepare, known_pair_anchor
from judging.qualification.services.reports import exam_report
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    CaptionFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    UserFactory,
    lead,
)
from tests.judging.exams import (
    EVERYBODY,
    closed_by,
    closed_exam,
    cohort_exam,
    examinee,
    give,
    later_exam,
    opposite,
    pairs_in_order,
    regrade,
    right,
    sit,
    sit_all,
    start,
    status_of,
)

pytestmark = pytest.mark.django_db
TRUTHS = (0, 1, 2, 3, 4)


def trained(queries: int = 4, moments: int = 5) -> Project:
    """A project with so many training queries, and moments to rank."""
    project = ProjectFactory()
    for index in range(moments):
        moment = MomentFactory(video__corpus=project.dataset.corpus)
        CaptionFactory(moment=moment, text=f"a person does thing {index}")
    for index in range(queries):
        QueryFactory(project=project, split=Query.Split.TRAIN, text=f"somebody does thing {index}")
    return project  # type: ignore[no-any-return]


def truths_of(exam: Exam) -> list[Decimal | None]:
    return list(exam.known_pairs.order_by("pk").values_list("truth", flat=True))


class TestCreate:
    def test_a_cohort_grades_the_best_moments_of_random_training_queries(
        self, encoder: list[list[str]], messages: Messages
    ) -> None:
        project = trained()
        judged = QueryFactory(project=project, split=Query.Split.VAL)
        with messages():
            exam = exam_create(project=project, actor=lead(project), kind="cohort", queries=2, depth=3, seed=5)
        exam.refresh_from_db()
        pairs = list(exam.known_pairs.order_by("query", "rank"))
        assert (exam.state, exam.seed, exam.number) == ("open", 5, 1)
        assert [known_pair.rank for known_pair in pairs] == [1, 2, 3, 1, 2, 3]
        assert len({known_pair.query_id for known_pair in pairs}) == 2
        assert judged.pk not in {known_pair.query_id for known_pair in pairs}
        best = pairs[0]
        assert best.query.text.split()[-1] == best.moment.captions.get().text.split()[-1]

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

    def test_texts_that_everybody_saw_or_others_graded_are_not_drawn_again(self, encoder: list[list[str]]) -> None:
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

    def test_a_lost_message_is_sent_again_and_the_seed_decides(
        self, encoder: list[list[str]], messages: Messages
    ) -> None:
        project, draws = trained(queries=8), []
        for _ in range(2):
            exam = exam_create(project=project, actor=None, kind="cohort", queries=2, depth=2, seed=7)
            with pytest.raises(NotPossibleNow, match="Close the exam"):
                exam_create(project=project, actor=None, kind="stored")
            Exam.objects.filter(pk=exam.pk).update(created_at=NOW)
            with messages():
                EXAMS.sweep(NOW + 2 * MINUTES)
            draws.append(list(exam.known_pairs.order_by("pk").values_list("query", "moment", "rank")))
            exam.known_pairs.all().delete()
            exam.delete()
        assert draws[0] == draws[1] != []

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

    def test_out_of_range(self) -> None:
        for kind, queries, depth in (("oral", 1, 1), ("cohort", 0, 1), ("cohort", 1, 41)):
            with pytest.raises(ValueError):
                exam_create(project=ProjectFactory(), actor=None, kind=kind, queries=queries, depth=depth)
        with pytest.raises(ValueError):
            exam_close(exam=cohort_exam(), actor=UserFactory(), truth_rule="loudest")


class TestClose:
    def test_truth_is_the_median_of_first_grades(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=3)
        attempts = sit_all(exam, [0, 4, 2], [1, 4, 2], [2, 0, 3], [3, 4, 3])
        assert {attempt.state for attempt in attempts} == {"waiting"}
        closed_by(exam, messages)
        assert truths_of(exam) == [Decimal("1.5"), Decimal("4"), Decimal("2.5")]
        states = list(exam.attempts.order_by("pk").values_list("state", flat=True))
        assert states == ["feedback", "done", "feedback", "feedback"]  # 0, 0 and 3 are 1.5 and 4 away

    def test_it_asks_while_people_are_unfinished_and_leaves_their_grades_out(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=2)
        sit_all(exam, [1, 1], [2, 2], [3, 3])
        late, unseen = examinee(exam.project), examinee(exam.project)
        pairs = pairs_in_order(start(late, exam.project))
        give(late, pairs[0], 4)
        with pytest.raises(Unfinished) as caught:
            exam_close(exam=exam, actor=lead(exam.project))
        numbers = sorted(user.memberships.get().number for user in (late, unseen))
        assert caught.value.numbers == numbers
        assert all(str(number) in str(caught.value) for number in numbers)
        closed_by(exam, messages, confirmed=EVERYBODY)
        missed = ExamAttempt.objects.get(annotator=late)
        assert (missed.state, missed.passed, status_of(late)) == ("missed", None, "exam")
        assert truths_of(exam) == [2, 2]
        with pytest.raises(AttemptOver, match="closed before"):
            give(late, pairs[1], 2)

    def test_what_is_complete_is_handed_in_by_closing_again_changes_nothing(self, messages: Messages) -> None:
        exam = cohort_exam()
        sit_all(exam, [2, 2, 2, 2], [2, 2, 2, 2])
        with pytest.raises(NotPossible, match="2 of at least 3"):
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        assert truths_of(exam) == [None] * 4
        third = examinee(exam.project)
        for known_pair in pairs_in_order(start(third, exam.project)):
            give(third, known_pair, 2)
        for _ in range(2):
            closed_by(exam, messages, confirmed=EVERYBODY)
        assert ExamAttempt.objects.get(annotator=third).state == "done"
        assert AuditEvent.objects.filter(action="exam.close").count() == 1
        assert exam_report(exam_id=exam.pk).report == exam.report

    @pytest.mark.parametrize("people", [0, 1, 2])
    def test_an_exam_of_too_few_is_called_off(self, messages: Messages, people: int) -> None:
        """Nobody has a truth, a result, or one attempt less; another exam can be opened."""
        exam = cohort_exam()
        came = [attempt.annotator for attempt in sit_all(exam, *[[2, 2, 2, 2]] * people)]
        late = examinee(exam.project)
        start(late, exam.project)
        closed_by(exam, messages, confirmed=EVERYBODY, call_off=True)
        assert exam.state == "closed"
        assert truths_of(exam) == [None] * 4
        assert {attempt.passed for attempt in exam.attempts.all()} == {None}
        assert all(attempt.has_no_result for attempt in exam.attempts.filter(annotator__in=came))
        another = cohort_exam(exam.project, queries=1, depth=1)
        for user in (*came, late):
            assert start(user, exam.project).exam_id == another.pk

    def test_an_exam_that_enough_people_sat_is_not_called_off(self) -> None:
        """The page that offered it may be older than the third person's last grade."""
        exam = cohort_exam()
        sit_all(exam, *[[2, 2, 2, 2]] * 3)
        with pytest.raises(NotPossible, match="3 people have given all grades by now"):
            exam_close(exam=exam, actor=lead(exam.project), call_off=True)
        exam.refresh_from_db()
        assert exam.state == "open"

    def test_pairs_taken_out_have_no_truth_and_are_not_required(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=2)
        bad = exam.known_pairs.order_by("pk")[0]
        KnownPair.objects.filter(pk=bad.pk).update(is_retired=True)
        for _ in range(3):
            assert bad.pk not in sit(examinee(exam.project), exam.project, lambda pair: 3).known_ids
        assert truths_of(closed_by(exam, messages)) == [None, Decimal(3)]

    def test_people_of_an_exam_of_known_truth_who_are_not_done_miss_it(self) -> None:
        exam = later_exam([TRUTHS])
        attempt = start(examinee(exam.project), exam.project)
        with pytest.raises(Unfinished):
            exam_close(exam=exam, actor=lead(exam.project))
        exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        attempt.refresh_from_db()
        assert attempt.state == "missed"


class TestMissed:
    """One rule: a missed exam costs an attempt only if the lead says so."""

    def missed(self, messages: Messages, *, graded: int = 1) -> ExamAttempt:
        """Somebody with one attempt whose later exam was closed before they had given all grades."""
        project = ProjectFactory()
        policy_publish(project=project, actor=None, exam_attempts=1)
        exam = later_exam([TRUTHS, TRUTHS], project=project)
        attempt = start(examinee(project), project)
        for known_pair in pairs_in_order(attempt)[:graded]:
            give(attempt.annotator, known_pair, 2)
        closed_by(exam, messages, confirmed=EVERYBODY)
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        attempt.refresh_from_db()
        return attempt

    @pytest.mark.parametrize("graded", [0, 1, 4])
    def test_it_costs_no_attempt_unless_a_lead_lets_it_count(self, messages: Messages, graded: int) -> None:
        missed = self.missed(messages, graded=graded)
        actor, number = lead(missed.project), missed.annotator.memberships.get().number
        assert onboarding_facts(project_id=missed.project_id, annotator_id=missed.annotator_id).attempts_left == 1
        for _ in range(2):
            missed_exam_count(attempt=missed, actor=actor, counts=True, reason="Saw the pairs and went.")
        with pytest.raises(NotPossible, match="no attempt left"):
            start(missed.annotator, missed.project)
        missed_exam_count(attempt=missed, actor=actor, counts=False, reason="Was ill.")
        assert start(missed.annotator, missed.project).pk != missed.pk
        events = AuditEvent.objects.filter(action__startswith="exam.missed_counts").order_by("pk")
        assert [(row.action, row.data["annotator"], row.data["reason"]) for row in events] == [
            ("exam.missed_counts", number, "Saw the pairs and went."),
            ("exam.missed_counts_not", number, "Was ill."),
        ]

    def test_nothing_else_is_counted_by_a_lead(self, messages: Messages) -> None:
        missed = self.missed(messages)
        actor = lead(missed.project)
        with pytest.raises(NotPossible, match="Say why"):
            missed_exam_count(attempt=missed, actor=actor, counts=True, reason=" ")
        running = start(missed.annotator, missed.project)
        with pytest.raises(NotPossible, match="Only an exam that was missed"):
            missed_exam_count(attempt=running, actor=actor, counts=True, reason="No.")
        with pytest.raises(NotPossibleNow, match="sits an exam now"):
            missed_exam_count(attempt=missed, actor=actor, counts=True, reason="No.")
        assert not AuditEvent.objects.filter(action__startswith="exam.missed_counts").exists()

    def test_the_grades_shown_are_those_that_make_the_truth(self, messages: Messages) -> None:
        """Three people and one who went away; with the fourth the medians of these pairs are others."""
        exam = cohort_exam(queries=2, depth=5)
        sit_all(exam, [0, 1, 2, 3, 4] * 2, [1, 1, 2, 2, 4] * 2, [0, 2, 3, 3, 3] * 2)
        late = examinee(exam.project)
        for known_pair in pairs_in_order(start(late, exam.project))[:9]:
            give(late, known_pair, 4 - (known_pair.rank or 0) % 2 * 4)
        rows = exam_pairs(closed_by(exam, messages, confirmed=EVERYBODY))
        assert len(rows) == 10
        for row in rows:
            assert float(row.known.truth or 0) == median(grade for _, grade, _ in row.grades)


class TestTruthRule:
    """Two who agree on what is not so, and three careful people: 4 pairs whose true grades are 0 to 3."""

    def exam_taken(self, others: int = 3) -> Exam:
        exam = cohort_exam(queries=1, depth=4)
        sit_all(exam, *[[4, 4, 0, 0]] * 2, *[[0, 1, 2, 3]] * others)
        return exam

    @pytest.mark.parametrize(
        ("others", "truth_rule", "truths"),
        [
            (1, "median", [4, 4, 0, 0]),  # the hole that the other rule closes
            (1, "agreeing", [None] * 4),
            (3, "agreeing", [0, 1, 2, 3]),
        ],
    )
    def test_two_who_agree_make_no_truth_beside_one_where_majorities_do(
        self, messages: Messages, others: int, truth_rule: str, truths: list[int | None]
    ) -> None:
        exam = closed_by(self.exam_taken(others), messages, truth_rule=truth_rule)
        assert truths_of(exam) == truths
        assert exam.truth_rule == truth_rule
        n_truths = sum(truth is not None for truth in truths)
        count = AuditEvent.objects.get(action="exam.close").data["truths"]
        assert count == (n_truths if truth_rule == "agreeing" else None)
        assert len(known_pairs_in_stock(project_id=exam.project_id)) == n_truths
        if not n_truths:  # where nothing is true nothing comes back
            assert set(exam.attempts.values_list("state", flat=True)) == {"done"}

    def colluded(self, others: int, seed: int, messages: Messages) -> Exam:
        """Two with the same random grades, and so many accurate people, on 5 x 5 pairs; closed by majorities."""
        exam = cohort_exam(queries=5, depth=5)
        draw = random.Random(seed)
        agreed_on = [draw.randrange(5) for _ in range(25)]
        sit_all(exam, *[agreed_on] * 2, *[[0, 1, 2, 3, 4] * 5] * others)
        closed_by(exam, messages, truth_rule="agreeing")
        with messages():
            for attempt in exam.attempts.filter(state="feedback"):
                regrade(attempt)
        return exam

    def test_two_who_collude_beside_one_get_no_result_and_can_sit_another_exam(self, messages: Messages) -> None:
        exam = self.colluded(1, 1, messages)
        for attempt in exam.attempts.all():
            facts = onboarding_facts(project_id=exam.project_id, annotator_id=attempt.annotator_id)
            assert (facts.counting, facts.attempts_left, status_of(attempt.annotator)) == (False, 2, "exam")
            assert (attempt.passed, attempt.report["no_result"]) == (None, True)
            assert "0 of the 25 pairs" in attempt.report["why"]
        before = list(exam.attempts.order_by("pk").values_list("report", "passed"))
        exam_report(exam_id=exam.pk)
        with messages():
            EXAMS.sweep(NOW + 10 * MINUTES)
        assert list(exam.attempts.order_by("pk").values_list("report", "passed")) == before
        cohort_exam(exam.project, queries=1, depth=1)
        again = start(exam.attempts.earliest("pk").annotator, exam.project)
        assert (again.exam_id, again.state) != (exam.pk, "done")

    def test_who_is_left_out_makes_no_truth(self, messages: Messages) -> None:
        exam = self.exam_taken()
        numbers = [attempt.annotator.memberships.get().number or 0 for attempt in exam.attempts.order_by("pk")]
        with pytest.raises(NotPossible, match="3 of them would be left out"):
            exam_close(exam=exam, actor=lead(exam.project), left_out=numbers[:3])
        out = list(exam.attempts.order_by("pk")[:2])
        closed_by(exam, messages, left_out=numbers[:2])
        assert truths_of(exam) == [0, 1, 2, 3]
        assert set(exam.attempts.filter(left_out=True).values_list("pk", flat=True)) == {row.pk for row in out}
        assert AuditEvent.objects.get(action="exam.close").data["left_out"] == sorted(numbers[:2])
        assert (exam.report["n"], exam.report["misaligned"]) == (3, 0)
        for attempt in out:
            attempt.refresh_from_db()
            assert attempt.state == "feedback"
            assert attempt.report["kappas"]["quadratic"]["value"] < 0
            with messages():
                regrade(attempt)
            attempt.refresh_from_db()
            assert attempt.passed is False
        exam.refresh_from_db()
        assert exam.report["n"] == 3

    def test_who_is_far_from_the_anchors_is_known_before_the_round_is_closed(self) -> None:
        exam = cohort_exam(queries=1, depth=4)
        boss = lead(exam.project)
        for known_pair, grade in zip(exam.known_pairs.order_by("pk"), (0, 1, 2, 3), strict=True):
            known_pair_anchor(pair=known_pair, actor=boss, grade=grade)
        far, near = sit_all(exam, [4, 4, 0, 0], [1, 1, 2, 4])
        begun = examinee(exam.project)
        give(begun, pairs_in_order(start(begun, exam.project))[0], 4)
        rows = dict(exam_anchor_rows(exam))
        assert rows == {
            far.annotator.memberships.get().number: Distance(4, 4, 0.5, MISALIGNED),
            near.annotator.memberships.get().number: Distance(4, 0, 0.5, MISALIGNED),
        }
        assert [distance.is_far for distance in rows.values()] == [True, False]


class TestResult:
    def cohort(self, messages: Messages, *, last: list[int]) -> tuple[Exam, ExamAttempt]:
        """Two who agree, one nearly, and somebody who gives ``last``; the exam is closed."""
        exam = cohort_exam(queries=2, depth=5)
        policy_publish(project=exam.project, actor=None, exam_levels=1)  # ten pairs tell few levels apart
        agreed = [0, 1, 2, 3, 4, 4, 3, 2, 1, 0]
        *_, other = sit_all(exam, agreed, agreed, [*agreed[:-1], 1], last)
        closed_by(exam, messages)
        other.refresh_from_db()
        return exam, other

    def test_who_is_aligned_everywhere_is_qualified_as_the_round_closes(self, messages: Messages) -> None:
        exam, other = self.cohort(messages, last=[0, 1, 2, 3, 4, 4, 3, 2, 1, 0])
        assert set(exam.attempts.values_list("state", "passed")) == {("done", True)}
        reasons = StatusChange.objects.filter(to_status="qualified").values_list("reason", flat=True)
        assert len(reasons) == 4
        assert all("Passed exam 1: Quadratic kappa" in reason for reason in reasons)
        assert (exam.report["misaligned"], exam.report["n"]) == (0, 4)
        for status in ("suspended", "exam"):  # who comes back from a suspension sits anew
            status_change(membership=other.annotator.memberships.get(), to=status, actor=None, reason="Not at it.")
        with pytest.raises(NotPossible, match="No exam is open"):
            start(other.annotator, other.project)
        assert status_of(other.annotator) == "exam"

    @pytest.mark.parametrize(
        ("first", "misaligned", "passed", "status"),
        [
            ([2, 1, 2, 3, 4, 4, 3, 2, 1, 0], 0.1, True, "qualified"),
            ([4, 3, 2, 1, 0, 0, 1, 2, 3, 4], 0.8, False, "exam"),
        ],
    )
    def test_first_grades_decide_however_good_the_later_ones_are(
        self, messages: Messages, first: list[int], misaligned: float, passed: bool, status: str
    ) -> None:
        exam, other = self.cohort(messages, last=first)
        assert (other.state, other.passed, status_of(other.annotator)) == ("feedback", None, "exam")
        assert other.report["misaligned"] == pytest.approx(misaligned)
        assert other.report["after_feedback"] is None
        kappas = other.report["kappas"]
        with messages():
            regrade(other)
        other.refresh_from_db()
        assert (other.state, other.passed, status_of(other.annotator)) == ("done", passed, status)
        assert ("is below 0.40" in other.report["why"]) == (not passed)
        assert other.report["kappas"] == kappas
        assert other.report["after_feedback"]["quadratic"]["value"] > kappas["quadratic"]["value"]
        exam.refresh_from_db()
        assert exam.report["after_feedback"] is not None

    def test_known_truth_is_evaluated_at_once(self, messages: Messages) -> None:
        exam = later_exam([TRUTHS, TRUTHS], queries=2)
        assert (exam.state, exam.known_pairs.exists()) == ("open", False)
        user = examinee(exam.project)
        with messages():
            attempt = sit(user, exam.project, right)
        attempt.refresh_from_db()
        assert (attempt.state, attempt.passed, status_of(user)) == ("done", True, "qualified")
        assert attempt.report["pairwise"] is None
        exam.refresh_from_db()
        assert (exam.state, exam.report["n"]) == ("open", 1)

    @pytest.mark.parametrize(
        ("queries", "error", "words"),
        [
            (3, NotPossible, "no attempt left"),  # after two
            (1, TooFewPairs, "Too few pairs of known truth not seen before: 0"),  # after one
        ],
    )
    def test_a_retake_asks_for_pairs_never_seen_as_often_as_the_policy_lets(
        self, messages: Messages, queries: int, error: type[Exception], words: str
    ) -> None:
        project = later_exam([TRUTHS] * queries).project
        user = examinee(project)
        earlier_ids: set[int] = set()
        for _ in range(min(queries, 2)):
            with messages():
                attempt = sit(user, project, opposite)
            assert earlier_ids.isdisjoint(attempt.known_ids)
            earlier_ids |= set(attempt.known_ids)
            with messages():
                regrade(attempt)
            attempt.refresh_from_db()
            assert attempt.passed is False
        with pytest.raises(error, match=words):
            start(user, project)
