"""Videos that may not be shown any more: their files are removed for good, and all that rests on them stays as rows."""

import logging
from functools import partial
from itertools import chain

from django.db import transaction

from accounts.models import User
from annotation.corpora.models import PlaybackState, PosterState
from annotation.corpora.services.video_uploads import uploads_discard
from annotation.models import Corpus, Moment, Video
from core import clock
from core.exceptions import NotPossible
from core.media_files import files_delete

logger = logging.getLogger(__name__)
LONGEST_REASON = 1000
FILES = ("preview", "preview_clip", "poster")  # of a moment


@transaction.atomic
def video_retire(*, video: Video, reason: str, actor: User) -> Video:
    """Remove the files of a video and its moments: the video, its copy to play, pictures and previews. It never gets a
    file again, and none of its moments is ranked, pooled or shown. The caller writes the audit row.

    Raises:
        NotPossible: no reason is given, or it is retired already.
    """
    because = " ".join(reason.split())
    if not because:
        raise NotPossible("Say why: the reason stays with the video.")
    if len(because) > LONGEST_REASON:
        raise NotPossible(f"A reason has {LONGEST_REASON:,} characters at most.")
    Corpus.objects.select_for_update(no_key=True).get(pk=video.corpus_id)
    row = Video.objects.select_for_update(no_key=True).get(pk=video.pk)
    if row.retired_at is not None:
        raise NotPossible(f"{row.name} is retired already.")
    moments = row.moments.exclude(preview_state=Moment.Preview.PLACEHOLDER)
    names = [str(file.name or "") for file in (row.file, row.poster, row.playback)]
    names += chain.from_iterable(moments.select_for_update().order_by("pk").values_list(*FILES))
    moments.update(
        **dict.fromkeys(FILES, ""),
        preview_state=Moment.Preview.RETIRED,
        preview_error="",
        preview_is_old=False,
        poster_state=PosterState.FAILED,
    )
    row.file.name = row.poster.name = row.playback.name = row.sha256 = ""
    row.poster_state, row.playback_state = PosterState.FAILED, PlaybackState.NOT_NEEDED
    row.retired_at, row.retired_by, row.retired_because = clock.now(), actor, because
    row.save()
    uploads_discard(row)
    transaction.on_commit(partial(files_delete, *names))
    logger.info("video %s retired: %s files go", row.pk, len([name for name in names if name]))
    return row
