"""Prompts of the chat model: drafts, trials of a draft beside the version in force, and publishing."""

import logging
from collections.abc import Sequence
from random import Random
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions.rewriting.provider import ProviderUnusable
from annotation.captions.selectors import prompt_in_force
from annotation.captions.services.captions import NO_CAPTION
from annotation.captions.services.rewriting import Work, provider_of
from annotation.models import Caption, Corpus, Description, Prompt, PromptDraft, PromptTrial
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, durable
from core.texts import is_storable

logger = logging.getLogger(__name__)
OPENAI = Caption.Provider.OPENAI
TRIAL_SIZE = 10  # descriptions
MOST_EXAMPLES = 20
LONGEST_PROMPT = 20_000  # characters
LONGEST_EXAMPLE = 2000
LARGEST_SEED = 2**31 - 1
TRIALS = JobKind(
    "annotation.tasks.prompt_trial_run",
    lambda: PromptTrial.objects.filter(finished_at=None).select_related("prompt"),
    moved="requested_at",
)


@transaction.atomic
def prompt_draft_save(
    *,
    project: Project,
    actor: User | None,
    text: str,
    examples: Sequence[tuple[str, str]] = (),
    seed: int | None = None,
    looked_at: str = "",
) -> PromptDraft:
    """Keep what is prepared as the corpus's next prompt; a new draft begins from the version in force.

    Args:
        examples: pairs of a description and its caption.
        looked_at: the ``prompt_state`` that whoever writes has seen; empty: whatever there is.

    Raises:
        NotPossible: there is no text, too much of it, an example has one side only, or somebody has saved or published
            another draft since.
    """
    corpus = Corpus.objects.select_for_update(no_key=True).get(pk=project.dataset.corpus_id)
    if looked_at and looked_at != prompt_state(corpus.pk):
        raise NotPossible("Somebody has saved or published a draft meanwhile. Copy your text, and load the page again.")
    text = text.strip()
    pairs = [[" ".join(side.split()) for side in pair] for pair in examples]
    if not text or len(text) > LONGEST_PROMPT:
        raise NotPossible(f"A prompt has between 1 and {LONGEST_PROMPT:,} characters.")
    if not all(is_storable(words) for words in (text, *(side for pair in pairs for side in pair))):
        raise NotPossible("The prompt or an example holds characters that cannot be stored.")
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise NotPossible(f"A seed is a whole number from 0 to {LARGEST_SEED:,}.")
    if len(pairs) > MOST_EXAMPLES:
        raise NotPossible(f"A prompt has at most {MOST_EXAMPLES} examples.")
    for number, sides in enumerate(pairs, 1):
        if not all(0 < len(side) <= LONGEST_EXAMPLE for side in sides):
            raise NotPossible(
                f"Example {number} needs a description and its caption, of at most {LONGEST_EXAMPLE:,} characters each."
            )
    values = {"text": text, "examples": pairs, "seed": seed, "edited_by": actor}
    draft, _ = PromptDraft.objects.update_or_create(
        corpus=corpus, defaults=values, create_defaults={**values, "base": prompt_in_force(corpus.pk)}
    )
    return draft


def prompt_state(corpus_id: int) -> str:
    """Return a string that changes with the version in force and with the draft."""
    draft = PromptDraft.objects.filter(corpus=corpus_id).first()
    return f"{prompt_in_force(corpus_id).pk}-{draft.edited_at.isoformat() if draft else 'none'}"


@transaction.atomic
def prompt_draft_discard(*, project: Project) -> bool:
    """Delete the draft; False where there is none."""
    return bool(PromptDraft.objects.filter(corpus=project.dataset.corpus_id).delete()[0])


@transaction.atomic
def prompt_publish(*, project: Project, actor: User | None) -> Prompt:
    """Put the draft in force for rewritings that begin from now on.

    Raises:
        NotPossible: there is no draft, it equals the version in force, or another version was published since it began.
    """
    corpus = Corpus.objects.select_for_update(no_key=True).get(pk=project.dataset.corpus_id)
    draft, in_force = _draft(corpus.pk), prompt_in_force(corpus.pk)
    if draft.base_id != in_force.pk:
        raise NotPossible(
            f"Version {in_force.version} was published since this draft began. Discard it and begin anew."
        )
    if wording_of(draft) == wording_of(in_force):
        raise NotPossible(f"The draft says what version {in_force.version} says. Change it, then publish it.")
    prompt = Prompt.objects.create(corpus=corpus, version=in_force.version + 1, created_by=actor, **wording_of(draft))
    draft.delete()
    audit_record(project=project, actor=actor, action="prompt.publish", subject=corpus.uuid, version=prompt.version)
    logger.info("prompt %s of corpus %s published", prompt.version, corpus.pk)
    return prompt


def _draft(corpus_id: int) -> PromptDraft:
    draft = PromptDraft.objects.filter(corpus=corpus_id).first()
    if draft is None:
        raise NotPossible("There is no draft; perhaps somebody published or discarded it.")
    return draft


def wording_of(row: Prompt | PromptDraft | PromptTrial) -> dict[str, Any]:
    """Return all that decides what a prompt brings."""
    return {"text": row.text, "examples": row.examples, "seed": row.seed}


def tries_draft(trial: PromptTrial, draft: PromptDraft) -> bool:
    """Whether the draft still reads as it did in the trial."""
    return wording_of(trial) == wording_of(draft)


@transaction.atomic
def prompt_trial_start(
    *, project: Project, actor: User, other_descriptions: bool = False, wake: bool = True
) -> PromptTrial:
    """Try the draft on ten descriptions beside the version in force, in the background.

    The descriptions of the last trial are taken again, so that drafts compare, unless ``other_descriptions``.
    ``wake``: have a worker do it; otherwise the caller does.

    Raises:
        NotPossible: there is no draft, a trial is at work, no description is there, or the chat API is not set up.
    """
    corpus_id = Corpus.objects.select_for_update(no_key=True).get(pk=project.dataset.corpus_id).pk
    draft, in_force = _draft(corpus_id), prompt_in_force(corpus_id)
    if PromptTrial.objects.filter(corpus=corpus_id, finished_at=None).exists():
        raise NotPossible("A trial of this corpus's prompt is at work. Wait for its end.")
    try:
        model = provider_of(OPENAI, corpus_id=corpus_id, prompt=in_force).model
    except ProviderUnusable as error:
        raise NotPossible(str(error)) from error
    last = PromptTrial.objects.filter(corpus=corpus_id).order_by("-pk").first()
    ids = last.description_ids if last and not other_descriptions else _descriptions_drawn(corpus_id)
    if not ids:
        raise NotPossible("The corpus has no descriptions to try a prompt on.")
    trial = PromptTrial.objects.create(
        project=project,
        corpus_id=corpus_id,
        prompt=in_force,
        model=model,
        description_ids=ids,
        actor=actor,
        **wording_of(draft),
    )
    if wake:
        TRIALS.send(trial.pk)
    return trial


def _descriptions_drawn(corpus_id: int) -> list[int]:
    """Return ten descriptions by chance, other ones with each trial of the corpus."""
    ids = list(Description.objects.filter(corpus=corpus_id).order_by("pk").values_list("pk", flat=True))
    chance = Random(PromptTrial.objects.filter(corpus=corpus_id).count())
    return sorted(chance.sample(ids, min(TRIAL_SIZE, len(ids))))


@durable(TRIALS.task)
def prompt_trial_run(*, trial_id: int) -> None:
    """Ask with both prompts and keep the captions beside each other; no caption of the corpus changes."""
    with TRIALS.claim(trial_id) as trial:
        if trial is None:
            return
        draft = Prompt(text=trial.text, examples=trial.examples, seed=trial.seed)
        rows = Description.objects.filter(pk__in=trial.description_ids).select_related("moment__video").order_by("pk")
        sides = [
            Work(OPENAI, corpus_id=trial.corpus_id, prompt=prompt, patient=False).trial(list(rows))
            for prompt in (trial.prompt, draft)
        ]
        results = [
            {"description": first.description.sentence, "sides": [_side(first), _side(second)]}
            for first, second in zip(*sides, strict=True)
        ]
        TRIALS.rows().filter(pk=trial.pk).update(rows=results, finished_at=timezone.now())


def _side(caption: Caption) -> dict[str, Any]:
    """Return what the page shows of one caption."""
    return {
        "text": "" if NO_CAPTION & set(caption.failed) else caption.text,
        "failed": caption.failed_in_words,
        "detail": caption.detail,
        "similarity": caption.similarity,
        "name": caption.name_found,
        "name_score": caption.name_score,
        "tokens": caption.tokens_in + caption.tokens_out,
        "cost_usd": float(caption.cost_usd),
    }


@TRIALS.failure
def _trial_fail(trial: PromptTrial, error: str) -> int:
    return TRIALS.rows().filter(pk=trial.pk).update(finished_at=timezone.now(), error=error)
