"""Exams: opened with their pairs, closed with the truth, reported, and passed or not."""

import random
from decimal import Decimal
from statistics import median
from unittest.mock import patch

import pytest

from accounts.models import Project, StandingChange
from accounts.services.members import status_change
from annotation.models import Query
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.exceptions import AttemptOver, NotPossibleNow, TooFewPairs, Unfinished
from judging.guidelines.services import policy_publish
from judging.models import Exam, KnownPair, Pair, Sitting
from judging.qualification.rules.passing import Grader, PassRule, Truths, power, truths_drawn
from judging.qualification.rules.truth import Distance
from judging.qualification.selectors import exams as power_selectors
from judging.qualification.selectors.exams import (
    exam_anchor_rows,
    exam_pairs,
    exam_power,
    known_pairs_in_stock,
    known_pairs_shown,
)
from judging.qualification.selectors.sittings import onboarding_facts
from judging.qualification.services.exams import EXAMS, exam_close, exam_create, exam_prepare, known_pair_anchor
from judging.qualification.services.reports import exam_report
from judging.qualification.services.sittings import missed_exam_count
from judging.quality.rules.agreement import Weights
from tests.conftest import Messages
from tests.factories import (
    MINUTES,
    NOW,
    BatchFactory,
    CaptionFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    UserFactory,
    annotator,
    lead,
)
from tests.judging.exams import (
    EVERYBODY,
    by_pair,
    closed_exam,
    cohort_exam,
    examinee,
    give,
    hand_in,
    pairs_in_order,
    regrade,
    sit,
    start,
    status_of,
    tutorial,
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

    def test_the_same_seed_draws_the_same_pairs(self, encoder: list[list[str]]) -> None:
        project, draws = trained(queries=8), []
        for _ in range(2):
            exam = exam_create(project=project, actor=None, kind="cohort", queries=2, depth=2, seed=7)
            exam_prepare(exam_id=exam.pk)
            draws.append(list(exam.known_pairs.order_by("pk").values_list("query", "moment", "rank")))
            exam.known_pairs.all().delete()
            exam.delete()
        assert draws[0] == draws[1]

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

    def test_a_lost_message_is_sent_again(self, encoder: list[list[str]], messages: Messages) -> None:
        project = trained()
        exam = exam_create(project=project, actor=None, kind="cohort", queries=1, depth=1)
        Exam.objects.filter(pk=exam.pk).update(created_at=NOW)
        with messages():
            EXAMS.sweep(NOW + 2 * MINUTES)
        exam.refresh_from_db()
        assert exam.state == "open"

    def test_one_exam_at_a_time(self) -> None:
        exam = cohort_exam()
        with pytest.raises(NotPossibleNow, match="Close the exam"):
            exam_create(project=exam.project, actor=None, kind="stored")

    def test_known_truth_opens_at_once_where_there_is_enough(self) -> None:
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
        give(late, pairs_in_order(start(late, exam.project))[0], 2)
        with pytest.raises(Unfinished) as caught:
            exam_close(exam=exam, actor=lead(exam.project))
        numbers = sorted(user.memberships.get().number for user in (late, absent))
        assert caught.value.numbers == numbers
        assert all(str(number) in str(caught.value) for number in numbers)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        missed = Sitting.objects.get(annotator=late)
        assert (missed.state, missed.passed) == ("missed", None)
        assert status_of(late) == "exam"

    def test_grades_of_who_missed_it_do_not_count(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=2)
        for grade in (1, 2, 3):
            sit(examinee(exam.project), exam.project, by_pair(exam, [grade, grade]))
        late = examinee(exam.project)
        give(late, pairs_in_order(start(late, exam.project))[0], 4)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        assert set(exam.known_pairs.values_list("truth", flat=True)) == {Decimal(2)}

    def test_what_is_complete_is_handed_in_by_closing(self, messages: Messages) -> None:
        exam = cohort_exam()
        for _ in range(2):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        third = examinee(exam.project)
        for known_pair in pairs_in_order(start(third, exam.project)):
            give(third, known_pair, 2)
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

    @pytest.mark.parametrize("people", [0, 1, 2])
    def test_an_exam_of_too_few_is_called_off(self, messages: Messages, people: int) -> None:
        """Nobody has a truth, a result, or one attempt less; another exam can be opened."""
        exam = cohort_exam()
        came = [examinee(exam.project) for _ in range(people)]
        for user in came:
            sit(user, exam.project, by_pair(exam, [2, 2, 2, 2]))
        late = examinee(exam.project)
        start(late, exam.project)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY, call_off=True)
        exam.refresh_from_db()
        assert exam.state == "closed"
        assert not exam.known_pairs.exclude(truth=None).exists()
        assert {attempt.passed for attempt in exam.sittings.all()} == {None}
        assert all(attempt.has_no_result for attempt in exam.sittings.filter(annotator__in=came))
        another = cohort_exam(exam.project, queries=1, depth=1)
        for user in (*came, late):
            assert start(user, exam.project).exam_id == another.pk

    def test_an_exam_that_enough_people_sat_is_not_called_off(self) -> None:
        """The page that offered it may be older than the third person's last grade."""
        exam = cohort_exam()
        for _ in range(3):
            sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2, 2, 2]))
        with pytest.raises(NotPossible, match="3 people have given all grades by now"):
            exam_close(exam=exam, actor=lead(exam.project), call_off=True)
        exam.refresh_from_db()
        assert exam.state == "open"

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
        pair = pairs_in_order(start(late, exam.project))[0]
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        with pytest.raises(AttemptOver, match="closed before"):
            give(late, pair, 2)

    def test_pairs_taken_out_have_no_truth_and_are_not_required(self, messages: Messages) -> None:
        exam = cohort_exam(queries=1, depth=2)
        bad = exam.known_pairs.order_by("pk")[0]
        KnownPair.objects.filter(pk=bad.pk).update(is_retired=True)
        for _ in range(3):
            user = examinee(exam.project)
            attempt = start(user, exam.project)
            assert bad.pk not in attempt.known_ids
            give(user, pairs_in_order(attempt)[0], 3)
            hand_in(attempt)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project))
        assert list(exam.known_pairs.order_by("pk").values_list("truth", flat=True)) == [None, Decimal(3)]

    def test_people_of_an_exam_of_known_truth_who_are_not_done_miss_it(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS])
        exam = exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        attempt = start(user, project)
        with pytest.raises(Unfinished):
            exam_close(exam=exam, actor=lead(project))
        exam_close(exam=exam, actor=lead(project), confirmed=EVERYBODY)
        attempt.refresh_from_db()
        assert attempt.state == "missed"


class TestMissed:
    """One rule: a missed exam costs an attempt only if the lead says so."""

    def missed(self, messages: Messages, *, graded: int = 1) -> Sitting:
        """Somebody with one attempt whose later exam was closed before they had given all grades."""
        project = ProjectFactory()
        policy_publish(project=project, actor=None, exam_attempts=1)
        closed_exam(project, [TRUTHS, TRUTHS])
        exam = exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        attempt = start(user, project)
        for known_pair in pairs_in_order(attempt)[:graded]:
            give(user, known_pair, 2)
        with messages():
            exam_close(exam=exam, actor=lead(project), confirmed=EVERYBODY)
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        attempt.refresh_from_db()
        return attempt

    @pytest.mark.parametrize("graded", [0, 1, 4])
    def test_it_costs_no_attempt_by_itself(self, messages: Messages, graded: int) -> None:
        missed = self.missed(messages, graded=graded)
        assert onboarding_facts(project_id=missed.project_id, annotator_id=missed.annotator_id).attempts_left == 1
        assert start(missed.annotator, missed.project).pk != missed.pk

    def test_a_lead_lets_it_count_and_takes_that_back(self, messages: Messages) -> None:
        missed = self.missed(messages)
        actor = lead(missed.project)
        for _ in range(2):
            missed_exam_count(attempt=missed, actor=actor, counts=True, reason="Saw the pairs and went.")
        with pytest.raises(NotPossible, match="no attempt left"):
            start(missed.annotator, missed.project)
        missed_exam_count(attempt=missed, actor=actor, counts=False, reason="Was ill.")
        assert start(missed.annotator, missed.project).pk != missed.pk
        events = AuditEvent.objects.filter(action__startswith="exam.missed_counts").order_by("pk")
        number = missed.annotator.memberships.get().number
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
        for grades in ([0, 1, 2, 3, 4] * 2, [1, 1, 2, 2, 4] * 2, [0, 2, 3, 3, 3] * 2):
            sit(examinee(exam.project), exam.project, by_pair(exam, grades))
        late = examinee(exam.project)
        for known_pair in pairs_in_order(start(late, exam.project))[:9]:
            give(late, known_pair, 4 - (known_pair.rank or 0) % 2 * 4)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), confirmed=EVERYBODY)
        rows = exam_pairs(Exam.objects.get(pk=exam.pk))
        assert len(rows) == 10
        for row in rows:
            assert float(row.known.truth or 0) == median(grade for _, grade, _ in row.grades)


class TestTruthRule:
    """Two who agree on what is not so, and three careful people: 4 pairs whose true grades are 0 to 3."""

    def exam_taken(self, colluders: int = 2, others: int = 3) -> Exam:
        exam = cohort_exam(queries=1, depth=4)
        for _ in range(colluders):
            sit(examinee(exam.project), exam.project, by_pair(exam, [4, 4, 0, 0]))
        for _ in range(others):
            sit(examinee(exam.project), exam.project, by_pair(exam, [0, 1, 2, 3]))
        return exam

    def truths(self, exam: Exam) -> list[Decimal | None]:
        return list(exam.known_pairs.order_by("pk").values_list("truth", flat=True))

    def test_two_who_agree_outvote_one_by_median(self, messages: Messages) -> None:
        """The hole that the other rule closes."""
        exam = self.exam_taken(others=1)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project))
        assert self.truths(exam) == [4, 4, 0, 0]

    def test_two_who_agree_make_no_truth_beside_one(self, messages: Messages) -> None:
        exam = self.exam_taken(others=1)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), truth_rule="agreeing")
        assert self.truths(exam) == [None] * 4
        states = set(exam.sittings.values_list("state", flat=True))
        assert states == {"done"}  # where nothing is true nothing comes back

    def test_three_who_agree_make_the_truth_beside_two(self, messages: Messages) -> None:
        exam = self.exam_taken()
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), truth_rule="agreeing")
        assert self.truths(exam) == [0, 1, 2, 3]
        exam.refresh_from_db()
        assert exam.truth_rule == "agreeing"
        assert AuditEvent.objects.get(action="exam.close").data["truths"] == 4

    def test_pairs_without_truth_are_shown_to_nobody_later(self, messages: Messages) -> None:
        exam = self.exam_taken(others=1)
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), truth_rule="agreeing")
        assert known_pairs_in_stock(project_id=exam.project_id) == []

    def results(self, exam: Exam) -> list[bool | None]:
        return list(exam.sittings.order_by("pk").values_list("passed", flat=True))

    def colluded(self, others: int, seed: int) -> Exam:
        """Two with the same random grades, and so many accurate people, on 5 x 5 pairs."""
        exam = cohort_exam(queries=5, depth=5)
        draw = random.Random(seed)
        agreed_on = [draw.randrange(5) for _ in range(25)]
        for grades in [agreed_on] * 2 + [[0, 1, 2, 3, 4] * 5] * others:
            sit(examinee(exam.project), exam.project, by_pair(exam, grades))
        return exam

    def closed_by_majorities(self, exam: Exam, messages: Messages) -> Exam:
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), truth_rule="agreeing")
        with messages():
            for attempt in exam.sittings.filter(state="feedback"):
                regrade(attempt)
        exam.refresh_from_db()
        return exam

    def test_two_who_collude_beside_one_get_no_result_and_make_none(self, messages: Messages) -> None:
        exam = self.closed_by_majorities(self.colluded(1, seed=1), messages)
        assert self.results(exam) == [None] * 3
        for attempt in exam.sittings.all():
            facts = onboarding_facts(project_id=exam.project_id, annotator_id=attempt.annotator_id)
            assert (facts.counting, facts.attempts_left, status_of(attempt.annotator)) == (False, 2, "exam")
            assert attempt.report["no_result"]
            assert "0 of the 25 pairs" in attempt.report["why"]

    def test_two_who_collude_beside_three_fail_and_nobody_fails_by_them(self, messages: Messages) -> None:
        exam = self.closed_by_majorities(self.colluded(3, seed=2), messages)
        assert self.results(exam) == [False, False, None, None, None]

    def test_two_who_collude_beside_four_fail_and_the_four_pass(self, messages: Messages) -> None:
        exam = self.closed_by_majorities(self.colluded(4, seed=3), messages)
        assert self.results(exam) == [False, False, True, True, True, True]

    def test_two_who_collude_beside_two_pass_by_nobody(self, messages: Messages) -> None:
        exam = self.closed_by_majorities(self.colluded(2, seed=1), messages)
        assert self.results(exam) == [None] * 4

    def test_no_result_stays_and_another_exam_can_be_sat(self, messages: Messages) -> None:
        exam = self.closed_by_majorities(self.colluded(1, 1), messages)
        before = list(exam.sittings.order_by("pk").values_list("report", flat=True))
        exam_report(exam_id=exam.pk)
        assert list(exam.sittings.order_by("pk").values_list("report", flat=True)) == before
        EXAMS.sweep(NOW + 10 * MINUTES)
        with messages():
            pass
        assert self.results(exam) == [None] * 3
        cohort_exam(exam.project, queries=1, depth=1)
        first = exam.sittings.first()
        assert first is not None
        again = start(first.annotator, exam.project)
        assert (again.exam_id, again.state) != (exam.pk, "done")

    def test_who_is_left_out_makes_no_truth(self, messages: Messages) -> None:
        exam = self.exam_taken()
        out = list(exam.sittings.order_by("pk")[:2])
        numbers = [attempt.annotator.memberships.get().number for attempt in out]
        with messages():
            exam_close(exam=exam, actor=lead(exam.project), left_out=[number for number in numbers if number])
        assert self.truths(exam) == [0, 1, 2, 3]
        assert set(exam.sittings.filter(left_out=True).values_list("pk", flat=True)) == {row.pk for row in out}
        assert AuditEvent.objects.get(action="exam.close").data["left_out"] == sorted(number or 0 for number in numbers)
        exam.refresh_from_db()
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

    def test_too_few_may_not_be_left(self) -> None:
        exam = self.exam_taken()
        numbers = [attempt.annotator.memberships.get().number for attempt in exam.sittings.all()[:3]]
        with pytest.raises(NotPossible, match="3 of them would be left out"):
            exam_close(exam=exam, actor=lead(exam.project), left_out=[number for number in numbers if number])
        assert not exam.sittings.filter(left_out=True).exists()

    def test_an_unknown_rule_is_refused(self) -> None:
        with pytest.raises(ValueError):
            exam_close(exam=self.exam_taken(), actor=UserFactory(), truth_rule="loudest")

    def test_who_is_far_from_the_anchors_is_known_before_the_round_is_closed(self) -> None:
        exam = cohort_exam(queries=1, depth=4)
        boss = lead(exam.project)
        for known_pair, grade in zip(exam.known_pairs.order_by("pk"), (0, 1, 2, 3), strict=True):
            known_pair_anchor(pair=known_pair, actor=boss, grade=grade)
        far = examinee(exam.project)
        sit(far, exam.project, by_pair(exam, [4, 4, 0, 0]))
        near = examinee(exam.project)
        sit(near, exam.project, by_pair(exam, [1, 1, 2, 4]))
        begun = examinee(exam.project)
        give(begun, pairs_in_order(start(begun, exam.project))[0], 4)
        rows = dict(exam_anchor_rows(exam))
        assert rows == {
            far.memberships.get().number: Distance(4, 4, 0.5),
            near.memberships.get().number: Distance(4, 0, 0.5),
        }
        assert [distance.is_far for distance in rows.values()] == [True, False]


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
        sit(examinee(exam.project), exam.project, by_pair(exam, [2, 2]))
        with pytest.raises(NotPossibleNow, match="Somebody has handed in"):
            known_pair_anchor(pair=known_pair, actor=boss, grade=2)

    def test_only_pairs_of_a_cohort_that_is_open_have_one(self) -> None:
        known_pair = closed_exam(ProjectFactory(), [(2,)]).known_pairs.get()
        with pytest.raises(NotPossibleNow, match="first cohort that is open"):
            known_pair_anchor(pair=known_pair, actor=lead(known_pair.project), grade=2)
        with pytest.raises(ValueError):
            known_pair_anchor(pair=known_pair, actor=lead(known_pair.project), grade=5)


class TestShownBefore:
    """A failed account is told truths; who comes back under another name is asked other pairs, as far as there are."""

    def failed(self, project: Project, messages: Messages) -> Sitting:
        with messages():
            attempt = sit(examinee(project), project, lambda known_pair: 4 - int(known_pair.truth or 0))
            regrade(attempt)
        attempt.refresh_from_db()
        assert attempt.passed is False
        return attempt

    def test_pairs_never_shown_are_drawn_first(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS] * 4)
        exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
        first = self.failed(project, messages)
        shown_ids = known_pairs_shown(project_id=project.pk)
        assert shown_ids == {known_pair.pk for known_pair in pairs_in_order(first)}, (
            "a grade that was no more than one off is told, too"
        )
        for _ in range(5):
            again = start(examinee(project), project)
            assert shown_ids.isdisjoint(again.known_ids)
            assert again.shown_before == 0

    def test_what_was_shown_is_named_where_nothing_else_is_left(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS] * 3)
        exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
        assert self.failed(project, messages).shown_before == 0
        again = start(examinee(project), project)
        assert again.shown_before == 5  # of one query nothing was shown, of the other all

    def test_a_warm_up_shows_every_truth(self, messages: Messages) -> None:
        project = ProjectFactory()
        exam = closed_exam(project, [TRUTHS])
        policy_publish(project=project, actor=None, warm_up=True)
        sit(annotator(project), project, lambda known_pair: int(known_pair.truth or 0), purpose="warm-up")
        assert known_pairs_shown(project_id=project.pk) == set(exam.known_pairs.values_list("pk", flat=True))

    def test_a_truth_that_is_not_revealed_yet_is_not_shown(self) -> None:
        exam = cohort_exam(queries=1, depth=2)
        sit(examinee(exam.project), exam.project, by_pair(exam, [4, 4]))
        assert known_pairs_shown(project_id=exam.project_id) == set()

    def test_another_project_shows_nothing_here(self, messages: Messages) -> None:
        other = ProjectFactory()
        closed_exam(other, [TRUTHS])
        exam_create(project=other, actor=None, kind="stored", queries=1, depth=5)
        self.failed(other, messages)
        assert known_pairs_shown(project_id=ProjectFactory().pk) == set()


class TestPower:
    def rule(self, **more: float) -> PassRule:
        return PassRule(Weights.QUADRATIC, 0.4, **more)  # type: ignore[arg-type]

    def test_a_later_exam_is_simulated_on_the_pairs_it_draws(self) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS] * 4)
        result = exam_power(project, kind="stored", queries=4, depth=5, rule=self.rule(), attempts=2)
        assert result is not None
        assert (result.truth, result.pairs, result.shown) == ("drawn", 20, 0)
        assert result.chances == power((Truths((4, 4, 4, 4, 4), 40.0),) * 8, self.rule(), attempts=2)
        assert result.too_easy == [Grader.RANDOM, Grader.TWO_LEVEL, Grader.SHIFTED]

    def test_it_says_how_many_pairs_were_shown(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS] * 2)
        exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
        TestShownBefore().failed(project, messages)
        result = exam_power(project, kind="stored", queries=2, depth=5, rule=self.rule(), attempts=2)
        assert result is not None and result.shown == 10

    def test_too_few_known_pairs_have_no_power(self) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS])
        assert exam_power(project, kind="stored", queries=2, depth=5, rule=self.rule(), attempts=2) is None

    def test_a_first_cohort_is_simulated_on_published_relevance(self) -> None:
        result = exam_power(ProjectFactory(), kind="cohort", queries=10, depth=10, rule=self.rule(), attempts=2)
        assert result is not None and (result.truth, result.pairs) == ("published", 100)

    def test_or_on_that_of_the_settled_pairs(self) -> None:
        batch = BatchFactory(pairs=20)
        batch.pairs.update(state="settled", relevance=0)
        Pair.objects.filter(pk__in=list(batch.pairs.values_list("pk", flat=True)[:10])).update(relevance=4)
        project = batch.project
        with patch.object(power_selectors, "FEWEST_SETTLED", 20):
            result = exam_power(project, kind="cohort", queries=10, depth=10, rule=self.rule(), attempts=2)
        assert result is not None and result.truth == "settled"
        shares = truths_drawn((10, 0, 0, 0, 10), pairs=100, draws=power_selectors.IMAGINED, seed=power_selectors.SEED)
        assert result.chances == power(shares, self.rule(), attempts=2)


class TestResult:
    def cohort(self, messages: Messages, *, last: list[int]) -> tuple[Exam, Sitting]:
        """Two who agree, one nearly, and somebody who gives ``last``; the exam is closed."""
        exam = cohort_exam(queries=2, depth=5)
        policy_publish(project=exam.project, actor=None, exam_levels=1)  # ten pairs tell few levels apart
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
        assert (other.state, other.passed, status_of(other.annotator)) == ("feedback", None, "exam")
        assert other.report["misaligned"] == pytest.approx(0.1)
        assert other.report["after_feedback"] is None
        with messages():
            regrade(other)
        other.refresh_from_db()
        assert (other.state, other.passed, status_of(other.annotator)) == ("done", True, "qualified")
        assert other.report["after_feedback"]["quadratic"]["value"] > other.report["kappas"]["quadratic"]["value"]

    def test_a_kappa_below_the_policy_fails_and_says_why(self, messages: Messages) -> None:
        exam, other = self.cohort(messages, last=[4, 3, 2, 1, 0, 0, 1, 2, 3, 4])
        with messages():
            regrade(other)
        other.refresh_from_db()
        assert (other.passed, status_of(other.annotator)) == (False, "exam")
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

    def test_known_truth_is_evaluated_at_once(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS, TRUTHS])
        exam = exam_create(project=project, actor=None, kind="stored", queries=2, depth=5)
        user = examinee(project)
        with messages():
            attempt = sit(user, project, lambda known_pair: int(known_pair.truth or 0))
        attempt.refresh_from_db()
        assert (attempt.state, attempt.passed, status_of(user)) == ("done", True, "qualified")
        assert attempt.report["pairwise"] is None
        exam.refresh_from_db()
        assert (exam.state, exam.report["n"]) == ("open", 1)

    def test_the_same_grade_everywhere_has_no_kappa_and_does_not_pass(self, messages: Messages) -> None:
        project = ProjectFactory()
        policy_publish(project=project, actor=None, exam_kappa=-1)
        closed_exam(project, [(2, 2, 2, 2, 2)])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        with messages():
            attempt = sit(user, project, lambda known_pair: 2)
        attempt.refresh_from_db()
        assert attempt.report["kappas"]["quadratic"]["value"] is None
        assert (attempt.passed, status_of(user)) == (False, "exam")
        assert "cannot be computed" in attempt.report["why"]

    def test_a_retake_asks_for_pairs_never_seen_as_often_as_the_policy_lets(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS, TRUTHS, TRUTHS])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        earlier_ids: set[int] = set()
        for _ in range(2):
            with messages():
                attempt = sit(user, project, lambda known_pair: 4 - int(known_pair.truth or 0))
            assert earlier_ids.isdisjoint(attempt.known_ids)
            earlier_ids |= set(attempt.known_ids)
            with messages():
                regrade(attempt)
            attempt.refresh_from_db()
            assert attempt.passed is False
        with pytest.raises(NotPossible, match="no attempt left"):
            start(user, project)

    def test_a_retake_without_enough_unseen_pairs_says_so(self, messages: Messages) -> None:
        project = ProjectFactory()
        closed_exam(project, [TRUTHS])
        exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        with messages():
            attempt = sit(user, project, lambda known_pair: 4 - int(known_pair.truth or 0))
            regrade(attempt)
        with pytest.raises(TooFewPairs, match="Too few pairs of known truth not seen before: 0"):
            start(user, project)

    def test_who_comes_back_from_a_suspension_sits_anew(self, messages: Messages) -> None:
        _, other = self.cohort(messages, last=[0, 1, 2, 3, 4, 4, 3, 2, 1, 0])
        member = other.annotator.memberships.get()
        for status in ("suspended", "exam"):
            status_change(membership=member, to=status, actor=None, reason="Not at it.")
        with pytest.raises(NotPossible, match="No exam is open"):
            start(other.annotator, other.project)
        assert status_of(other.annotator) == "exam"


def test_the_tutorial_comes_first() -> None:
    project = ProjectFactory()
    tutorial(project)
    cohort_exam(project)
    user = examinee(project, "training")
    with pytest.raises(NotPossible, match="First do the tutorial"):
        start(user, project)
