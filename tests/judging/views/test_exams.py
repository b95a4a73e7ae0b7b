"""The lead's pages of exams: opening, progress, closing, the report, explanations."""

import csv

import pytest
from django.test import Client

from annotation.models import AuditEvent, Identity, Project, User
from judging.models import Exam, KnownPair
from judging.services.exams import exam_close
from tests.conftest import Messages
from tests.factories import ProjectFactory, admin, lead
from tests.judging.exams import asked, by_pair, closed_exam, cohort_exam, examinee, give, sit, start
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
        shown = body(client, "exams", project)
        assert "No exam yet" in shown
        assert "3 more than are at the exam now" in shown
        assert "there are no known pairs yet" in shown

    def test_a_cohort_is_opened(self, client: Client, project: Project, boss: User) -> None:
        form = {"kind": "cohort", "queries": 2, "depth": 3, "seed": 8}
        answer = client.post(url("exam-create", project), form)
        exam = Exam.objects.get()
        assert answer.headers["Location"] == url("exam", exam)
        assert (exam.state, exam.queries, exam.depth, exam.seed) == ("preparing", 2, 3, 8)
        assert "Being prepared" in body(client, "exam", exam)

    def test_too_few_known_pairs_are_said_with_figures(self, client: Client, project: Project, boss: User) -> None:
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
    def test_progress_is_told_by_number(self, client: Client, project: Project, boss: User) -> None:
        exam = cohort_exam(project)
        user = examinee(project)
        give(user, asked(start(user, project))[0], 2)
        shown = body(client, "exam", exam)
        assert "1 of 4" in shown
        assert f'<th scope="row">{user.memberships.get().number}</th>' in shown
        assert "0 have" in shown  # given all grades, of the three it takes

    def test_unfinished_people_are_named_before_it_is_closed(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project)
        for _ in range(3):
            sit(examinee(project), project, lambda known: 2)
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


class TestReport:
    def test_the_cohort_stands_beside_the_paper(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        shown = body(client, "exam", closed(project, messages))
        assert "2.50 %" in shown and "11.83 %" in shown
        assert shown.count("paper: 0.49") == 3
        assert "Somebody" not in shown
        assert "in feedback" in shown

    def test_every_first_grade_is_shown_and_far_ones_are_marked(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        shown = body(client, "exam", closed(project, messages))
        assert shown.count('class="given') == 40
        assert shown.count("far from the truth</span>") == 1

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
        shown = body(client, "exam", exam)
        assert "truth" in shown
        assert "Keep the explanation" not in shown and "Take it out" not in shown
        assert client.post(url("exam-create", project), {"kind": "cohort"}).status_code == 403

    def test_an_undefined_kappa_is_shown_as_such(
        self, client: Client, project: Project, boss: User, messages: Messages
    ) -> None:
        exam = cohort_exam(project, queries=1, depth=3)
        for _ in range(3):
            sit(examinee(project), project, lambda known: 2)
        with messages():
            exam_close(exam=exam, actor=boss)
        shown = body(client, "exam", exam)
        assert shown.count("undefined</span>") >= 6
        assert "nan" not in shown.lower().replace("nan_", "")


class TestPairs:
    def test_an_explanation_is_kept(self, client: Client, project: Project, boss: User) -> None:
        known = closed_exam(project, [(2,)]).known_pairs.get()
        answer = client.post(url("known-explain", known), {"explanation": "The door stays shut.\n"})
        assert answer.headers["Location"].endswith(f"#pair-{known.uuid}")
        known.refresh_from_db()
        assert known.explanation == "The door stays shut."
        assert "The door stays shut." in body(client, "exam", known.exam)

    def test_a_bad_pair_is_taken_out_with_a_reason(self, client: Client, project: Project, boss: User) -> None:
        known = closed_exam(project, [(2,)]).known_pairs.get()
        client.post(url("known-retire", known), {"reason": ""})
        assert not KnownPair.objects.filter(is_retired=True).exists()
        client.post(url("known-retire", known), {"reason": "The clip is black."})
        assert KnownPair.objects.filter(is_retired=True).count() == 1
        event = AuditEvent.objects.get(action="known_pair.retire")
        assert (event.subject, event.data["reason"]) == (known.uuid, "The clip is black.")

    def test_an_explanation_that_is_too_long_is_refused(self, client: Client, project: Project, boss: User) -> None:
        known = closed_exam(project, [(2,)]).known_pairs.get()
        shown = client.post(url("known-explain", known), {"explanation": "x" * 4001}, follow=True).content.decode()
        assert "4,000 characters" in shown
        assert KnownPair.objects.get().explanation == ""
