"""What people decide about captions in review."""

import pytest
from django.utils import timezone

from annotation.exceptions import NotPossible
from annotation.models import AuditEvent, Caption, CaptionReview, Project, Prompt, Rewriting, User
from annotation.selectors import captions_serving
from annotation.services.captions import caption_accept, caption_edit, caption_redo, caption_undo
from annotation.services.rewriting import Work, failure_of
from tests.annotation.rewriting.chat_server import chat_server, completion, failure
from tests.factories import CaptionFactory, ProjectFactory, QueryFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def person(project: Project) -> User:
    return lead(project)


def waiting(project: Project, *failed: str, text: str = "A man and Joey wave.") -> Caption:
    Rewriting.objects.get_or_create(project=project, corpus=project.corpus, provider="rules", model="1")
    caption: Caption = CaptionFactory(
        description__text="Ross and Joey wave.",
        moment__video__corpus=project.corpus,
        text=text,
        provider="rules",
        state="in_review",
        failed=list(failed or ["name"]),
    )
    failure_of(caption).save()
    return caption


def test_accept(project: Project, person: User) -> None:
    caption = waiting(project)
    caption_accept(project=project, caption=caption, actor=person)
    caption.refresh_from_db()
    assert (caption.state, caption.reviewed_by, caption.failed) == ("accepted", person, ["name"])
    assert caption in captions_serving(project.corpus_id)
    event = AuditEvent.objects.get(action="caption.accepted")
    assert (event.actor, event.subject, event.data["failed"]) == (person, caption.uuid, ["name"])


def test_edit(project: Project, person: User) -> None:
    caption = waiting(project)
    caption_edit(project=project, caption=caption, text="  Two men\n wave. ", actor=person)
    caption.refresh_from_db()
    assert (caption.text, caption.state, caption.reviewed_by) == ("Two men wave.", "edited", person)


def test_edited_caption_keeps_no_measures_of_the_text_before(project: Project, person: User) -> None:
    caption = waiting(project)
    caption_redo(project=project, caption=caption, actor=person)
    caption.refresh_from_db()
    measured = (caption.similarity, caption.similarity_measure, caption.name_score, caption.name_model)
    assert None not in measured
    caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)
    caption.refresh_from_db()
    assert (caption.similarity, caption.similarity_measure, caption.name_score, caption.name_model) == (
        *(None, None, None),
        "",
    )
    caption_undo(project=project, actor=person)
    caption.refresh_from_db()
    assert (caption.similarity, caption.similarity_measure, caption.name_score, caption.name_model) == measured


def test_redo_measures_before_it_locks_and_yields_to_who_was_first(
    project: Project, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    caption, measure = waiting(project), Work.measure

    def slow(work: Work, captions: list[Caption]) -> None:
        monkeypatch.setattr(Work, "measure", measure)
        caption_redo(project=project, caption=caption, actor=lead(project))
        measure(work, captions)

    monkeypatch.setattr(Work, "measure", slow)
    with pytest.raises(NotPossible, match="Somebody has redone"):
        caption_redo(project=project, caption=caption, actor=person)
    assert CaptionReview.objects.get().actor != person


@pytest.mark.parametrize("text", ["", "  \n", "x" * 2001])
def test_edit_says_something(project: Project, person: User, text: str) -> None:
    with pytest.raises(NotPossible, match="between 1 and 2000"):
        caption_edit(project=project, caption=waiting(project), text=text, actor=person)


@pytest.mark.parametrize("check", ["no_answer", "refused", "empty", "huge"])
def test_where_there_is_no_proposal_the_description_cannot_pass_for_one(
    project: Project, person: User, check: str
) -> None:
    caption = waiting(project, check, text="Ross and Joey wave.")
    with pytest.raises(NotPossible, match="no proposal"):
        caption_accept(project=project, caption=caption, actor=person)
    caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)


def test_redo_takes_more_general_words_and_waits_on(project: Project, person: User) -> None:
    caption = waiting(project)
    caption_redo(project=project, caption=caption, actor=person)
    caption.refresh_from_db()
    assert (caption.text, caption.state, caption.attempt) == ("Two people wave.", "in_review", 2)
    assert CaptionReview.objects.get().decision == "redone"
    assert [text for text, _ in caption.earlier_wordings] == ["A man and Joey wave."]
    caption_redo(project=project, caption=caption, actor=person)  # the rules know two wordings
    caption.refresh_from_db()
    assert (caption.text, caption.attempt) == ("Two men wave.", 3)


def test_redo_is_credited_to_who_did_it(project: Project, person: User, settings: object) -> None:
    caption = waiting(project)
    Rewriting.objects.update(finished_at=timezone.now())
    prompt = Prompt.objects.get(version=1)
    Rewriting.objects.create(project=project, corpus=project.corpus, provider="openai", model="x", prompt=prompt)
    with chat_server(lambda text, before: completion("Monica and Joey wave.")) as server:
        settings.REWRITING_BASE_URL, settings.REWRITING_MODEL = server.url, "x"  # type: ignore[attr-defined]
        settings.REWRITING_API_KEY = "secret"  # type: ignore[attr-defined]
        caption_redo(project=project, caption=caption, actor=person)
    caption.refresh_from_db()
    assert (caption.provider, caption.model, caption.prompt) == ("openai", "x", prompt)
    assert [row.provider for row in caption.failures.order_by("attempt")] == ["rules", "openai"]
    caption_undo(project=project, actor=person)
    caption.refresh_from_db()
    assert (caption.provider, caption.model, caption.prompt) == ("rules", "", None)


def test_redo_of_an_endpoint_that_is_away_is_said_at_once(project: Project, person: User, settings: object) -> None:
    caption = waiting(project)
    Rewriting.objects.update(finished_at=timezone.now())
    Rewriting.objects.create(
        project=project, corpus=project.corpus, provider="openai", model="x", prompt=Prompt.objects.get(version=1)
    )
    with chat_server(lambda text, before: failure(503)) as server:
        settings.REWRITING_BASE_URL, settings.REWRITING_MODEL = server.url, "x"  # type: ignore[attr-defined]
        settings.REWRITING_API_KEY = "secret"  # type: ignore[attr-defined]
        with pytest.raises(NotPossible, match="503"):
            caption_redo(project=project, caption=caption, actor=person)
    assert len(server.asked) == 1
    caption.refresh_from_db()
    assert (caption.text, caption.attempt, caption.reviews.count()) == ("A man and Joey wave.", 1, 0)


def test_what_is_decided_is_decided_once(project: Project, person: User) -> None:
    caption = waiting(project)
    caption_accept(project=project, caption=caption, actor=person)
    for decide in (caption_accept, caption_redo):
        with pytest.raises(NotPossible, match="decided already"):
            decide(project=project, caption=caption, actor=person)
    assert CaptionReview.objects.count() == 1


class TestUndo:
    def test_one_by_one_back_to_the_start(self, project: Project, person: User) -> None:
        caption = waiting(project)
        caption_redo(project=project, caption=caption, actor=person)
        caption_edit(project=project, caption=caption, text="Two men wave.", actor=person)
        for text in ("Two people wave.", "A man and Joey wave."):
            caption_undo(project=project, actor=person)
            caption.refresh_from_db()
            assert (caption.text, caption.state, caption.reviewed_by) == (text, "in_review", None)
        with pytest.raises(NotPossible, match="no decision of yours"):
            caption_undo(project=project, actor=person)
        assert AuditEvent.objects.filter(action="caption.undone").count() == 2

    def test_nobody_undoes_for_others(self, project: Project, person: User) -> None:
        caption_accept(project=project, caption=waiting(project), actor=person)
        with pytest.raises(NotPossible, match="no decision of yours"):
            caption_undo(project=project, actor=lead(project))

    def test_not_once_a_query_was_made_of_it(self, project: Project, person: User) -> None:
        caption = waiting(project)
        caption_accept(project=project, caption=caption, actor=person)
        QueryFactory(project=project, caption=caption)
        with pytest.raises(NotPossible, match="A query has been made"):
            caption_undo(project=project, actor=person)
