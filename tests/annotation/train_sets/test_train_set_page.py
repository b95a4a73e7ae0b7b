"""The page of pseudo training sets."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from annotation.models import TrainSet
from annotation.train_sets.services import train_set_start
from tests.annotation.train_sets.train_sets import content, write_train_set
from tests.conftest import Messages
from tests.factories import ProjectFactory, QueryFactory, admin

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(autouse=True)
def person(project: Project, client: Client) -> User:
    person = admin(project)
    client.force_login(person)
    return person


def page(client: Client, project: Project, **values: str) -> str:
    return client.get(reverse("annotation:train-sets", args=[project.uuid]), values).content.decode()


def start(client: Client, project: Project, depth: str) -> tuple[int, str]:
    answer = client.post(reverse("annotation:train-set-start", args=[project.uuid]), {"depth": depth})
    return answer.status_code, answer.content.decode()


def url(row: TrainSet, name: str) -> str:
    return reverse(f"annotation:train-set-{name}", args=[row.uuid])


class TestStarting:
    def test_from_nothing_to_a_file(self, client: Client, project: Project, messages: Messages) -> None:
        assert "No training set yet" in page(client, project)
        with messages():
            assert start(client, project, "3")[0] == 302
        html = page(client, project)
        assert "N = 3" in html and "every 2s" not in html
        row = TrainSet.objects.get()
        assert url(row, "json") in html and row.parquet_sha256 in html

    def test_a_form_to_look_at(self, client: Client, project: Project) -> None:
        for depth in ("", "0", "many", "1000001", "2.5"):
            status, html = start(client, project, depth)
            assert (status, "from 1 to 1,000,000" in html, f'value="{depth}"' in html) == (422, True, True)
        project.queries.all().delete()
        status, html = start(client, project, "3")
        assert (status, "no training queries" in html) == (409, True)
        assert not TrainSet.objects.exists()

    def test_what_is_missing_is_named(self, client: Client, person: User) -> None:
        bare = QueryFactory(split="train").project
        empty = ProjectFactory()
        for project in (bare, empty):
            client.force_login(admin(project))
            assert "Write a training set" not in page(client, project)
        assert "has none yet" in page(client, empty)
        client.force_login(admin(bare))
        assert "caption that serves" in page(client, bare)


def test_progress_is_polled_and_why_it_failed_is_shown(client: Client, project: Project, messages: Messages) -> None:
    row = train_set_start(project=project, depth=3, actor=None, wake=False)
    assert "Waiting for a worker" in page(client, project)
    TrainSet.objects.filter(pk=row.pk).update(step="embedding", done=12_000, total=98_070)
    assert "Embedding captions: 12,000 of 98,070" in page(client, project)
    address = reverse("annotation:train-sets", args=[project.uuid])
    part = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert f'id="set-{row.uuid}" hx-get=' in part
    assert "<form" not in part
    assert [client.get(url(row, name)).status_code for name in ("json", "parquet")] == [404, 404]
    assert "Writing stops" in client.get(url(row, "discard")).content.decode()
    TrainSet.objects.filter(pk=row.pk).update(state="failed", error="The disk is full.")
    html = page(client, project)
    assert "The disk is full." in html and "Go on where it stopped" in html and "every 2s" not in html
    with messages():
        start(client, project, "3")
    row.refresh_from_db()
    assert row.state == "done"


def test_files_are_downloaded_and_discarding_asks_first(client: Client, project: Project) -> None:
    row = write_train_set(project)
    for name, data in zip(("json", "parquet"), content(row), strict=True):
        answer = client.get(url(row, name))
        assert answer.getvalue() == data  # type: ignore[attr-defined]
        assert answer.headers["Content-Disposition"] == f'attachment; filename="train_top03.{name}"'
        assert answer.headers["Content-Length"] == str(len(data))
    assert "Its files go for good" in client.get(url(row, "discard")).content.decode()
    assert TrainSet.objects.exists()
    html = client.post(url(row, "discard"), follow=True).content.decode()
    assert "The training set N = 3 is gone." in html
    assert not TrainSet.objects.exists()
    assert client.post(url(row, "discard")).status_code == 404
