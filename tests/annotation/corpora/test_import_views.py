"""The pages of imports: who gets in, a file's way through them, and what is refused."""

import csv
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.models import Corpus, CorpusImport, Description
from core.exceptions import StorageFull
from tests.conftest import Messages
from tests.factories import MembershipFactory, ProjectFactory, UserFactory, admin, annotator, lead

pytestmark = pytest.mark.django_db
ROWS = b"video,start,end,description,duration\nv,1,2,One <b>sits</b>.,60\nv,9,4,Backwards.,\n"
LIST, NEW = "annotation:corpora", "annotation:import-new"
OF_ONE = {"import": "get", "import-report": "get", "import-confirm": "post", "import-discard": "post"}


def signed_in(user: User, **values: Any) -> Client:
    client = Client(**values)
    client.force_login(user)
    return client


def send(client: Client, messages: Messages, data: bytes = ROWS, **values: object) -> HttpResponse:
    form = {"format": "csv", "corpus_name": "mine", "file": SimpleUploadedFile("mine.csv", data), **values}
    with messages():
        return client.post(reverse(NEW), form)  # type: ignore[return-value]


def of_one(client: Client, name: str, uuid: object, data: dict[str, str] | None = None) -> HttpResponse:
    return getattr(client, OF_ONE[name])(reverse(f"annotation:{name}", args=[uuid]), data or {})  # type: ignore[no-any-return]


@pytest.fixture
def owner() -> User:
    return lead(ProjectFactory())


@pytest.fixture
def row(owner: User, messages: Messages) -> CorpusImport:
    send(signed_in(owner), messages)
    return CorpusImport.objects.get()


@pytest.mark.parametrize("name", [LIST, NEW])
def test_leads_and_admins_of_any_project_get_in(name: str) -> None:
    project = ProjectFactory()
    people = [lead(project), admin(project), annotator(project), UserFactory()]
    assert [signed_in(person).get(reverse(name)).status_code for person in people] == [200, 200, 403, 403]
    assert Client().get(reverse(name)).headers["Location"] == f"/login/?next={reverse(name)}"


def test_anonymous_people_are_sent_to_the_log_in_and_who_lost_the_role_keeps_no_access(row: CorpusImport) -> None:
    paths = [reverse(f"annotation:{name}", args=[row.uuid]) for name in OF_ONE]
    answers = [Client().get(path) for path in paths]
    assert [answer.headers["Location"] for answer in answers] == [f"/login/?next={path}" for path in paths]
    for step in ("confirm", "discard"):  # a get of a step leads back to the page
        answer = signed_in(row.owner).get(reverse(f"annotation:import-{step}", args=[row.uuid]))
        assert answer.headers["Location"] == reverse("annotation:import", args=[row.uuid])
    row.owner.memberships.all().delete()
    assert {of_one(signed_in(row.owner), name, row.uuid).status_code for name in OF_ONE} == {403}


def test_writing_takes_its_token_and_other_pages_still_take_no_file(row: CorpusImport, messages: Messages) -> None:
    client = signed_in(row.owner, enforce_csrf_checks=True)
    assert send(client, messages).status_code == 403
    assert CorpusImport.objects.count() == 1
    answer = Client().post(reverse("login"), {"username": SimpleUploadedFile("x", b"x")})
    assert (answer.status_code, b"No page takes files" in answer.content) == (400, True)


class TestSteps:
    def test_a_file_is_checked_shown_confirmed_and_listed(self, row: CorpusImport, messages: Messages) -> None:
        client = signed_in(row.owner)
        CorpusImport.objects.update(state="importing", bytes_read=30, bytes_total=60)
        page = of_one(client, "import", row.uuid).content.decode()
        assert 'hx-trigger="every 2s"' in page and "50 %" in page
        CorpusImport.objects.update(state="checked")
        page = of_one(client, "import", row.uuid).content.decode()
        assert "Leave out the 1 bad line" in page
        assert "One &lt;b&gt;sits&lt;/b&gt;." in page and "<b>sits" not in page
        assert "starts at 9 s, not before its end at 4 s" in page
        answer = of_one(client, "import-report", row.uuid)
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        outcomes = [cells[1:4:2] for cells in csv.reader(lines)]
        assert outcomes == [["line", "outcome"], ["2", "flagged"], ["3", "refused"]]

        assert of_one(client, "import-confirm", row.uuid).status_code == 409  # its bad line was not given up
        with messages():
            of_one(client, "import-confirm", row.uuid, {"skip_bad": "yes"})
        page = of_one(client, "import", row.uuid).content.decode()
        assert "Imported. 1 description added" in page and "there its descriptions are rewritten" in page
        assert Description.objects.get().text == "One <b>sits</b>."
        html = client.get(reverse(LIST)).content.decode()
        assert "mine.csv" in html and "none yet" in html
        mine = ProjectFactory(corpus=Corpus.objects.get(name="mine"))
        MembershipFactory(user=row.owner, project=mine, role="lead")
        page = of_one(client, "import", row.uuid).content.decode()
        assert "1 description is not rewritten yet." in page and f"Rewrite in {mine.name}" in page

    def test_it_may_be_discarded(self, row: CorpusImport) -> None:
        client = signed_in(row.owner)
        assert of_one(client, "import-discard", row.uuid).headers["Location"] == reverse(LIST)
        assert "was discarded" in of_one(client, "import", row.uuid).content.decode()
        assert of_one(client, "import-discard", row.uuid).status_code == 409

    def test_a_failure_offers_next_steps(self, owner: User, messages: Messages) -> None:
        client = signed_in(owner)
        page = client.get(send(client, messages, b"x,y\n1,2\n").headers["Location"]).content.decode()
        assert "Nothing in this file can be imported" in page and "waits for you" not in page
        assert f'href="{reverse(NEW)}?to=mine">Try again' in page and f'href="{reverse(LIST)}">Back to corpora' in page
        assert 'value="mine"' in client.get(f"{reverse(NEW)}?to=mine").content.decode()

    def test_the_file_says_which_form_it_has(self, owner: User, messages: Messages) -> None:
        client = signed_in(owner)
        assert '<option value="">Find out from the file' in client.get(reverse(NEW)).content.decode()
        send(client, messages, format="")
        assert CorpusImport.objects.get().format == "csv"
        answer = send(client, messages, b"what is this", format="")
        assert (answer.status_code, "does not tell its form" in answer.content.decode()) == (422, True)

    def test_the_header_is_that_of_the_only_project(self, owner: User) -> None:
        assert "Overview" in signed_in(owner).get(reverse(LIST)).content.decode()
        MembershipFactory(user=owner, role="admin")
        assert "Overview" not in signed_in(owner).get(reverse(LIST)).content.decode()


class TestRefused:
    def test_a_form_with_a_fault(self, owner: User, messages: Messages) -> None:
        more = {name: SimpleUploadedFile("x", b"x") for name in ("durations", "third")}
        for values, words in (
            ({"format": "exe"}, "This is none of the forms."),
            ({"file": ""}, "Choose a file."),
            ({"file": SimpleUploadedFile("x", b"")}, "The file is empty."),
            ({"corpus_name": " "}, "Name the corpus."),
            ({"corpus_name": "a\0b"}, "Null characters are not allowed."),
            ({"source_split": "x" * 41}, "at most 40 characters"),
        ):
            answer = send(signed_in(owner), messages, **values)
            assert (answer.status_code, words in answer.content.decode()) == (422, True), words
        assert send(signed_in(owner), messages, **more).status_code == 400  # more files than the form has
        assert not CorpusImport.objects.exists()

    def test_a_disk_that_is_full_or_a_file_too_large(
        self, owner: User, messages: Messages, monkeypatch: pytest.MonkeyPatch, settings: Any
    ) -> None:
        def refuse(*args: object, **options: object) -> None:
            raise StorageFull

        settings.IMPORT_MAX_MB = 1
        answer = send(signed_in(owner), messages, b"x" * 3 * 2**20)
        assert (answer.status_code, b"larger than 1 MB" in answer.content) == (413, True)
        monkeypatch.setattr(default_storage, "save", refuse)
        answer = send(signed_in(owner), messages, corpus_name="Typed with care")
        assert (answer.status_code, b"is full" in answer.content) == (507, True)
        assert b"Typed with care" in answer.content
        assert not CorpusImport.objects.exists()
