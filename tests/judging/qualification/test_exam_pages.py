"""The lead's pages of exams: opening, progress, closing, the report, explanations."""

import csv
import re

import pytest
from django.test import Client

from accounts.models import Identity, Project, User
from core.models import AuditEvent
from judging.guidelines.services import policy_publish
from judging.models import Exam, ExamAttempt, KnownPair
from judging.qualification.services.exams import known_pair_anchor
from tests.conftest import Messages
from tests.factories import ProjectFactory, admin, lead
from tests.judging.exams import (
    EVERYBODY,
    closed_by,
    closed_exam,
    cohort_exam,
    examinee,
    give,
    later_exam,
    pairs_in_order,
    sit,
    sit_all,
    start,
    tutorial,
)
from tests.judging.views.acts import url

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client, project: Project) -> User:
    person = lead(project)
    client.force_login(person)
    return person


def body(client: Client, name: str, row: object) -> str:
    return client.get(url(name, row)).content.decode()


def without_token(page: str) -> str:
    """The page without what differs each time it is loaded."""
    return re.sub(r"\b\w{64}\b", "", page)


def closed(project: Project, messages: Messages) -> Exam:
    """Three people and one who is far off; they have names that no page may say."""
    exam = cohort_exam(project, queries=2, depth=5)
    agreed = [0, 1, 2, 3, 4, 4, 3, 2, 1, 0]
    for attempt in sit_all(exam, agreed, agreed, agreed, [4, *agreed[1:]]):
        Identity.objects.create(user=attempt.annotator, name="Somebody Private")
    return closed_by(exam, messages)


class TestOpen:
    def test_a_cohort_is_opened(self, client: Client, project: Project, boss: User) -> None:
        page = body(client, "exams", project)
        assert "No exam yet" in page
        assert "3 more than are at the exam now" in page
        assert "there are no known pairs yet" in page
        for bad in ({}, {"kind": "oral"}, {"kind": "cohort", "queries": 0, "depth": 1}):
            assert client.post(url("exam-create", project), bad).status_code == 422
        answer = client.post(url("exam-create", project), {"kind": "stored", "queries": 1, "depth": 5})
        assert answer.status_code == 409
        assert "Too few pairs of known truth: 0, where 5 are needed" in answer.content.decode()
        assert not Exam.objects.exists()
        form = {"kind": "cohort", "queries": 2, "depth": 3, "seed": 8}
        answer = client.post(url("exam-create", project), form)
        exam = Exam.objects.get()
        assert answer.headers["Location"] == url("exam", exam)
        assert (exam.state, exam.queries, exam.depth, exam.seed) == ("preparing", 2, 3, 8)
        assert "Being prepared" in body(client, "exam", exam)
        Exam.objects.update(state="failed", error="Previews of 3 moments are ready.")
        assert "Previews of 3 moments are ready." in body(client, "exam", exam)


class TestClose:
    def test_progress_is_shown_and_unfinished_people_are_named_before_it_is_closed(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project)
        attempt = start(examinee(project), project)
        give(attempt.annotator, pairs_in_order(attempt)[0], 2)
        number = attempt.annotator.memberships.get().number
        page = body(client, "exam", exam)
        assert "1 of 4" in page and f'<th scope="row">{number}</th>' in page
        assert "0 have" in page  # given all grades, of the three it takes
        assert 'class="given' not in page  # grades of who is at it
        sit_all(exam, *[[2, 2, 2, 2]] * 3)
        assert body(client, "exam", exam).count('class="given') == 12
        asking = client.post(url("exam-close", exam))
        assert asking.status_code == 409
        assert f"Annotator {number} has not handed in" in asking.content.decode()
        assert client.post(url("exam-close", exam), {"confirmed": number + 1}).status_code == 409
        with messages():
            client.post(url("exam-close", exam), {"confirmed": number})
        exam.refresh_from_db()
        assert exam.state == "closed"
        page = body(client, "exam", exam)
        assert "missed" in page
        assert page.count("undefined</span>") >= 6  # kappas of equal grades
        assert "nan" not in page.lower().replace("nan_", "")


class TestMissed:
    def test_the_lead_decides_with_a_reason(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = later_exam([(0, 1, 2, 3, 4)], project=project)
        attempt = start(examinee(project), project)
        closed_by(exam, messages, confirmed=EVERYBODY)
        assert "Count it as an attempt" in body(client, "exam", exam)
        for bad in ({}, {"counts": "yes"}, {"counts": "perhaps", "reason": "x"}):
            client.post(url("missed-exam-count", attempt), bad)
            assert not ExamAttempt.objects.filter(missed_counts=True).exists()
        answer = client.post(url("missed-exam-count", attempt), {"counts": "yes", "reason": "Saw the pairs."})
        assert answer.headers["Location"] == url("exam", exam)
        assert "Do not count it" in body(client, "exam", exam)
        client.force_login(attempt.annotator)
        assert "Your lead has decided that it counts as" in body(client, "attempt", attempt)

    def test_an_attempt_at_a_tutorial_is_no_exam(self, client: Client, project: Project, boss: User) -> None:
        tutorial(project)
        attempt = start(examinee(project, "training"), project, "tutorial")
        for answer in (client.get(url("missed-exam", attempt)), client.post(url("missed-exam-count", attempt))):
            assert answer.status_code == 404


class TestPower:
    def page_of(self, client: Client, project: Project, query: str = "", **headers: str) -> str:
        return client.get(url("exams", project) + query, headers=headers).content.decode()

    def test_a_rule_of_kappa_alone_is_warned_of(self, client: Client, project: Project, boss: User) -> None:
        page = self.page_of(client, project)
        assert all(words in page for words in ("Who would pass", "below 0.1 %", "published judgments of TVR-Ranking"))
        assert "lets through who cannot grade" not in page
        policy_publish(project=project, actor=boss, exam_bias=4, exam_levels=1)
        page = self.page_of(client, project)
        assert "lets through who cannot grade" in page
        assert page.count('<span class="state failed">') == 2  # who tells 0 from the rest, and who grades too high
        closed_exam(project, [(0, 1, 2, 3, 4)] * 4)
        part = self.page_of(client, project, "?kind=stored&queries=4&depth=5", **{"HX-Request": "true"})
        assert part.strip().startswith('<section id="power"')
        for words in ("4 × 5 pairs, stored truth", "on pairs drawn as they will be", "None of these pairs had its"):
            assert words in part
        assert "too few known pairs" in self.page_of(client, project, "?kind=stored&queries=9&depth=5")
        assert "10 × 10 pairs, first cohort" in self.page_of(client, project, "?kind=oral&queries=0")
        client.force_login(admin(project))  # who only looks
        assert "Who would pass" not in self.page_of(client, project)


class TestAnchors:
    def test_a_lead_grades_pairs_beforehand_and_sees_who_is_far(
        self, client: Client, project: Project, boss: User
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=3)
        assert "Your anchor" in body(client, "exam", exam)
        known_pair = exam.known_pairs.earliest("pk")
        for value, anchor in (("3", 3), ("7", 3), ("", None)):
            client.post(url("known-anchor", known_pair), {"grade": value})
            known_pair.refresh_from_db()
            assert known_pair.anchor == anchor
        for known_pair in exam.known_pairs.all():
            answer = client.post(url("known-anchor", known_pair), {"grade": "0"})
            assert answer.headers["Location"].endswith(f"#pair-{known_pair.uuid}")
        assert body(client, "exam", exam).count('anchor <b class="grade grade-0">0</b>') == 3
        sit_all(exam, [4, 4, 4])
        page = body(client, "exam", exam)
        assert "Beside your anchors" in page and ">far</span>" in page
        assert "(11.8 % by the rules here)" in page
        assert "Your anchor" not in page
        client.post(url("known-anchor", exam.known_pairs.first()), {"grade": ""}, follow=True)
        assert not exam.known_pairs.filter(anchor=None).exists()

    def test_annotators_learn_nothing_of_anchors(self, client: Client, project: Project, messages: Messages) -> None:
        exam = cohort_exam(project, queries=1, depth=3)
        people = [examinee(project) for _ in range(4)]
        client.force_login(people[0])
        attempts = [start(user, project) for user in people]

        def pages() -> list[str]:
            return [without_token(body(client, *name)) for name in (("desk", project), ("attempt", attempts[0]))]

        without = pages()
        for known_pair in exam.known_pairs.all():
            known_pair_anchor(pair=known_pair, actor=lead(project), grade=0)
        assert pages() == without
        for user in people:
            sit(user, project, lambda known_pair: 4)
        assert not any("anchor" in page.lower() for page in pages())
        closed_by(exam, messages, left_out=[people[0].memberships.get().number])
        assert not any(word in page.lower() for page in pages() for word in ("anchor", "left out", "shown before"))


class TestTruthRule:
    def exam_taken(self, project: Project) -> Exam:
        exam = cohort_exam(project, queries=1, depth=2)
        sit_all(exam, [4, 4], [4, 4], [0, 4])
        return exam

    def test_an_exam_of_too_few_offers_to_end_it_and_says_why_it_cannot_be_closed(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=2)
        sit_all(exam, [4, 4])
        page = body(client, "exam", exam)
        assert "End it without a result" in page
        assert "Close the round" not in page
        refused = client.post(url("exam-close", exam), {"truth_rule": "median"}, follow=True)
        assert "1 of at least 3 people has given all grades" in refused.content.decode()
        assert refused.redirect_chain == [(url("exam", exam), 302)]
        with messages():
            client.post(url("exam-close", exam), {"call_off": "1"})
        exam.refresh_from_db()
        assert exam.state == "closed"

    def test_what_was_chosen_stays_while_it_asks(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = self.exam_taken(project)
        client.post(url("exam-close", exam), {"truth_rule": "loudest"})
        exam.refresh_from_db()
        assert exam.state == "open"
        sit_all(exam, [4, 4])
        late = examinee(project)
        out = exam.attempts.order_by("pk")[2].annotator.memberships.get().number
        asking = client.post(url("exam-close", exam), {"truth_rule": "agreeing", "left_out": out}).content.decode()
        form = dict(re.findall(r'<input type="hidden" name="(confirmed|truth_rule|left_out)" value="(\w+)">', asking))
        assert form == {"truth_rule": "agreeing", "left_out": str(out), "confirmed": str(late.memberships.get().number)}
        with messages():
            client.post(url("exam-close", exam), form)
        exam.refresh_from_db()
        assert exam.truth_rule == "agreeing"
        assert exam.attempts.get(left_out=True).annotator.memberships.get().number == out
        assert "left out of the truth" in body(client, "exam", exam)


class TestReport:
    def test_the_page_asks_for_it_until_it_is_computed(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        """Only the report is replaced: what is typed below it stays."""
        exam = closed(project, messages)
        part = url("exam", exam) + "?part=report"
        ready = body(client, "exam", exam)
        Exam.objects.update(report={})
        waiting = body(client, "exam", exam)
        live = f'<div id="report" hx-get="{part}" hx-trigger="every 2s" hx-select="#report"'
        assert live in waiting and "The report is being computed." in waiting
        asking = client.get(part, headers={"HX-Request": "true"}).content.decode()
        assert live in asking
        exam.save(update_fields=["report"])
        ended = client.get(part, headers={"HX-Request": "true"}).content.decode()
        for page, says in ((ready, False), (ended, True)):
            assert '<div id="report">' in page and "being computed" not in page
            assert ("The report is computed." in page) == says

    def test_the_cohort_stands_beside_the_paper(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = closed(project, messages)
        page = body(client, "exam", exam)
        assert "2.50 %" in page and "11.83 %" in page
        assert page.count("paper: 0.49") == 3
        assert "Somebody" not in page
        assert "in feedback" in page
        assert page.count('class="given') == 40
        assert page.count("far from the truth</span>") == 1
        answer = client.get(url("exam-csv", exam))
        rows = list(csv.DictReader(answer.content.decode().splitlines()))
        assert [float(row["misaligned"]) for row in rows] == [0, 0, 0, 0.1]
        assert [row["passed"] for row in rows] == ["True", "True", "True", ""]
        assert float(rows[0]["kappa_quadratic"]) == pytest.approx(1)
        assert float(rows[3]["pairwise_linear"]) < 1
        assert answer.headers["Content-Disposition"] == 'attachment; filename="momentjudge-exam-1.csv"'
        assert "Private" not in answer.content.decode()
        client.force_login(admin(project))  # who looks and decides nothing
        page = body(client, "exam", exam)
        assert "truth" in page
        assert "Keep the explanation" not in page and "Take it out" not in page


class TestPairs:
    def test_explanations_are_written_before_the_feedback_begins(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=1)
        known_pair = exam.known_pairs.get()
        assert "Keep the explanation" in body(client, "exam", exam)
        page = client.post(url("known-explain", known_pair), {"explanation": "x" * 4001}, follow=True).content.decode()
        assert "4,000 characters" in page
        assert KnownPair.objects.get().explanation == ""
        answer = client.post(url("known-explain", known_pair), {"explanation": "The door stays shut.\n"})
        assert answer.headers["Location"].endswith(f"#pair-{known_pair.uuid}")
        assert KnownPair.objects.get().explanation == "The door stays shut."
        assert "The door stays shut." in body(client, "exam", exam)
        *_, far = sit_all(exam, [4], [4], [4], [0])
        closed_by(exam, messages)
        client.force_login(far.annotator)
        assert "The door stays shut." in body(client, "attempt", far)

    def test_a_bad_pair_is_taken_out_with_a_reason(self, client: Client, project: Project, boss: User) -> None:
        known_pair = closed_exam(project, [(2,)]).known_pairs.get()
        client.post(url("known-retire", known_pair), {"reason": ""})
        assert not KnownPair.objects.filter(is_retired=True).exists()
        client.post(url("known-retire", known_pair), {"reason": "The clip is black."})
        assert KnownPair.objects.filter(is_retired=True).count() == 1
        event = AuditEvent.objects.get(action="known_pair.retire")
        assert (event.subject, event.data["reason"]) == (known_pair.uuid, "The clip is black.")


@pytest.mark.parametrize(("top_grade", "is_shown"), [(1, False), (2, True)])
def test_no_strategy_of_two_levels_stands_beside_yes_and_no(client: Client, top_grade: int, is_shown: bool) -> None:
    project = ProjectFactory(top_grade=top_grade, max_spread=0)
    client.force_login(lead(project))
    page = body(client, "exams", project)
    assert "grades one too high always</th>" in page
    assert ("tells only 0 from the rest</th>" in page) == is_shown
