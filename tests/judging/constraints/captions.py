"""Captions and their rewriting."""

from functools import partial

from annotation.models import (
    CaptionFailure,
    CaptionRedo,
    CaptionReview,
    CastMember,
    Corpus,
    Prompt,
    PromptDraft,
    PromptTrial,
    Rewriting,
)
from tests.factories import CaptionFactory, CorpusFactory, ProjectFactory, QueryFactory, UserFactory
from tests.judging.constraints.writes import More, Refused, adding, again, change, deletion, maker


def rewriting(corpus: Corpus | None = None) -> Rewriting:
    project = ProjectFactory(corpus=corpus or CorpusFactory())
    return Rewriting.objects.create(project=project, corpus=project.dataset.corpus, provider="rules")


member = maker(CastMember, corpus=CorpusFactory, name="Ann", gender="F")
failure = maker(CaptionFailure, caption=CaptionFactory, attempt=1, failed=["name"], provider="rules")
review = maker(CaptionReview, caption=CaptionFactory, actor=UserFactory, decision="accepted", before={}, text="x")
redo = maker(CaptionRedo, caption=CaptionFactory, project=ProjectFactory, actor=UserFactory)
prompt = maker(Prompt, version=99, text="Replace names.")
packaged = partial(Prompt.objects.get, version=1)
draft = maker(PromptDraft, corpus=CorpusFactory, base=packaged, text="Replace names.")
trial = maker(
    PromptTrial,
    corpus=CorpusFactory,
    project=ProjectFactory,
    actor=UserFactory,
    prompt=packaged,
    text="Replace names.",
    description_ids=[1],
)
REFUSED: Refused = {
    "caption_says_something": change(CaptionFactory, text=""),
    "caption_state_is_known": change(CaptionFactory, state="fine"),
    "caption_in_review_failed_a_check": change(CaptionFactory, state="in_review"),
    "caption_that_failed_serves_by_a_person": change(CaptionFactory, failed=["name"]),
    "caption_edited_by_a_person": change(CaptionFactory, state="edited"),
    "caption_similarity_has_its_measure": change(CaptionFactory, similarity=0.5),
    "cast_member_once_per_corpus_and_show": again(member, corpus=CorpusFactory),
    "cast_member_has_a_name": change(member, name=""),
    "cast_member_gender_is_known": change(member, gender="X"),
    "cast_member_kind_is_known": change(member, kind="verb"),
    "prompt_says_something": adding(prompt, text=""),
    "prompt_version_once_per_corpus": again(prompt),
    "prompt_draft_says_something": change(draft, text=""),
    "prompt_trial_one_at_work_per_corpus": again(trial, corpus=CorpusFactory),
    "prompt_trial_that_failed_is_finished": change(trial, error="gone"),
    "rewriting_runs_once_per_corpus": again(rewriting, corpus=CorpusFactory),
    "rewriting_provider_rewrites": change(rewriting, provider="demo"),
    "caption_failure_once_per_attempt": again(failure, caption=CaptionFactory),
    "caption_failure_names_a_check": change(failure, failed=[]),
    "caption_redo_one_at_work_per_caption": again(redo, caption=CaptionFactory),
    "caption_redo_that_failed_is_finished": change(redo, error="gone"),
    "caption_review_decision_is_known": change(review, decision="maybe"),
}
MORE: More = {
    "append-only": {"prompts do not change": change(prompt, text="Other words."), "prompts stay": deletion(prompt)},
    "accepted or edited": {
        "a query comes from a caption that serves": adding(
            QueryFactory, caption=partial(CaptionFactory, state="in_review", failed=["name"])
        )
    },
}
TRIGGERS = {"prompt_is_append_only", "query_caption_serves", "caption_change_is_dated"}
