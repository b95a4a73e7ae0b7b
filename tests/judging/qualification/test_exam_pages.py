"""The lead's pages of exams: opening, progress, closing, the report, explanations."""

import csv
import re

import pytest
from django.test import Client

from accounts.models import Identity, Project, User
from core.models import AuditEvent
from judging.guidelines.services import policy_publish
from judging.models import Exam, KnownPair, Sitting
from judging.qualification.services.exams import exam_close, exam_create, known_pair_anchor
from tests.conftest import Messages
from tests.factories import ProjectFactory, admin, lead
from tests.judging.exams import (
    by_pair,
    closed_exam,
    cohort_exam,
    examinee,
    give,
    pairs_in_order,
    regrade,
    sit,
    start,
    tutorial,
)
from tests.judging.views.acts import url

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


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
    for grades in (agreed, agreed, agreed, [4, 1, 2, 3, 4, 4, 3, 2, 1, 0]):
        user = examinee(project)
        Identity.objects.create(user=user, name="Somebody Private")
        sit(user, project, by_pair(exam, grades))
    with messages():
        exam_close(exam=exam, actor=lead(project))
    exam.refresh_from_db()
    return exam


class TestOpen:
    def test_an_empty_project_says_what_is_lacking(self, client: Client, project: Project, boss: User) -> None:
        page = body(client, "exams", project)
        assert "No exam yet" in page
        assert "3 more than are at the exam now" in page
        assert "there are no known pairs yet" in page

    def test_a_cohort_is_opened(self, client: Client, project: Project, boss: User) -> None:
        form = {"kind": "cohort", "queries": 2, "depth": 3, "seed": 8}
        answer = client.post(url("exam-create", project), form)
        exam = Exam.objects.get()
        assert answer.headers["Location"] == url("exam", exam)
        assert (exam.state, exam.queries, exam.depth, exam.seed) == ("preparing", 2, 3, 8)
        assert "Being prepared" in body(client, "exam", exam)

    def test_too_few_known_pairs_are_reported_with_figures(self, client: Client, project: Project, boss: User) -> None:
        closed_exam(project, [(0, 1)])
        answer = client.post(url("exam-create", project), {"kind": "stored", "queries": 1, "depth": 5})
        assert answer.status_code == 409
        assert "Too few pairs of known truth: 2, where 5 are needed" in answer.content.decode()

    @pytest.mark.parametrize("form", [{}, {"kind": "oral"}, {"kind": "cohort", "queries": 0, "depth": 1}])
    def test_a_form_that_cannot_be_read_is_422(
        self, client: Client, project: Project, boss: User, form: dict[str, object]
    ) -> None:
        assert client.post(url("exam-create", project), form).status_code == 422
        assert not Exam.objects.exists()

    def test_a_failed_preparation_says_why(self, client: Client, project: Project, boss: User) -> None:
        exam = cohort_exam(project, state="failed", error="Previews of 3 moments are ready.")
        assert "Previews of 3 moments are ready." in body(client, "exam", exam)


class TestClose:
    def test_progress_is_shown_by_number(self, client: Client, project: Project, boss: User) -> None:
        exam = cohort_exam(project)
        user = examinee(project)
        give(user, pairs_in_order(start(user, project))[0], 2)
        page = body(client, "exam", exam)
        assert "1 of 4" in page
        assert f'<th scope="row">{user.memberships.get().number}</th>' in page
        assert "0 have" in page  # given all grades, of the three it takes

    def test_unfinished_people_are_named_before_it_is_closed(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project)
        for _ in range(3):
            sit(examinee(project), project, lambda known_pair: 2)
        late = examinee(project)
        start(late, project)
        asking = client.post(url("exam-close", exam))
        assert asking.status_code == 409
        assert f"Annotator {late.memberships.get().number} has not handed in" in asking.content.decode()
        number = late.memberships.get().number
        assert client.post(url("exam-close", exam), {"confirmed": number + 1}).status_code == 409
        with messages():
            client.post(url("exam-close", exam), {"confirmed": number})
        exam.refresh_from_db()
        assert exam.state == "closed"
        assert "missed" in body(client, "exam", exam)


class TestMissed:
    def missed(self, project: Project, messages: Messages) -> Sitting:
        closed_exam(project, [(0, 1, 2, 3, 4)])
        exam = exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        user = examinee(project)
        attempt = start(user, project)
        give(user, pairs_in_order(attempt)[0], 2)
        with messages():
            exam_close(exam=exam, actor=lead(project), confirmed=[user.memberships.get().number or 0])
        return Sitting.objects.select_related("exam").get(pk=attempt.pk)

    def test_the_lead_decides_and_everybody_reads_the_same(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        attempt = self.missed(project, messages)
        annotators = Client()
        annotators.force_login(attempt.annotator)
        pages = [(client, "exam", attempt.exam), (annotators, "sitting", attempt), (annotators, "desk", project)]
        before = [without_token(body(*page)) for page in pages]
        assert "costs no attempt" in before[0] and "Count it as an attempt" in before[0]
        assert all("does not count as an attempt, unless your lead decides so" in html.lower() for html in before[1:])
        answer = client.post(url("missed-exam-count", attempt), {"counts": "yes", "reason": "Saw the pairs."})
        assert answer.headers["Location"] == url("exam", attempt.exam)
        after = [body(*page) for page in pages]
        assert "counts as an attempt" in after[0] and "Do not count it" in after[0]
        assert all("Your lead has decided that it counts as" in html for html in after[1:])
        client.post(url("missed-exam-count", attempt), {"counts": "no", "reason": "Was ill."})
        assert [without_token(body(*page)) for page in pages[1:]] == before[1:]

    @pytest.mark.parametrize("form", [{}, {"counts": "yes"}, {"counts": "perhaps", "reason": "x"}])
    def test_a_form_that_cannot_be_read_changes_nothing(
        self, client: Client, project: Project, boss: User, messages: Messages, form: dict[str, str]
    ) -> None:
        attempt = self.missed(project, messages)
        client.post(url("missed-exam-count", attempt), form)
        assert not Sitting.objects.filter(missed_counts=True).exists()

    def test_an_attempt_at_a_tutorial_is_no_exam(self, client: Client, project: Project, boss: User) -> None:
        tutorial(project)
        attempt = start(examinee(project, "training"), project, "tutorial")
        assert client.get(url("missed-exam", attempt)).status_code == 404
        assert client.post(url("missed-exam-count", attempt), {"counts": "yes", "reason": "x"}).status_code == 404


class TestPower:
    def page_of(self, client: Client, project: Project, query: str = "", **headers: str) -> str:
        return client.get(url("exams", project) + query, headers=headers).content.decode()

    def test_the_default_rule_warns_of_nothing_at_ten_by_ten(
        self, client: Client, project: Project, boss: User
    ) -> None:
        page = self.page_of(client, project)
        assert "Who would pass" in page
        assert "below 0.1 %" in page
        assert "lets through who cannot grade" not in page
        assert "published judgments of TVR-Ranking" in page

    def test_a_rule_of_kappa_alone_is_warned_of(self, client: Client, project: Project, boss: User) -> None:
        policy_publish(project=project, actor=boss, exam_bias=4, exam_levels=1)
        page = self.page_of(client, project)
        assert "lets through who cannot grade" in page
        assert page.count('<span class="state failed">') == 2  # who tells 0 from the rest, and who grades too high

    def test_another_size_is_looked_at_before_it_is_opened(self, client: Client, project: Project, boss: User) -> None:
        closed_exam(project, [(0, 1, 2, 3, 4)] * 4)
        part = self.page_of(client, project, "?kind=stored&queries=4&depth=5", **{"HX-Request": "true"})
        assert part.strip().startswith('<section id="power"')
        assert "4 × 5 pairs, stored truth" in part
        assert "on pairs drawn as they will be" in part
        assert "None of these pairs had its truth shown" in part
        part = self.page_of(client, project, "?kind=stored&queries=9&depth=5", **{"HX-Request": "true"})
        assert "too few known pairs" in part
        assert "10 × 10 pairs, first cohort" in self.page_of(client, project, "?kind=oral&queries=0")

    def test_it_says_what_was_shown_before(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        closed_exam(project, [(0, 1, 2, 3, 4)])
        exam = exam_create(project=project, actor=None, kind="stored", queries=1, depth=5)
        with messages():
            regrade(sit(examinee(project), project, lambda known_pair: 4 - int(known_pair.truth or 0)))
        number = start(examinee(project), project).annotator.memberships.get().number
        page = body(client, "exam", exam)
        assert "0 of 5" in page and "truth of 5 shown before" in page
        rows = list(csv.DictReader(client.get(url("exam-csv", exam)).content.decode().splitlines()))
        assert [(row["annotator"], row["shown_before"]) for row in rows][-1] == (str(number), "5")
        with messages():
            exam_close(exam=exam, actor=boss, confirmed=[number or 0])
        page = self.page_of(client, project, "?kind=stored&queries=1&depth=5")
        assert "Of the 5 pairs of an attempt, 5 had their truth shown" in page

    def test_who_only_looks_is_shown_no_form_and_no_chances(self, client: Client, project: Project, boss: User) -> None:
        client.force_login(admin(project))
        assert "Who would pass" not in self.page_of(client, project)


class TestAnchors:
    def test_a_lead_grades_pairs_beforehand_and_sees_who_is_far(
        self, client: Client, project: Project, boss: User
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=3)
        assert "Your anchor" in body(client, "exam", exam)
        for known_pair in exam.known_pairs.all():
            answer = client.post(url("known-anchor", known_pair), {"grade": "0"})
            assert answer.headers["Location"].endswith(f"#pair-{known_pair.uuid}")
        assert body(client, "exam", exam).count('anchor <b class="grade grade-0">0</b>') == 3
        far = examinee(project)
        sit(far, project, lambda known_pair: 4)
        page = body(client, "exam", exam)
        assert "Beside your anchors" in page and ">far</span>" in page
        assert "Your anchor" not in page
        client.post(url("known-anchor", exam.known_pairs.first()), {"grade": ""}, follow=True)
        assert not exam.known_pairs.filter(anchor=None).exists()

    def test_an_anchor_is_changed_and_taken_back(self, client: Client, project: Project, boss: User) -> None:
        known_pair = cohort_exam(project, queries=1, depth=1).known_pairs.get()
        for value, anchor in (("3", 3), ("7", 3), ("", None)):
            client.post(url("known-anchor", known_pair), {"grade": value})
            known_pair.refresh_from_db()
            assert known_pair.anchor == anchor

    def test_annotators_learn_nothing_of_anchors(self, client: Client, project: Project, messages: Messages) -> None:
        exam = cohort_exam(project, queries=1, depth=3)
        boss = lead(project)
        people = [examinee(project) for _ in range(4)]
        client.force_login(people[0])
        attempts = {user: start(user, project) for user in people}

        def pages() -> list[str]:
            attempt = attempts[people[0]]
            names = [("desk", project), ("sitting", attempt)]
            return [without_token(body(client, *name)) for name in names]

        without = pages()
        for known_pair in exam.known_pairs.all():
            known_pair_anchor(pair=known_pair, actor=boss, grade=0)
        assert pages() == without
        for user in people:
            sit(user, project, lambda known_pair: 4)
        waiting = pages()
        assert not any("anchor" in page.lower() for page in waiting)
        left_out = [user.memberships.get().number or 0 for user in people[:1]]
        with messages():
            exam_close(exam=exam, actor=boss, left_out=left_out)
        assert not any(word in page.lower() for page in pages() for word in ("anchor", "left out", "shown before"))


class TestTruthRule:
    def exam_taken(self, project: Project) -> Exam:
        exam = cohort_exam(project, queries=1, depth=2)
        for grades in ([4, 4], [4, 4], [0, 4]):
            sit(examinee(project), project, by_pair(exam, grades))
        return exam

    def test_the_lead_chooses_how_the_truth_follows(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = self.exam_taken(project)
        with messages():
            client.post(url("exam-close", exam), {"truth_rule": "agreeing"})
        page = body(client, "exam", exam)
        assert "1 pair without such a majority has none" in page
        assert page.count("no truth: too few agree") == 1

    def test_an_exam_of_too_few_offers_to_end_it_and_says_why_it_cannot_be_closed(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=2)
        sit(examinee(project), project, by_pair(exam, [4, 4]))
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

    def test_no_result_is_reported_to_the_lead_and_to_the_person(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = self.exam_taken(project)
        with messages():
            client.post(url("exam-close", exam), {"truth_rule": "agreeing"})
        for attempt in exam.sittings.filter(state="feedback"):
            with messages():
                regrade(attempt)
        page = body(client, "exam", exam)
        assert page.count("compared on 0 of 2 pairs; costs no attempt") == 3
        assert "neither passed nor failed" in page
        assert "not passed" not in page
        rows = list(csv.DictReader(body(client, "exam-csv", exam).splitlines()))
        assert [row["passed"] for row in rows] == [""] * 3
        assert all("0 of the 2 pairs" in row["why"] for row in rows)
        attempt = exam.sittings.order_by("pk")[0]
        client.force_login(attempt.annotator)
        assert "<h1>No result</h1>" in body(client, "sitting", attempt)
        desk = body(client, "desk", project)
        assert "Your last exam gave no result" in desk
        assert "being computed" not in desk

    def test_what_was_chosen_stays_while_it_asks(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = self.exam_taken(project)
        sit(examinee(project), project, by_pair(exam, [4, 4]))
        late = examinee(project)
        out = exam.sittings.order_by("pk")[2].annotator.memberships.get().number
        asking = client.post(url("exam-close", exam), {"truth_rule": "agreeing", "left_out": out}).content.decode()
        form = dict(re.findall(r'<input type="hidden" name="(confirmed|truth_rule|left_out)" value="(\w+)">', asking))
        assert form == {"truth_rule": "agreeing", "left_out": str(out), "confirmed": str(late.memberships.get().number)}
        with messages():
            client.post(url("exam-close", exam), form)
        exam.refresh_from_db()
        assert exam.truth_rule == "agreeing"
        assert exam.sittings.get(left_out=True).annotator.memberships.get().number == out
        assert "left out of the truth" in body(client, "exam", exam)

    def test_an_unknown_rule_closes_nothing(self, client: Client, project: Project, boss: User) -> None:
        exam = self.exam_taken(project)
        client.post(url("exam-close", exam), {"truth_rule": "loudest"})
        exam.refresh_from_db()
        assert exam.state == "open"


class TestReport:
    def test_the_cohort_stands_beside_the_paper(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        page = body(client, "exam", closed(project, messages))
        assert "2.50 %" in page and "11.83 %" in page
        assert page.count("paper: 0.49") == 3
        assert "Somebody" not in page
        assert "in feedback" in page

    def test_every_first_grade_is_shown_and_far_ones_are_marked(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        page = body(client, "exam", closed(project, messages))
        assert page.count('class="given') == 40
        assert page.count("far from the truth</span>") == 1

    def test_as_a_file(self, client: Client, project: Project, boss: User, messages: Messages) -> None:
        exam = closed(project, messages)
        answer = client.get(url("exam-csv", exam))
        rows = list(csv.DictReader(answer.content.decode().splitlines()))
        assert [float(row["misaligned"]) for row in rows] == [0, 0, 0, 0.1]
        assert [row["passed"] for row in rows] == ["True", "True", "True", ""]
        assert float(rows[0]["kappa_quadratic"]) == pytest.approx(1)
        assert float(rows[3]["pairwise_linear"]) < 1
        assert answer.headers["Content-Disposition"] == 'attachment; filename="momentjudge-exam-1.csv"'
        assert "Private" not in answer.content.decode()

    def test_admins_look_and_leads_decide(self, client: Client, project: Project, messages: Messages) -> None:
        exam = closed(project, messages)
        client.force_login(admin(project))
        page = body(client, "exam", exam)
        assert "truth" in page
        assert "Keep the explanation" not in page and "Take it out" not in page
        assert client.post(url("exam-create", project), {"kind": "cohort"}).status_code == 403

    def test_an_undefined_kappa_is_shown_as_such(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=3)
        for _ in range(3):
            sit(examinee(project), project, lambda known_pair: 2)
        with messages():
            exam_close(exam=exam, actor=boss)
        page = body(client, "exam", exam)
        assert page.count("undefined</span>") >= 6
        assert "nan" not in page.lower().replace("nan_", "")


class TestPairs:
    def test_explanations_are_written_before_the_feedback_begins(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=1)
        known_pair = exam.known_pairs.get()
        assert "Keep the explanation" in body(client, "exam", exam)
        client.post(url("known-explain", known_pair), {"explanation": "The door stays shut."})
        far = examinee(project)
        for user, grade in [(examinee(project), 4), (examinee(project), 4), (examinee(project), 4), (far, 0)]:
            sit(user, project, by_pair(exam, [grade]))
        with messages():
            exam_close(exam=exam, actor=boss)
        client.force_login(far)
        assert "The door stays shut." in body(client, "sitting", exam.sittings.get(annotator=far))

    def test_grades_of_who_is_at_it_are_not_shown(self, client: Client, project: Project, boss: User) -> None:
        exam = cohort_exam(project, queries=1, depth=2)
        user = examinee(project)
        give(user, pairs_in_order(start(user, project))[0], 2)
        assert 'class="given' not in body(client, "exam", exam)
        sit(examinee(project), project, by_pair(exam, [1, 1]))
        assert body(client, "exam", exam).count('class="given') == 2

    def test_an_explanation_is_saved(self, client: Client, project: Project, boss: User) -> None:
        known_pair = closed_exam(project, [(2,)]).known_pairs.get()
        answer = client.post(url("known-explain", known_pair), {"explanation": "The door stays shut.\n"})
        assert answer.headers["Location"].endswith(f"#pair-{known_pair.uuid}")
        known_pair.refresh_from_db()
        assert known_pair.explanation == "The door stays shut."
        assert "The door stays shut." in body(client, "exam", known_pair.exam)

    def test_a_bad_pair_is_taken_out_with_a_reason(self, client: Client, project: Project, boss: User) -> None:
        known_pair = closed_exam(project, [(2,)]).known_pairs.get()
        client.post(url("known-retire", known_pair), {"reason": ""})
        assert not KnownPair.objects.filter(is_retired=True).exists()
        client.post(url("known-retire", known_pair), {"reason": "The clip is black."})
        assert KnownPair.objects.filter(is_retired=True).count() == 1
        event = AuditEvent.objects.get(action="known_pair.retire")
        assert (event.subject, event.data["reason"]) == (known_pair.uuid, "The clip is black.")

    def test_an_explanation_that_is_too_long_is_refused(self, client: Client, project: Project, boss: User) -> None:
        known_pair = closed_exam(project, [(2,)]).known_pairs.get()
        page = client.post(url("known-explain", known_pair), {"explanation": "x" * 4001}, follow=True).content.decode()
        assert "4,000 characters" in page
        assert KnownPair.objects.get().explanation == ""
