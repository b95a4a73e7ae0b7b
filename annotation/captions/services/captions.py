"""Decisions of people about captions, and the two checks: like its description, and naming no person."""

import logging
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions import ner
from annotation.captions.selectors import last_review
from annotation.corpora.services.corpora import members_of
from annotation.models import Caption, CaptionRedo, CaptionReview, Description
from annotation.pools.services.candidates import measure_of, vectors_of
from annotation.similarity.base import SimilarityMissing
from annotation.similarity.registry import sentence_model
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, durable

logger = logging.getLogger(__name__)
CHUNK = 500
MEASURED = ["similarity", "similarity_measure", "name_found", "name_score", "name_model"]
REMEMBERED = ["text", "state", "provider", "model", "prompt_id", "temperature", "attempt", "failed", "detail"]
REMEMBERED += ["similarity", "similarity_measure_id", "name_found", "name_score", "name_model"]
LONGEST = 2000
DECIDED = "This caption has been decided already."
Decision, Check, State = CaptionReview.Decision, Caption.Check, Caption.State
NO_CAPTION = {Check.NO_ANSWER, Check.REFUSED, Check.EMPTY, Check.HUGE}
EDITS = JobKind(
    "annotation.tasks.edits_check",
    lambda: Caption.objects.filter(state=State.EDITED, name_model=""),
    moved="",
    lock="edits-check",
    key="description__corpus",
    expected=(SimilarityMissing, ner.NameModelMissing),
    fail=lambda caption, error: None,  # it serves unchecked until a sweep finds the model
)


@transaction.atomic
def caption_accept(*, project: Project, caption: Caption, actor: User) -> None:
    """Let a proposal in review serve as it is, or one that was rejected serve again.

    Raises:
        NotPossible: it is neither, or there is no proposal: it needs the person's own words.
    """
    row = caption_locked(caption)
    if row.state not in (State.IN_REVIEW, State.REJECTED):
        raise NotPossible(DECIDED)
    failure = row.failures.filter(attempt=row.attempt).first()  # of the current wording
    own_words = row.reviews.filter(decision=Decision.EDITED, undone_at=None)
    if failure and NO_CAPTION & set(failure.failed) and not own_words.exists():
        raise NotPossible("There is no proposal to accept; write the caption yourself.")
    _decide(project, row, actor, Decision.ACCEPTED, text=row.text, state=State.ACCEPTED)


@transaction.atomic
def caption_edit(*, project: Project, caption: Caption, text: str, actor: User, before: str | None = None) -> None:
    """Let the person's own words serve.

    Args:
        before: the text that the person corrected, of a caption that serves or was rejected; None: one in review.

    Raises:
        NotPossible: it reads otherwise by now, is not in review any more, or the words are none or too many.
    """
    wording = " ".join(text.split())
    if not wording or len(wording) > LONGEST:
        raise NotPossible(f"A caption has between 1 and {LONGEST} characters.")
    row = caption_in_review(caption) if before is None else _caption_unchanged(caption, before)
    _decide(project, row, actor, Decision.EDITED, text=wording, state=State.EDITED)


@transaction.atomic
def caption_reject(*, project: Project, caption: Caption, actor: User, before: str) -> None:
    """Let the caption serve nothing from now on; queries and candidates made of it stay as they are.

    Raises:
        NotPossible: it reads otherwise than ``before`` by now, or was rejected already.
    """
    row = _caption_unchanged(caption, before)
    if row.state == State.REJECTED:
        raise NotPossible("This caption has been rejected already.")
    _decide(project, row, actor, Decision.REJECTED, text=row.text, state=State.REJECTED)


def _caption_unchanged(caption: Caption, before: str) -> Caption:
    row = caption_locked(caption)
    if row.provider == Caption.Provider.AS_DESCRIBED or row.state == State.PROPOSED:
        raise NotPossible("This description is not rewritten yet. Rewrite it under Captions first.")
    if row.text.split() != before.split():
        raise NotPossible(f"Somebody has changed this caption meanwhile. It reads now: {row.text}")
    return row


def name_left_in(caption: Caption) -> str:
    """A name of a person that the lexicon finds in the caption; empty where it finds none."""
    video = caption.moment.video
    names = ner.name_finder(ner.LEXICON, members=members_of(video.corpus_id))
    (match,) = names.find([caption.text], videos=[video.name])
    return match.text if match.score > settings.CAPTION_NAME_SCORE_MAX else ""


@transaction.atomic
def caption_undo(*, project: Project, actor: User) -> Caption:
    """Take back the actor's last decision in this corpus that still stands. Raises NotPossible where there is none,
    somebody has decided since, or the caption serves a query already."""
    review = last_review(project.dataset.corpus_id, actor.pk)
    if redo := _called_off(project, actor, since=review.created_at if review else None):
        return redo.caption
    if review is None:
        raise NotPossible("There is no decision of yours to undo.")
    caption = Caption.objects.select_for_update().get(pk=review.caption_id)
    if caption.reviews.filter(undone_at=None, pk__gt=review.pk).exists():
        raise NotPossible("Somebody has decided about this caption since.")
    if caption.queries.exists():
        raise NotPossible("A query has been made of this caption; it stays.")
    for name, value in review.before.items():
        setattr(caption, name, value)
    caption.reviewed_by = caption.reviewed_at = None
    caption.save()
    CaptionReview.objects.filter(pk=review.pk).update(undone_at=timezone.now())
    audit_record(project=project, actor=actor, action="caption.undone", subject=caption.uuid, decision=review.decision)
    return caption


def _called_off(project: Project, actor: User, *, since: datetime | None) -> CaptionRedo | None:
    """The actor's last decision may be to have asked for another wording that is not there yet."""
    mine = CaptionRedo.objects.filter(
        actor=actor, caption__description__corpus=project.dataset.corpus_id, finished_at=None
    )
    redo = mine.filter(**{"requested_at__gt": since} if since else {}).select_related("caption").order_by("-pk").first()
    if redo is None or not mine.filter(pk=redo.pk).update(finished_at=timezone.now()):
        return None
    audit_record(project=project, actor=actor, action="caption.redo_called_off", subject=redo.caption.uuid)
    return redo


def remembered(caption: Caption) -> dict[str, Any]:
    return {name: getattr(caption, name) for name in REMEMBERED}


def caption_locked(caption: Caption) -> Caption:
    rows = Caption.objects.select_for_update(of=("self",)).select_related("description", "moment__video")
    return rows.get(pk=caption.pk)


def caption_in_review(caption: Caption) -> Caption:
    """Return the caption, locked. Raises NotPossible where it is no longer in review."""
    row = caption_locked(caption)
    if row.state != State.IN_REVIEW:
        raise NotPossible(DECIDED)
    return row


def _decide(project: Project, caption: Caption, actor: User, decision: str, *, text: str, state: str) -> None:
    before = remembered(caption)
    caption.text, caption.state, caption.reviewed_by, caption.reviewed_at = text, state, actor, timezone.now()
    if decision == Decision.EDITED:  # what was measured was another text
        caption.similarity = caption.similarity_measure = caption.name_score = None
        caption.name_found = caption.name_model = ""
        EDITS.send(project.dataset.corpus_id)
    caption.save()
    CaptionReview.objects.create(caption=caption, actor=actor, decision=decision, before=before, text=text)
    facts = {"failed": caption.failed, "from_text": before["text"], "to_text": text}
    audit_record(project=project, actor=actor, action=f"caption.{decision}", subject=caption.uuid, **facts)


def names_finder_of(corpus_id: int) -> ner.NameFinder:
    """Return the finder that the site is set to, as it knows this corpus. Reads every description: no work for the web
    process."""

    if settings.CAPTION_NER == ner.CORPUS:
        rows = Description.objects.filter(corpus=corpus_id).aggregate(n=Count("pk"), last=Max("pk"))
        return _names_of_corpus(corpus_id, rows["n"], rows["last"])
    return ner.name_finder(settings.CAPTION_NER, members=members_of(corpus_id))


@lru_cache(maxsize=4)
def _names_of_corpus(corpus_id: int, n_descriptions: int, last_description: int | None) -> ner.NameFinder:
    """The finder of a corpus as it is, counted once by each process: its descriptions are only ever added."""
    texts = Description.objects.filter(corpus=corpus_id).values_list("text", flat=True)
    return ner.name_finder(ner.CORPUS, texts=texts.iterator)


def captions_measure(captions: Sequence[Caption], names: ner.NameFinder) -> None:
    """Set, and do not save, what the checks go by. Loads models: no work for the web process. Raises SimilarityMissing,
    NameModelMissing where a model is not here."""
    similarity = sentence_model(settings.SENTENCE_MODEL, embed=vectors_of)
    measure = measure_of(similarity)
    texts = [caption.text for caption in captions]
    likeness = similarity.pairs([caption.description.sentence for caption in captions], texts)
    matches = names.find(texts, videos=[caption.moment.video.name for caption in captions])
    for caption, value, name in zip(captions, likeness, matches, strict=True):
        caption.similarity, caption.similarity_measure = round(float(value), 6), measure
        caption.name_found, caption.name_score = name.text[:200], round(name.score, ner.SCORE_DIGITS)
        caption.name_model = names.name[:100]


def checks_failed(caption: Caption) -> list[Caption.Check]:
    """Return the checks that the caption's measured values fail."""
    similarity, score = caption.similarity, caption.name_score
    failed = [Check.SIMILARITY] if similarity is not None and similarity < settings.CAPTION_SIMILARITY_MIN else []
    return failed + ([Check.NAME] if score is not None and score > settings.CAPTION_NAME_SCORE_MAX else [])


@durable(EDITS.task)
def edits_check(*, corpus_id: int) -> int:
    """Measure captions that people wrote, and return how many; they serve whatever comes out."""
    measured = 0
    with EDITS.claim(corpus_id) as first:
        if first is None:
            return 0
        unchecked = EDITS.rows().filter(description__corpus=corpus_id)
        unchecked = unchecked.select_related("description", "moment__video").order_by("pk")
        names = names_finder_of(corpus_id)
        while captions := list(unchecked[:CHUNK]):
            captions_measure(captions, names)
            for caption in captions:
                if Check.EMPTY in caption.failed:  # there is nothing to be like
                    caption.similarity = caption.similarity_measure = None
                # one whose text has changed meanwhile is measured again
                same = EDITS.rows().filter(pk=caption.pk, text=caption.text)
                measured += same.update(**{name: getattr(caption, name) for name in MEASURED})
    return measured
