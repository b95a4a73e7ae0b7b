"""Tests of decisions on captions in review."""

from typing import Any, NoReturn

import pytest
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions import ner
from annotation.captions.selectors import captions_serving
from annotation.captions.services import captions as services_captions
from annotation.captions.services.captions import caption_accept, caption_edit, caption_undo, edits_check
from annotation.captions.services.rewriting import (
    NOTHING_ELSE,
    Work,
    caption_redo,
    caption_redo_make,
    failure_of,
)
from annotation.models import Caption, CaptionReview, Description, Prompt, Rewriting
from core.exceptions import NotPossible
from core.models import AuditEvent
from tests.annotation.captions.rewriting.chat_server import ChatServer, chat_server, completion, failure
from tests.conftest import Messages
from tests.factories import CaptionFactory, QueryFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def person(project: Project) -> User:
    return lead(project)


def waiting(project: Project, *failed: str, text: str = "A man and Joey wave.") -> Caption:
    corpus = project.dataset.corpus
    Rewriting.objects.get_or_create(project=project, corpus=corpus, provider="rules", model="1")
    values = {"provider": "rules", "state": "in_review", "failed": list(failed or ["name"])}
    description = {"description__text": "Ross and Joey wave.", "moment__video__corpus": corpus}
    caption: Caption = CaptionFactory(text=text, **description, **values)
    failure_of(caption).save()
    return caption


def rewrite_by_chat(project: Project, server: ChatServer, settings: Any) -> Prompt:
    """From now on this server words captions anew."""
    settings.REWRITING_BASE_URL, settings.REWRITING_MODEL, settings.REWRITING_API_KEY = server.url, "x", "secret"
    Rewriting.objects.update(finished_at=timezone.now())
    prompt = Prompt.objects.get(version=1)
    Rewriting.objects.create(
        project=project, corpus=project.dataset.corpus, provider="openai", model="x", prompt=prompt
    )
    return prompt


def redo(project: Project, caption: Caption, person: User) -> str:
    """Request another wording; return its error, empty where it is there."""
    redo_request = caption_redo(project=project, caption=caption, actor=person)
    caption_redo_make(redo_id=redo_request.pk)
    redo_request.refresh_from_db()
    caption.refresh_from_db()
    assert not redo_request.is_at_work
    return redo_request.error


def test_accept_once(project: Project, person: User) -> None:
    caption = waiting(project)
    caption_accept(project=project, caption=caption, actor=person)
    caption.refresh_from_db()
    assert (caption.state, caption.reviewed_by, caption.failed) == ("accepted", person, ["name"])
    assert caption in captions_serving(project.dataset.corpus_id)
    event = AuditEvent.objects.get(action="caption.accepted")
    assert (event.actor, event.subject, event.data["failed"]) == (person, caption.uuid, ["name"])
    for decide in (caption_accept, caption_redo):
        with pytest.raises(NotPossible, match="decided already"):
            decide(project=project, caption=caption, actor=person)
    assert CaptionReview.objects.count() == 1
    with pytest.raises(NotPossible, match="no decision of yours"):
        caption_undo(project=project, actor=lead(project))


def test_edited_caption_keeps_no_measures_of_the_text_before(project: Project, person: User) -> None:
    def measures() -> tuple[object, ...]:
        caption.refresh_from_db()
        return caption.similarity, caption.similarity_measure, caption.name_score, caption.name_model

    caption = waiting(project)
    redo(project, caption, person)
    before = measures()
    assert None not in before
    caption_edit(project=project, caption=caption, text="  Two men\n wave. ", actor=person)
    assert measures() == (None, None, None, "")
    assert (caption.text, caption.state, caption.reviewed_by) == ("Two men wave.", "edited", person)
    caption_undo(project=project, actor=person)
    assert measures() == before


def test_redo_measures_before_it_locks_and_yields_to_who_was_first(
    project: Project, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    caption, measure = waiting(project), Work.measure

    def slow(work: Work, captions: list[Caption]) -> None:
        caption_edit(project=project, caption=caption, text="Two men wave.", actor=lead(project))
        measure(work, captions)

    monkeypatch.setattr(Work, "measure", slow)
    assert redo(project, caption, person) == "This caption has been decided already."
    assert (caption.text, caption.reviews.get().decision) == ("Two men wave.", "edited")


@pytest.mark.parametrize("check", ["no_answer", "refused", "empty", "huge"])
def test_where_there_is_no_proposal_the_description_cannot_pass_for_one(
    project: Project, person: User, check: str
) -> None:
    caption = waiting(project, check, text="Ross and Joey wave.")
    with pytest.raises(NotPossible, match="no proposal"):
        caption_accept(project=project, caption=caption, actor=person)
    for text in ("", "  \n", "x" * 2001):
        with pytest.raises(NotPossible, match="between 1 and 2000"):
            caption_edit(project=project, caption=caption, text=text, actor=person)
    caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)


def test_redo_takes_more_general_words_and_waits_on(project: Project, person: User) -> None:
    caption = waiting(project)
    assert redo(project, caption, person) == ""
    assert (caption.text, caption.state, caption.attempt) == ("Two people wave.", "in_review", 2)
    assert CaptionReview.objects.get().decision == "redone"
    caption.failures.create(attempt=3, text="", failed=["no_answer"], provider="openai")
    assert [text for text, _ in caption.earlier_wordings] == ["A man and Joey wave."]


def test_rules_say_that_they_have_no_third_wording_and_never_go_back(project: Project, person: User) -> None:
    caption = waiting(project)
    outcomes = [(redo(project, caption, person), caption.text) for _ in range(3)]
    assert outcomes == [("", "Two people wave."), ("", "Two men wave."), (NOTHING_ELSE, "Two men wave.")]
    assert (caption.attempt, caption.reviews.count()) == (3, 2)
    caption_undo(project=project, actor=person)
    assert (redo(project, caption, person), caption.text) == ("", "Two men wave.")  # what was undone is news again


def test_one_wording_at_a_time(project: Project, person: User) -> None:
    caption = waiting(project)
    redo_request = caption_redo(project=project, caption=caption, actor=person)
    with pytest.raises(NotPossible, match="on its way"):
        caption_redo(project=project, caption=caption, actor=lead(project))
    for _ in range(2):
        caption_redo_make(redo_id=redo_request.pk)
    caption.refresh_from_db()
    assert (caption.attempt, caption.reviews.count()) == (2, 1)


def test_undo_calls_a_wording_off_that_is_not_there_yet(project: Project, person: User) -> None:
    first, second = waiting(project), waiting(project)
    caption_accept(project=project, caption=first, actor=person)
    redo_request = caption_redo(project=project, caption=second, actor=person)
    assert caption_undo(project=project, actor=person) == second
    caption_redo_make(redo_id=redo_request.pk)
    second.refresh_from_db()
    assert (second.text, second.attempt) == ("A man and Joey wave.", 1)
    assert caption_undo(project=project, actor=person) == first
    assert AuditEvent.objects.get(action="caption.redo_called_off").subject == second.uuid


def test_without_a_model_there_is_no_other_wording_but_an_error(
    project: Project, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*args: object, **values: object) -> NoReturn:
        raise ner.NameModelMissing("Set CAPTION_NER.")

    monkeypatch.setattr(ner, "name_finder", missing)
    caption = waiting(project)
    assert redo(project, caption, person) == "Set CAPTION_NER."
    assert (caption.attempt, caption.state) == (1, "in_review")
    caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)
    assert edits_check(corpus_id=project.dataset.corpus_id) == 0


class TestEditsAreChecked:
    @pytest.mark.parametrize(
        ("text", "is_like", "name"), [("Ross and Joey wave.", True, "Ross"), ("Three elephants paint.", False, "")]
    )
    def test_both_checks_are_run_and_it_serves_anyway(
        self, project: Project, person: User, messages: Messages, text: str, is_like: bool, name: str
    ) -> None:
        caption = waiting(project)
        with messages():
            caption_edit(project=project, caption=caption, text=text, actor=person)
        caption.refresh_from_db()
        assert caption.similarity is not None and (caption.similarity >= 0.4) == is_like
        assert (caption.name_found, caption.name_score) == (name, 0.9 if name else 0.0)
        assert (caption.state, caption.failed, caption.name_model) == ("edited", ["name"], "corpus")
        assert caption in captions_serving(project.dataset.corpus_id)
        assert edits_check(corpus_id=project.dataset.corpus_id) == 0

    def test_where_there_was_nothing_to_be_like(self, project: Project, person: User) -> None:
        caption = waiting(project, "empty")
        Description.objects.update(text="?!")
        caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)
        assert edits_check(corpus_id=project.dataset.corpus_id) == 1
        caption.refresh_from_db()
        assert (caption.similarity, caption.name_score) == (None, 0.0)

    def test_what_is_undone_meanwhile_keeps_its_own_measures(
        self, project: Project, person: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        caption = waiting(project)
        caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)
        measure = services_captions.captions_measure

        def slow(captions: list[Caption], names: object) -> None:
            measure(captions, names)  # type: ignore[arg-type]
            caption_undo(project=project, actor=person)

        monkeypatch.setattr(services_captions, "captions_measure", slow)
        assert edits_check(corpus_id=project.dataset.corpus_id) == 0
        caption.refresh_from_db()
        assert (caption.state, caption.similarity, caption.name_model) == ("in_review", None, "")


def test_redo_is_credited_to_who_did_it(project: Project, person: User, settings: Any) -> None:
    caption = waiting(project)
    with chat_server(lambda text, before: completion("Monica and Joey wave.")) as server:
        prompt = rewrite_by_chat(project, server, settings)
        assert redo(project, caption, person) == ""
    assert (caption.provider, caption.model, caption.prompt) == ("openai", "x", prompt)
    assert [row.provider for row in caption.failures.order_by("attempt")] == ["rules", "openai"]
    caption_undo(project=project, actor=person)
    caption.refresh_from_db()
    assert (caption.provider, caption.model, caption.prompt) == ("rules", "", None)


def test_redo_with_an_unavailable_endpoint_is_an_error_at_once(project: Project, person: User, settings: Any) -> None:
    caption = waiting(project)
    with chat_server(lambda text, before: failure(503)) as server:
        rewrite_by_chat(project, server, settings)
        assert "503" in redo(project, caption, person)
    assert len(server.requests) == 1
    assert (caption.text, caption.attempt, caption.reviews.count()) == ("A man and Joey wave.", 1, 0)


def test_undo_goes_one_by_one_back_to_the_start(project: Project, person: User) -> None:
    caption = waiting(project)
    redo(project, caption, person)
    caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)
    for text in ("Two people wave.", "A man and Joey wave."):
        caption_undo(project=project, actor=person)
        caption.refresh_from_db()
        assert (caption.text, caption.state, caption.reviewed_by) == (text, "in_review", None)
    with pytest.raises(NotPossible, match="no decision of yours"):
        caption_undo(project=project, actor=person)
    assert AuditEvent.objects.filter(action="caption.undone").count() == 2
    caption_accept(project=project, caption=caption, actor=person)
    QueryFactory(project=project, caption=caption)
    with pytest.raises(NotPossible, match="A query has been made"):
        caption_undo(project=project, actor=person)
