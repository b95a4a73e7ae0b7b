"""Captions and their rewriting."""

from annotation.models import Caption, CaptionFailure, CaptionRedo, CaptionReview, CastMember, Corpus, Prompt, Rewriting
from tests.factories import CaptionFactory, CorpusFactory, ProjectFactory, QueryFactory, UserFactory
from tests.judging.constraints.writes import More, Refused, again, change


def member() -> CastMember:
    return CastMember.objects.create(corpus=CorpusFactory(), name="Ann", gender="F")


def rewriting(corpus: Corpus | None = None) -> Rewriting:
    project = ProjectFactory(corpus=corpus or CorpusFactory())
    return Rewriting.objects.create(project=project, corpus=project.dataset.corpus, provider="rules")


def failure(caption: Caption | None = None) -> CaptionFailure:
    return CaptionFailure.objects.create(
        caption=caption or CaptionFactory(), attempt=1, failed=["name"], provider="rules"
    )


def review() -> CaptionReview:
    return CaptionReview.objects.create(
        caption=CaptionFactory(), actor=UserFactory(), decision="accepted", before={}, text="x"
    )


def redo(caption: Caption | None = None) -> CaptionRedo:
    return CaptionRedo.objects.create(
        caption=caption or CaptionFactory(), project=ProjectFactory(), actor=UserFactory()
    )


def prompt() -> Prompt:
    return Prompt.objects.create(version=99, text="Replace names.")


def query_of_a_caption_in_review() -> object:
    return QueryFactory(caption=CaptionFactory(state="in_review", failed=["name"]))


REFUSED: Refused = {
    "caption_says_something": change(CaptionFactory, text=""),
    "caption_state_is_known": change(CaptionFactory, state="fine"),
    "caption_in_review_failed_a_check": change(CaptionFactory, state="in_review"),
    "caption_that_failed_serves_by_a_person": change(CaptionFactory, failed=["name"]),
    "caption_edited_by_a_person": change(CaptionFactory, state="edited"),
    "caption_similarity_has_its_measure": change(CaptionFactory, similarity=0.5),
    "cast_member_once_per_corpus_and_show": again(
        CastMember.objects.create, corpus=CorpusFactory, name="Ann", gender="F"
    ),
    "cast_member_has_a_name": change(member, name=""),
    "cast_member_gender_is_known": change(member, gender="X"),
    "cast_member_kind_is_known": change(member, kind="verb"),
    "prompt_says_something": lambda: lambda: Prompt.objects.create(version=98, text=""),
    "rewriting_runs_once_per_corpus": again(rewriting, corpus=CorpusFactory),
    "rewriting_provider_rewrites": change(rewriting, provider="demo"),
    "caption_failure_once_per_attempt": again(failure, caption=CaptionFactory),
    "caption_failure_names_a_check": change(failure, failed=[]),
    "caption_redo_one_at_work_per_caption": again(redo, caption=CaptionFactory),
    "caption_redo_that_failed_is_finished": change(redo, error="gone"),
    "caption_review_decision_is_known": change(review, decision="maybe"),
}
MORE: More = {
    "prompts do not change": ("append-only", change(prompt, text="Other words.")),
    "prompts stay": ("append-only", lambda: prompt().delete),
    "a query comes from a caption that serves": ("accepted or edited", lambda: query_of_a_caption_in_review),
}
TRIGGERS: set[str] = {"prompt_is_append_only", "query_caption_serves", "caption_change_is_dated"}
