"""The pages of judgments from Label Studio: who gets in, an export's way through them, and what is refused."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from judging.models import Judgment, JudgmentImport
from judging.work.rules import rules_of
from tests.conftest import Messages
from tests.factories import ProjectFactory, UserFactory, admin, annotator, lead
from tests.judging.imports.exports import annotation, rated, task, text
from tests.judging.views.acts import logged_in

pytestmark = pytest.mark.django_db
LIST, NEW = "judging:judgment-imports", "judging:judgment-import-new"
OF_ONE = {"": "get", "-report": "get", "-confirm": "post", "-discard": "post"}
EXPORT = [task(1, {"pair_id": 0}, annotation(1, 7, rated(4)), annotation(2, 8, rated(9)))]


def send(client: Client, messages: Messages, **values: object) -> HttpResponse:
    file = SimpleUploadedFile("old.json", text(EXPORT).encode())
    form = {"project_name": "old", "pair": "pair_id", "file": file, **values}
    with messages():
        return client.post(reverse(NEW), {name: value for name, value in form.items() if value is not None})  # type: ignore[return-value]


def of_one(client: Client, name: str, uuid: object, data: dict[str, str] | None = None) -> HttpResponse:
    url = reverse(f"judging:judgment-import{name}", args=[uuid])
    return getattr(client, OF_ONE[name])(url, data or {})  # type: ignore[no-any-return]


@pytest.fixture
def owner() -> User:
    return lead(ProjectFactory())


@pytest.fixture
def row(owner: User, messages: Messages) -> JudgmentImport:
    send(logged_in(owner), messages)
    return JudgmentImport.objects.get()


@pytest.mark.parametrize("name", [LIST, NEW])
def test_leads_and_admins_of_any_project_get_in(name: str) -> None:
    project = ProjectFactory()
    people = [lead(project), admin(project), annotator(project), UserFactory()]
    assert [logged_in(person).get(reverse(name)).status_code for person in people] == [200, 200, 403, 403]
    assert Client().get(reverse(name)).headers["Location"] == f"/login/?next={reverse(name)}"


def test_anonymous_people_are_sent_to_the_log_in(row: JudgmentImport) -> None:
    for path in (reverse(f"judging:judgment-import{name}", args=[row.uuid]) for name in OF_ONE):
        assert Client().get(path).headers["Location"] == f"/login/?next={path}"


def test_from_the_form_to_the_project(row: JudgmentImport, owner: User, messages: Messages) -> None:
    client = logged_in(owner)
    page = of_one(client, "", row.uuid).content.decode()
    assert "Leave out the 1 that is refused" in page
    assert "the value &#x27;9&#x27; is no grade from 0 to 4" in page
    assert "without videos and times" in page and "1 is dropped, for want of a second round." in page
    assert "The moment's name only tells pairs apart: it is not kept" in client.get(reverse(NEW)).content.decode()
    with messages():
        assert of_one(client, "-confirm", row.uuid).status_code == 409
        assert of_one(client, "-confirm", row.uuid, {"skip_bad": "yes"}).status_code == 302
    new_project = Project.objects.get(name="old")
    assert reverse("judging:overview", args=[new_project.uuid]) in of_one(client, "", row.uuid).content.decode()
    assert Judgment.objects.filter(pair__batch__project=new_project).count() == 1
    assert client.get(reverse("judging:overview", args=[new_project.uuid])).status_code == 200
    assert "done" in client.get(reverse(LIST)).content.decode()


def test_rules_of_the_file(owner: User, messages: Messages) -> None:
    form = logged_in(owner).get(reverse(NEW)).content.decode()
    assert 'name="rules"' in form and 'name="top_grade"' in form and "0 to 4." not in form
    send(logged_in(owner), messages, rules="yes-or-no", top_grade="9")
    row = JudgmentImport.objects.get()
    assert (row.counts["judgments"], row.counts["refused"]) == (2, 0)
    with messages():
        of_one(logged_in(owner), "-confirm", row.uuid)
    assert rules_of(Project.objects.get(name="old")) == (9, 3, 0, 2)
    judgments = Judgment.objects.filter(pair__batch__project__name="old").order_by("slot")
    assert [(row.round, row.slot, row.grade) for row in judgments] == [(1, 1, 4), (1, 2, 9)]


def test_a_file_uploaded_before_there_were_rules(row: JudgmentImport, messages: Messages) -> None:
    del row.mapping["rules"]
    row.save(update_fields=["mapping"])
    with messages():
        of_one(logged_in(row.owner), "-confirm", row.uuid, {"skip_bad": "yes"})
    assert rules_of(Project.objects.get(name="old")) == (4, 2, 1, 2)


def test_refused(owner: User, messages: Messages) -> None:
    ProjectFactory(name="taken")
    for values, status, words in (
        ({"file": None}, 422, "Choose a file"),
        ({"project_name": " "}, 422, "Name the project"),
        ({"pair": ""}, 422, "Name the field"),
        ({"grades": "Perfect"}, 422, "write it as Perfect=4"),
        ({"grades": "yes=2", "rules": "yes-or-no"}, 422, "grades go from 0 to 1"),
        ({"rules": "none"}, 422, "Choose one of the rules"),
        ({"top_grade": "10"}, 422, "less than or equal to 9"),
        ({"project_name": "taken"}, 409, "already"),
    ):
        answer = send(logged_in(owner), messages, **values)
        assert (answer.status_code, words in answer.content.decode()) == (status, True)
    assert not JudgmentImport.objects.exists()
