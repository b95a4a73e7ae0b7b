"""Pages and endpoints of verification: what a lead may start, what is refused, and who learns names."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from judging.models import VerificationStudy
from tests.factories import ProjectFactory, VerificationPairFactory, VerificationStudyFactory, admin, checker, lead
from tests.judging.api.acts import bearer, url
from tests.judging.verification import acts

pytestmark = pytest.mark.django_db
FORM = {"name": "first", "n_pairs": 1, "answers_per_pair": 1, "statements": "It fits.\n\n It  is the only one. "}


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_a_lead_starts_a_study_and_reads_what_is_wrong() -> None:
    project: Project = VerificationPairFactory().study.project
    client, page = browser(lead(project)), reverse("judging:verification-create", args=[project.uuid])
    for changes, words in (
        ({"name": ""}, "Give the study a name."),
        ({"n_pairs": 2}, "has 1 accepted descriptions"),
        ({"answers_per_pair": 6}, "less than or equal to 5"),
        ({"statements": " \n"}, "Write one statement at least."),
        ({"statements": "a\nb\na"}, "Each statement stands there once."),
        ({"statements": "\n".join("abcdefghij")}, "Write 9 statements at most."),
        ({"statements": "a" * 201}, "A statement has 200 characters at most."),
        ({"round": "1"}, "Choose a round of this project."),
    ):
        answer: Any = client.post(page, FORM | changes)
        assert answer.status_code in (409, 422) and words in answer.content.decode(), words
    assert client.post(page, FORM).status_code == 302
    study = VerificationStudy.objects.get(name="first")
    assert [row.text for row in study.statements.all()] == ["It fits.", "It is the only one."]
    assert study.seed >= 0


def test_answers_that_are_incomplete_stay_on_the_page() -> None:
    study = VerificationPairFactory().study
    study.statements.create(position=2, text="It is the only one.")
    person = checker(study.project)
    assignment = acts.take(study, person)
    page = reverse("judging:verification-answer", args=[assignment.uuid])
    answer: Any = browser(person).post(page, {"statement_2": "4"})
    assert answer.status_code == 422 and b"statement 1 as well" in answer.content
    assert b'name="statement_2" value="4" checked' in answer.content
    answer = browser(person).post(page, {"statement_1": "6", "statement_2": "4"})
    assert answer.status_code == 422 and b"Choose one of the five answers" in answer.content


def test_only_leads_learn_who_wrote_and_programs_get_the_shares() -> None:
    query = acts.accepted_query()
    study = VerificationStudyFactory(project=query.clip.round.project)
    acts.answer(VerificationPairFactory(study=study, description=query.description), value=2)
    page = reverse("judging:verification-study", args=[study.uuid])
    by_lead, by_admin = (browser(role(study.project)).get(page).content.decode() for role in (lead, admin))
    assert query.writer.username in by_lead and query.writer.username not in by_admin and "writer 1" in by_admin
    program = Client(headers=bearer(lead(study.project)))
    report = program.get(url("verification-study", study)).json()["report"]
    [line] = report["statements"]
    assert (line["counts"], line["neutral"]["value"], line["agree"]["value"]) == ([0, 1, 0, 0, 0], 0.0, 0.0)
    assert [line["group"] for line in report["writers"]] == ["writer 1"]
    refusal = program.post(
        url("verification-studies", study.project), {"name": study.name, "n_pairs": 1}, "application/json"
    )
    assert refusal.status_code == 409 and "choose another name" in refusal.content.decode()


def test_a_study_of_nothing_says_why() -> None:
    project = ProjectFactory()
    page = browser(lead(project)).get(reverse("judging:verification", args=[project.uuid])).content.decode()
    assert "there are none yet" in page
