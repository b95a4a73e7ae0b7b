"""The page of captions in review."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions.services.rewriting import REDOS
from annotation.models import Caption, CaptionRedo
from core.jobs import job_start, job_wait
from tests.annotation.captions.test_captions import waiting
from tests.conftest import Messages
from tests.factories import CaptionFactory, ProjectFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
HTMX = {"HX-Request": "true"}


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
    def test_shows_what_waits_and_why(self, client: Client, project: Project) -> None:
        assert "Nothing waits for you" in client.get(url(project)).content.decode()
        waiting(project, "name")
        waiting(project, "markup", text="A <b>man</b> waves.")
        waiting(ProjectFactory(), text="Of another corpus.")
        page = client.get(url(project)).content.decode()
        assert "names a person" in page and "holds markup" in page
        assert "A &lt;b&gt;man&lt;/b&gt; waves." in page
        assert "Of another corpus." not in page
        only = client.get(url(project), {"check": "markup"}).content.decode()
        assert "A man and Joey wave." not in only and "A &lt;b&gt;man" in only

    def test_a_rewriting_is_shown_before_a_worker_takes_it_and_after_its_end(
        self, client: Client, project: Project, messages: Messages
    ) -> None:
        CaptionFactory(
            moment__video__corpus=project.dataset.corpus, description__text="A man waves.", text="A man waves."
        )
        with messages():
            page = client.post(url(project, "captions-rewrite"), {"provider": "rules"}, follow=True).text
            assert "Rewriting descriptions" in page and 'hx-trigger="every 2s"' in page
        page = client.get(url(project)).text
        assert "Descriptions rewritten, " in page and "every 2s" not in page

    def test_start(self, client: Client, project: Project, messages: Messages, settings: Any) -> None:
        values = {"description__text": "Ross waves.", "text": "Ross waves."}
        CaptionFactory(moment__video__corpus=project.dataset.corpus, **values)
        settings.REWRITING_MODEL = settings.REWRITING_API_KEY = ""
        page = client.get(url(project)).content.decode()
        assert "Rewrite 1 description<" in page
        assert 'value="openai" disabled>Chat API (not set up)' in page and "set REWRITING_MODEL" in page
        settings.REWRITING_MODEL = settings.REWRITING_API_KEY = "x"
        job = job_start(project=project, kind="rewriting", title="Rewriting", total=1)
        job_wait(job=job, title="Rewriting waits; next try at 14:05", error="It answers 503.")
        page = client.get(url(project)).content.decode()
        assert '<option value="openai">Chat API</option>' in page
        assert "next try at 14:05" in page and "It answers 503. It goes on by itself" in page
        assert "Rewrite 1 description<" in page  # it can be started at once
        with messages():
            client.post(url(project, "captions-rewrite"), {"provider": "rules"})
        assert Caption.objects.get().text == "A man waves."
        for provider, words in (("rules", "has its caption"), ("magic", "Choose who rewrites")):
            page = client.post(url(project, "captions-rewrite"), {"provider": provider}, follow=True).content.decode()
            assert words in page

    def test_decisions_with_htmx_and_without(self, client: Client, project: Project) -> None:
        first, second = waiting(project), waiting(project)
        status, part = decide(client, project, first, "edit", text=" ")
        assert (status, "between 1 and 2000 characters" in part) == (409, True)
        status, part = decide(client, project, first, "edit", text="Two men wave.")
        assert (status, "Two men wave." in part, "Edited" in part) == (200, True, True)
        Caption.objects.filter(pk=first.pk).update(reviewed_at=timezone.now() - timedelta(minutes=5))
        part = client.get(url(project), {"caption": str(first.uuid)}, headers=HTMX).content.decode()
        assert "Two men wave." in part and "?caption=" not in part  # a check that does not come is not waited for
        form = {"caption": str(second.uuid), "act": "accept"}
        answer = client.post(url(project, "caption-decide"), form, follow=True)
        assert "Nothing waits for you" in answer.content.decode()
        assert decide(client, project, second, "accept")[0] == 409
        assert decide(client, project, second, "edit", text="x" * 2001) == (200, "")  # the page is loaded again
        page = client.post(url(project, "caption-undo"), follow=True).content.decode()
        assert "taken back" in page and "A man and Joey wave." in page
        assert decide(client, project, waiting(ProjectFactory()), "accept")[0] == 404

    def test_another_wording_is_a_workers_and_the_page_asks_for_it(
        self, client: Client, project: Project, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        caption = waiting(project)
        with monkeypatch.context() as patch:
            patch.setattr("annotation.captions.services.rewriting.Work", None)  # it loads models
            status, part = decide(client, project, caption, "redo")
        assert (status, "is on its way" in part, f"?caption={caption.uuid}" in part) == (200, True, True)
        again = decide(client, project, caption, "redo")
        assert (again[0], "on its way" in again[1]) == (409, True)
        with messages():
            REDOS.send(CaptionRedo.objects.get().pk)
        part = client.get(url(project), {"caption": str(caption.uuid)}, headers=HTMX).content.decode()
        assert "Two people wave.</textarea>" in part and "on its way" not in part and "hx-get" not in part
        form = {"caption": str(caption.uuid), "act": "redo"}
        assert "on its way" in client.post(url(project, "caption-decide"), form, follow=True).content.decode()
        page = client.post(url(project, "caption-undo"), follow=True).content.decode()
        assert "taken back" in page and "on its way" not in page and "Two people wave.</textarea>" in page

    def test_edit_is_checked_again_and_the_outcome_shown(
        self, client: Client, project: Project, messages: Messages
    ) -> None:
        for text, outcome in (
            ("Two people wave.", "Checked again: similarity"),
            ("Ross and Joey wave.", "names a person, “"),
            ("Green elephants paint houses.", "is little like the description"),
        ):
            caption = waiting(project)
            with messages():
                part = decide(client, project, caption, "edit", text=text)[1]
            assert "?caption=" in part and "Checked again" not in part
            part = client.get(url(project), {"caption": str(caption.uuid)}, headers=HTMX).content.decode()
            assert "Checked again" in part and outcome in part and "?caption=" not in part

    def test_every_count_is_renewed_by_a_decision(self, client: Client, project: Project) -> None:
        first, _, _ = waiting(project), waiting(project), waiting(project, "markup")
        form = {"caption": str(first.uuid), "act": "accept"}
        here = {**HTMX, "HX-Current-URL": f"http://testserver{url(project)}?check=markup"}
        part = client.post(url(project, "caption-decide"), form, headers=here).content.decode()
        assert 'id="caption-counts" hx-swap-oob="true"' in part and '<dd id="waiting">2</dd>' in part
        assert "<dt>Accepted by people</dt><dd>1</dd>" in part
        assert "Every reason (2)" in part and ">names a person (1)<" in part
        assert 'value="markup" selected>holds markup (1)<' in part
        assert '<span id="waiting-name" hx-swap-oob="true">1</span>' in part

    def test_edit_that_still_names_somebody_is_reported(self, client: Client, project: Project) -> None:
        part = decide(client, project, waiting(project), "edit", text="A man and Joey wave at a woman.")[1]
        assert "Edited" in part and "still names a person: Joey" in part
        part = decide(client, project, waiting(project), "accept", text="Two men wave.")[1]  # the words in the box
        assert "Edited" in part and "still names" not in part
        same = waiting(project)
        part = decide(client, project, same, "accept", text=f" {same.text}\n")[1]
        assert "Accepted" in part and '<dd id="waiting">0</dd>' in part
        form = {"caption": str(waiting(project).uuid), "act": "edit", "text": "Joey waves."}
        page = client.post(url(project, "caption-decide"), form, follow=True).content.decode()
        assert "still names a person: Joey" in page
        texts = {"A man and Joey wave at a woman.", "Two men wave.", same.text, "Joey waves."}
        assert set(Caption.objects.values_list("text", flat=True)) == texts
