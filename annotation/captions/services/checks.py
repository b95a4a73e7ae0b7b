"""The two checks of a caption: that it is like its description, and that it names no person."""

import logging
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet

from annotation.captions import ner
from annotation.corpora.services.video_files import members_of
from annotation.models import Caption
from annotation.pools.services.candidates import measure_of, vectors_of
from annotation.similarity.base import SimilarityMissing
from annotation.similarity.registry import sentence_model
from core.jobs import durable, swept
from core.locks import only_one
from core.messages import send_on_commit

logger = logging.getLogger(__name__)
TASK = "annotation.tasks.edits_check"
LOCK = "edits-check"
CHUNK = 500
Check, State = Caption.Check, Caption.State
MEASURED = ["similarity", "similarity_measure", "name_found", "name_score", "name_model"]


def captions_measure(captions: Sequence[Caption], names: ner.NameFinder) -> None:
    """Set, and do not save, what the checks go by. Loads models: no work for the web process.

    Raises:
        SimilarityMissing, NameModelMissing: a model is not here.
    """
    similarity = sentence_model(settings.SENTENCE_MODEL, embed=vectors_of)
    measure = measure_of(similarity)
    texts = [caption.text for caption in captions]
    likeness = similarity.pairs([caption.description.text for caption in captions], texts)
    found = names.find(texts, videos=[caption.moment.video.name for caption in captions])
    for caption, value, name in zip(captions, likeness, found, strict=True):
        caption.similarity, caption.similarity_measure = round(float(value), 6), measure
        caption.name_found, caption.name_score = name.text[:200], round(name.score, ner.KEPT_DIGITS)
        caption.name_model = names.name[:100]


def checks_failed(caption: Caption) -> list[Caption.Check]:
    """What the caption fails by what was measured of it."""
    similarity, score = caption.similarity, caption.name_score
    failed = [Check.SIMILARITY] if similarity is not None and similarity < settings.CAPTION_SIMILARITY_MIN else []
    return failed + ([Check.NAME] if score is not None and score > settings.CAPTION_NAME_SCORE_MAX else [])


@durable(TASK)
def edits_check(*, corpus_id: int) -> int:
    """Measure captions that people wrote, so that it can be told how they stand; they serve in any case.

    Returns:
        How many were measured.
    """
    with only_one(LOCK, corpus_id) as alone:
        if not alone:
            return 0
        measured = 0
        unchecked = (
            edits_unchecked().filter(description__corpus=corpus_id).select_related("description", "moment__video")
        )
        try:
            names = ner.name_finder(settings.CAPTION_NER, members_of(corpus_id))
            while captions := list(unchecked.order_by("pk")[:CHUNK]):
                captions_measure(captions, names)
                for caption in captions:
                    if Check.EMPTY in caption.failed:  # there is nothing to be like
                        caption.similarity = caption.similarity_measure = None
                measured += sum(map(_keep, captions))
        except (SimilarityMissing, ner.NameModelMissing) as error:
            logger.warning("edited captions of corpus %s stay unchecked: %s", corpus_id, error)
        return measured


def edits_unchecked() -> QuerySet[Caption]:
    return Caption.objects.filter(state=State.EDITED, name_model="")


@swept
def edits_sweep(now: datetime) -> None:
    """Send the check again where a message was lost."""
    for corpus_id in edits_unchecked().values_list("description__corpus", flat=True).distinct():
        send_on_commit(TASK, corpus_id)


def _keep(caption: Caption) -> int:
    """Whether the caption still says what was measured."""
    same = edits_unchecked().filter(pk=caption.pk, text=caption.text)
    return same.update(**{name: getattr(caption, name) for name in MEASURED})
