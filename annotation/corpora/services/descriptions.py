"""Descriptions that people write here, one by one, each of a moment that is made with it where there is none."""

from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max, ProtectedError

from annotation.corpora.selectors import moments_referred_to
from annotation.models import Caption, Corpus, Description, Moment, Video
from core.exceptions import NotPossible
from core.media_files import files_delete
from core.messages import send_on_commit


class NewDescription(NamedTuple):
    """A description, and whether its moment was made with it."""

    description: Description
    moment_is_new: bool


@transaction.atomic
def description_add(*, video: Video, start_s: float, end_s: float, text: str, kind: str) -> NewDescription:
    """Add a description of a moment to the video's corpus, under the next free number; its preview is cut afterwards.

    Args:
        start_s, end_s: of the moment, in seconds, within the video.
        kind: a Description.Kind.
    """
    corpus = Corpus.objects.select_for_update(no_key=True).get(pk=video.corpus_id)
    moment, is_new = Moment.objects.get_or_create(video=video, start_s=start_s, end_s=end_s)
    last = corpus.descriptions.aggregate(last=Max("source_id"))["last"]
    number = 0 if last is None else last + 1
    row = Description.objects.create(corpus=corpus, moment=moment, source_id=number, text=text, kind=kind)
    Caption.objects.create(moment=moment, description=row, text=text, provider=Caption.Provider.AS_DESCRIBED)
    if is_new and video.file:
        send_on_commit("annotation.tasks.video_cut_previews", video.pk)
    return NewDescription(row, is_new)


@transaction.atomic
def description_remove(*, description: Description, with_moment: bool) -> None:
    """Remove a description on which nothing was built yet.

    Args:
        with_moment: remove its moment, too, where nothing else refers to that.

    Raises:
        NotPossible: its caption was rewritten or is in use.
    """
    try:
        Caption.objects.filter(description=description, provider=Caption.Provider.AS_DESCRIBED).delete()
        description.delete()
    except ProtectedError as error:
        uses = "its caption was rewritten, or is a query, or a verification study has drawn it"
        raise NotPossible(f"The description is in use: {uses}.") from error
    moments = Moment.objects.filter(pk=description.moment_id) if with_moment else Moment.objects.none()
    moment = moments.exclude(pk__in=moments_referred_to(moments)).first()
    if moment is None:
        return
    files = [str(file.name) for file in (moment.preview, moment.preview_clip, moment.poster)]
    moment.delete()
    transaction.on_commit(partial(files_delete, *filter(None, files)))
