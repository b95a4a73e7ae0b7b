"""Topics of a project: imported as a whole, written, changed; and their pages."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project, User
from annotation.models import Query, Topic, TopicImport, TopicVersion
from annotation.topics.services import topic_change, topic_create
from core.exceptions import NotPossible
from tests.conftest import Messages
from tests.factories import CandidateFactory, ProjectFactory, QueryFactory, lead

pytestmark = pytest.mark.django_db
ROWS = "number\ttitle\tdescription\tnarrative\n1\tA man sings\tA song.\t\n2\tA dog runs\t\tNo cats.\n"


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def topic(project: Project) -> Topic:
    return topic_create(project=project, title="A man sings", description="A song.", number=7)


def imported(project: Project, folder: Path, text: str, *options: str) -> dict[str, int]:
    path, out = folder / "topics.tsv", StringIO()
    path.write_text(text, encoding="utf-8")
    call_command("import_topics", project.name, str(path), *options, stdout=out, stderr=StringIO())
    return json.loads(out.getvalue().splitlines()[-1])  # type: ignore[no-any-return]


def texts(project: Project) -> list[tuple[object, ...]]:
    rows = TopicVersion.objects.filter(topic__query__project=project).order_by("topic__query__number", "version")
    return list(rows.values_list("topic__query__number", "version", "title", "description", "narrative"))


def test_a_file_becomes_queries_and_again_changes_nothing(project: Project, tmp_path: Path) -> None:
    assert imported(project, tmp_path, ROWS, "--split", "val", "--query-set", "topics")["new"] == 2
    queries = project.queries.order_by("number").values_list("number", "text", "split", "caption", "query_set__name")
    assert list(queries) == [(1, "A man sings", "val", None, "topics"), (2, "A dog runs", "val", None, "topics")]
    counts = imported(project, tmp_path, ROWS.replace("No cats.", "No cats, no birds."))
    assert (counts["new"], counts["changed"], counts["unchanged"]) == (0, 1, 1)
    assert texts(project) == [
        (1, 1, "A man sings", "A song.", ""),
        (2, 1, "A dog runs", "", "No cats."),
        (2, 2, "A dog runs", "", "No cats, no birds."),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("\tA cat sleeps", "the number is missing"),
        ("1\tA cat sleeps", "topic 1 stands on line 2 already"),
        ("3\tA man sings", "is that of the topic on line 2"),
        ("30\tA cat sleeps", "number 30 is that of a query of this project, which is no topic"),
        ("3\tA bird", "is the text of query 30"),
        ("7\tA cat sleeps", "topic 7 is 'Somebody waits' in this project; a file does not change titles"),
    ],
)
def test_one_bad_line_keeps_all_out(project: Project, tmp_path: Path, row: str, reason: str) -> None:
    QueryFactory(project=project, number=30, text="A bird", split="train")
    topic_create(project=project, number=7, title="Somebody waits")
    before = texts(project)
    errors = StringIO()
    path = tmp_path / "topics.tsv"
    path.write_text(ROWS + row + "\n", encoding="utf-8")
    with pytest.raises(CommandError) as refusal:
        call_command("import_topics", project.name, str(path), stdout=StringIO(), stderr=errors)
    assert refusal.value.returncode == 3
    assert f"line 4: {reason}" in errors.getvalue() or (reason in errors.getvalue() and "line 4" in errors.getvalue())
    assert texts(project) == before and Query.objects.count() == 2
    assert imported(project, tmp_path, ROWS + row + "\n", "--skip-bad")["new"] == 2


def test_the_title_changes_until_moments_are_ranked(project: Project, topic: Topic) -> None:
    other = {"description": "A song.", "narrative": ""}
    assert topic_change(topic=topic, title="A man hums", **other).version == 2
    assert Query.objects.get(number=7).text == "A man hums"
    CandidateFactory(query=topic.query)
    with pytest.raises(NotPossible, match="The title of topic 7 stays 'A man hums': moments were ranked by it"):
        topic_change(topic=topic, title="A man sings", **other)
    narrowed = {"title": "A man hums", "description": "A song.", "narrative": "No whistling."}
    assert topic_change(topic=topic, **narrowed, seen_version=2).version == 3
    assert topic_change(topic=topic, **narrowed).version == 3  # nothing differs
    with pytest.raises(NotPossible, match="Version 3 of topic 7 was saved meanwhile"):
        topic_change(topic=topic, **{**narrowed, "narrative": "x"}, seen_version=2)


class TestPages:
    @pytest.fixture
    def person(self, project: Project, client: Client) -> User:
        person = lead(project)
        client.force_login(person)
        return person

    @pytest.fixture
    def row(self, project: Project, person: User, client: Client, messages: Messages) -> TopicImport:
        file = SimpleUploadedFile("mine.tsv", (ROWS + "\tNo number\n").encode())
        url = reverse("annotation:topic-import-new", args=[project.uuid])
        with messages():
            assert client.post(url, {"file": file, "split": "test"}).status_code == 302
        return TopicImport.objects.get()

    def post(self, client: Client, name: str, row: object, data: dict[str, object]) -> HttpResponse:
        return client.post(reverse(f"annotation:{name}", args=[row.uuid]), data)  # type: ignore[attr-defined,return-value]

    def test_a_file_is_checked_confirmed_and_imported(
        self, row: TopicImport, project: Project, client: Client, messages: Messages
    ) -> None:
        page = client.get(reverse("annotation:topic-import", args=[row.uuid])).content.decode()
        assert "Leave out the 1 bad line" in page and "the number is missing" in page and not project.queries.exists()
        with messages():
            assert self.post(client, "topic-import-confirm", row, {}).status_code == 409
            assert self.post(client, "topic-import-confirm", row, {"skip_bad": "yes"}).status_code == 302
        assert [number for number, *_ in texts(project)] == [1, 2]
        assert "A dog runs" in client.get(reverse("annotation:topics", args=[project.uuid])).content.decode()

    def test_who_lost_the_role_imports_nothing(
        self, row: TopicImport, person: User, project: Project, client: Client, messages: Messages
    ) -> None:
        person.memberships.all().delete()
        lead(elsewhere := ProjectFactory())
        Membership.objects.create(project=elsewhere, user=person, roles=["lead"])
        with messages():
            self.post(client, "topic-import-confirm", row, {"skip_bad": "yes"})
        row.refresh_from_db()
        assert row.state == "failed" and "no lead or admin" in row.error and not project.queries.exists()

    @pytest.mark.usefixtures("person")
    def test_written_and_changed(self, project: Project, topic: Topic, client: Client) -> None:
        answer = self.post(client, "topic-new", project, {"title": "A man sings", "split": "test"})
        assert answer.status_code == 422 and "is the text of query 7" in answer.content.decode()
        assert self.post(client, "topic-new", project, {"title": "A dog runs", "split": "val"}).status_code == 302
        assert Topic.objects.get(query__number=8).query.split == "val"
        data = {"title": "A man sings", "narrative": "One\n\nTwo", "seen_version": 1}
        assert self.post(client, "topic-change", topic, data).status_code == 302
        page = client.get(reverse("annotation:topic", args=[topic.uuid])).content.decode()
        assert "Version 2" in page and "<p>Two</p>" in page
        stale = self.post(client, "topic-change", topic, data)
        assert stale.status_code == 409 and "was saved meanwhile" in stale.content.decode()


def test_programs_list_topics_as_they_are_in_force(client: Client, project: Project, topic: Topic) -> None:
    other = topic_create(project=project, title="A dog runs")
    topic_change(topic=topic, title="A man sings", description="", narrative="Loudly.")
    client.force_login(lead(project))
    answer = client.get(reverse("api:topics", args=[project.uuid]))
    rows = [(row["uuid"], row["version"], row["narrative"]) for row in answer.json()["results"]]
    assert rows == [(str(topic.uuid), 2, "Loudly."), (str(other.uuid), 1, "")]
