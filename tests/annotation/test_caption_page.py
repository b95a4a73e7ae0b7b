"""The page of captions in review."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Caption, Project, User
from tests.annotation.services.test_captions import waiting
from tests.conftest import Messages
from tests.factories import CaptionFactory, ProjectFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def person(project: Project, client: Client) -> User:
    person = lead(project)
    client.force_login(person)
    return person


def url(project: Project, name: str = "captions") -> str:
    return reverse(f"annotation:{name}", args=[project.uuid])


def decide(client: Client, project: Project, caption: Caption, act: str, **values: str) -> tuple[int, str]:
    form = {"caption": str(caption.uuid), "act": act, **values}
    answer = client.post(url(project, "caption-decide"), form, headers=HTMX)
    return answer.status_code, answer.content.decode()


@pytest.mark.usefixtures("person")
class TestPage:
    def test_empty(self, client: Client, project: Project) -> None:
        assert "Nothing waits for you" in client.get(url(project)).content.decode()

    def test_shows_what_waits_and_why(self, client: Client, project: Project) -> None:
        waiting(project, "name")
        waiting(project, "markup", text="A <b>man</b> waves.")
        waiting(ProjectFactory(), text="Of another corpus.")
        page = client.get(url(project)).content.decode()
        assert "names a person" in page and "holds markup" in page
        assert "A &lt;b&gt;man&lt;/b&gt; waves." in page
        assert "Of another corpus." not in page
        only = client.get(url(project), {"check": "markup"}).content.decode()
        assert "A man and Joey wave." not in only and "A &lt;b&gt;man" in only

    def test_start(self, client: Client, project: Project, messages: Messages) -> None:
        CaptionFactory(moment__video__corpus=project.corpus, description__text="Ross waves.", text="Ross waves.")
        assert "Rewrite 1 description<" in client.get(url(project)).content.decode()
        with messages():
            client.post(url(project, "captions-rewrite"), {"provider": "rules"})
        assert Caption.objects.get().text == "A man waves."
        page = client.post(url(project, "captions-rewrite"), {"provider": "rules"}, follow=True).content.decode()
        assert "has its caption" in page
        page = client.post(url(project, "captions-rewrite"), {"provider": "magic"}, follow=True).content.decode()
        assert "Choose who rewrites" in page

    def test_decisions_by_htmx(self, client: Client, project: Project) -> None:
        first, second = waiting(project), waiting(project)
        assert "Two people wave." in decide(client, project, first, "redo")[1]
        status, part = decide(client, project, first, "edit", text="Two men wave.")
        assert (status, "Two men wave." in part, "Edited" in part) == (200, True, True)
        assert decide(client, project, second, "accept")[0] == 200
        assert decide(client, project, second, "accept")[0] == 409
        assert decide(client, project, second, "edit", text="x" * 2001)[0] == 302  # a form no page sends
        page = client.post(url(project, "caption-undo"), follow=True).content.decode()
        assert "taken back" in page and "A man and Joey wave." in page

    def test_edit_that_still_names_somebody_is_said(self, client: Client, project: Project) -> None:
        part = decide(client, project, waiting(project), "edit", text="A man and Joey wave at a woman.")[1]
        assert "Edited" in part and "still names a person: Joey" in part
        assert "still names" not in decide(client, project, waiting(project), "edit", text="Two men wave.")[1]
        form = {"caption": str(waiting(project).uuid), "act": "edit", "text": "Joey waves."}
        page = client.post(url(project, "caption-decide"), form, follow=True).content.decode()
        assert "still names a person: Joey" in page

    def test_whoever_accepts_means_the_words_in_the_box(self, client: Client, project: Project) -> None:
        changed, same = waiting(project), waiting(project)
        assert "Edited" in decide(client, project, changed, "accept", text="Two men wave.")[1]
        part = decide(client, project, same, "accept", text=f" {same.text}\n")[1]
        assert "Accepted" in part and '<span id="waiting" hx-swap-oob="true">0</span>' in part
        assert set(Caption.objects.values_list("text", flat=True)) == {"Two men wave.", same.text}

    def test_what_failed_is_told_apart_from_what_passes_now(self, client: Client, project: Project) -> None:
        caption = waiting(project)
        assert "this wording passes" not in client.get(url(project)).content.decode()
        decide(client, project, caption, "redo")
        page = client.get(url(project)).content.decode()
        assert "this wording passes" in page and "Failed before" in page

    def test_empty_edit_is_said_beside_the_caption(self, client: Client, project: Project) -> None:
        status, part = decide(client, project, waiting(project), "edit", text=" ")
        assert (status, "between 1 and 2000 characters" in part) == (409, True)

    def test_without_javascript(self, client: Client, project: Project) -> None:
        caption = waiting(project)
        form = {"caption": str(caption.uuid), "act": "accept"}
        answer = client.post(url(project, "caption-decide"), form, follow=True)
        assert "Nothing waits for you" in answer.content.decode()

    def test_caption_of_another_corpus_is_unknown(self, client: Client, project: Project) -> None:
        elsewhere = waiting(ProjectFactory())
        assert decide(client, project, elsewhere, "accept")[0] == 404
        assert decide(client, project, Caption(uuid=uuid4()), "accept")[0] == 404
