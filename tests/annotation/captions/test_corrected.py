"""Captions corrected, rejected and accepted again on their video's page, whether or not they passed the checks."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from annotation.captions.selectors import captions_report, captions_serving
from annotation.captions.services.captions import caption_accept, caption_edit, caption_reject, caption_undo
from annotation.models import Caption
from core.exceptions import NotPossible
from core.models import AuditEvent
from tests.annotation.captions.test_captions import waiting
from tests.factories import CandidateFactory, CaptionFactory, QueryFactory, lead

pytestmark = pytest.mark.django_db
TEXT = "A man waves."


@pytest.fixture
def person(project: Project) -> User:
    return lead(project)


@pytest.fixture
def caption(project: Project) -> Caption:
    row: Caption = CaptionFactory(text=TEXT, provider="rules", moment__video__corpus=project.dataset.corpus)
    return row


def test_one_that_passed_is_corrected(project: Project, person: User, caption: Caption) -> None:
    caption_edit(project=project, caption=caption, text=" A man  waves back. ", before=TEXT, actor=person)
    caption.refresh_from_db()
    assert (caption.text, caption.state, caption.reviewed_by) == ("A man waves back.", "edited", person)
    assert AuditEvent.objects.get(action="caption.edited").data["from_text"] == TEXT


def test_one_that_is_rejected_serves_nothing_until_it_is_accepted_again(
    project: Project, person: User, caption: Caption
) -> None:
    corpus = project.dataset.corpus_id
    caption_reject(project=project, caption=caption, actor=person, before=TEXT)
    assert not captions_serving(corpus).exists()
    report = captions_report(corpus)
    assert (report.rejected, report.unchecked) == (1, 0)
    with pytest.raises(NotPossible, match="rejected already"):
        caption_reject(project=project, caption=caption, actor=person, before=TEXT)
    caption_accept(project=project, caption=caption, actor=person)
    assert captions_serving(corpus).get().state == "accepted"


def test_what_was_made_of_it_stays(project: Project, person: User, caption: Caption) -> None:
    query = QueryFactory(project=project, caption=caption, text=TEXT)
    CandidateFactory(query=query, moment=caption.moment)
    caption_reject(project=project, caption=caption, actor=person, before=TEXT)
    query.refresh_from_db()
    assert (query.text, query.candidates.count()) == (TEXT, 1)


def test_undo_takes_a_rejection_back(project: Project, person: User, caption: Caption) -> None:
    caption_reject(project=project, caption=caption, actor=person, before=TEXT)
    caption_undo(project=project, actor=person)
    caption.refresh_from_db()
    assert (caption.state, caption.reviewed_by) == ("accepted", None)


@pytest.mark.parametrize("act", [caption_edit, caption_reject])
def test_the_second_of_two_people_reads_the_new_text(
    project: Project, person: User, caption: Caption, act: object
) -> None:
    Caption.objects.update(text="A woman waves.")
    words = {"text": "A boy waves."} if act is caption_edit else {}
    with pytest.raises(NotPossible, match="It reads now: A woman waves"):
        act(project=project, caption=caption, actor=person, before=TEXT, **words)  # type: ignore[operator]
    assert Caption.objects.get().text == "A woman waves."


def test_what_rewriting_would_overwrite_is_not_corrected(project: Project, person: User, caption: Caption) -> None:
    Caption.objects.update(provider="as-described")
    with pytest.raises(NotPossible, match="not rewritten yet"):
        caption_edit(project=project, caption=caption, text="x", before=TEXT, actor=person)


def test_a_missing_proposal_is_not_accepted_after_a_rejection(project: Project, person: User) -> None:
    """A provider that gave no answer leaves no words; rejecting the caption must not make it some."""
    caption = waiting(project, "no_answer")
    caption_reject(project=project, caption=caption, actor=person, before=caption.text)
    with pytest.raises(NotPossible, match="write the caption yourself"):
        caption_accept(project=project, caption=caption, actor=person)
    caption_edit(project=project, caption=caption, text="Two men wave.", before=caption.text, actor=person)
    caption_reject(project=project, caption=caption, actor=person, before="Two men wave.")
    caption_accept(project=project, caption=caption, actor=person)
    assert Caption.objects.get().text == "Two men wave."


class TestPage:
    def correct(self, client: Client, project: Project, caption: Caption, *, htmx: bool = True, **values: str) -> str:
        url = reverse("annotation:caption-correct", args=[project.uuid])
        data = {"caption": str(caption.uuid), "before": TEXT, **values}
        answer = client.post(url, data, follow=True, headers={"HX-Request": "true"} if htmx else {})
        self.status = answer.status_code
        return answer.content.decode()

    def test_the_row_is_renewed(self, client: Client, project: Project, person: User, caption: Caption) -> None:
        client.force_login(person)
        row = self.correct(client, project, caption, act="edit", text="A man waves back.")
        assert "A man waves back." in row
        assert "edited" in row
        row = self.correct(client, project, caption, act="reject", before="A man waves back.")
        assert "Accept again" in row
        assert "accept again" not in self.correct(client, project, caption, act="accept").casefold()

    def test_a_refusal_keeps_what_was_typed(
        self, client: Client, project: Project, person: User, caption: Caption
    ) -> None:
        client.force_login(person)
        Caption.objects.update(text="A woman waves.")
        row = self.correct(client, project, caption, act="edit", text="A boy waves.")
        assert self.status == 409
        assert ">A boy waves.</textarea>" in row
        assert "It reads now: A woman waves." in row

    def test_without_script_it_is_the_page_of_the_video(
        self, client: Client, project: Project, person: User, caption: Caption
    ) -> None:
        client.force_login(person)
        page = self.correct(client, project, caption, htmx=False, act="reject")
        assert f"<h1>{caption.moment.video.name}</h1>" in page
        assert "could not be read" in self.correct(client, project, caption, htmx=False, act="burn")

    def test_a_caption_of_another_corpus_is_none(self, client: Client, project: Project, person: User) -> None:
        client.force_login(person)
        self.correct(client, project, CaptionFactory(provider="rules"), act="reject")
        assert self.status == 404
