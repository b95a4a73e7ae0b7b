"""Videos that may not be shown any more: what is judged of them leaves the judging, and stays as withdrawn rows."""

import logging
from contextlib import suppress
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Membership, Project, User
from annotation.corpora.services import retirement
from annotation.models import Video
from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import durable, swept
from core.messages import send_on_commit
from judging.exceptions import NotPossibleNow
from judging.models import ClipAssignment, KnownPair, Pair, WritingClip
from judging.qualification.services.exams import known_pair_retire
from judging.work.services.pairs import pair_withdraw

logger = logging.getLogger(__name__)
TASK = "judging.tasks.retired_pairs_withdraw"
REASON = "The video {} is retired: {}"


def projects_over(video: Video) -> QuerySet[Project]:
    """Return the projects whose corpus has the video."""
    return Project.objects.filter(dataset__corpus=video.corpus_id).order_by("pk")


def projects_led_by_others(video: Video, lead: User) -> QuerySet[Project]:
    """Return the projects over the video's corpus that ``lead`` does not lead."""
    own = Membership.objects.filter(user=lead, roles__contains=[Membership.Role.LEAD])
    return projects_over(video).exclude(pk__in=own.values("project"))


def pairs_of(video: Video) -> QuerySet[Pair]:
    """Return the pairs of the video that are not withdrawn; imported ones stay as they were judged."""
    rows = Pair.objects.filter(candidate__moment__video=video, source_id=None)
    return rows.exclude(state=Pair.State.WITHDRAWN)


def known_pairs_of(video: Video) -> QuerySet[KnownPair]:
    """Return the pairs of exams, tutorials and the like that show the video and are still asked."""
    return KnownPair.objects.filter(moment__video=video, is_retired=False)


@transaction.atomic
def video_retire(*, project: Project, video: Video, lead: User, reason: str) -> Video:
    """Remove a video's files for good and take it out of all projects over its corpus; ``project`` is where it is done.

    Its clips are handed to no writer any more; a task withdraws its pairs, with the reason, and takes it out of exams.

    Raises:
        NotPossible: no reason is given, or it is retired already.
        NotPossibleNow: somebody else leads a project over the corpus.
    """
    others = projects_led_by_others(video, lead).count()
    if others:
        raise NotPossibleNow(
            f"{others} other project{' is' if others == 1 else 's are'} over this corpus, and you do not lead"
            f" {'it' if others == 1 else 'them'}. Whoever leads all of them can retire the video."
        )
    row = retirement.video_retire(video=video, reason=reason, actor=lead)
    _clips_retire(row, clock.now())
    facts = {"video": row.name, "reason": row.retired_because}
    for one in projects_over(row):
        audit_record(project=one, actor=lead, action="video.retire", subject=row.uuid, **facts)
    send_on_commit(TASK, row.pk)
    return row


def _clips_retire(video: Video, now: datetime) -> None:
    assignments = ClipAssignment.objects.filter(clip__video=video, state=ClipAssignment.State.OPEN)
    assignments.update(state=ClipAssignment.State.RETURNED, ended_at=now)
    WritingClip.objects.filter(video=video).update(state=WritingClip.State.RETIRED)


@durable(TASK)
def retired_pairs_withdraw(*, video_id: int) -> int:
    """Withdraw the pairs of a retired video, one by one, and take it out of exams; return how many pairs.

    Safe to repeat: what is withdrawn is left alone.
    """
    video = Video.objects.filter(pk=video_id, retired_at__isnull=False).select_related("retired_by").first()
    if video is None or video.retired_by is None:
        return 0
    reason, n_pairs = REASON.format(video.name, video.retired_because)[: retirement.LONGEST_REASON], 0
    for pair in pairs_of(video).order_by("batch", "pk"):
        with suppress(NotPossibleNow):  # somebody has just withdrawn it
            pair_withdraw(pair=pair, lead=video.retired_by, reason=reason)
            n_pairs += 1
    for exam_pair in known_pairs_of(video).order_by("pk"):
        with suppress(NotPossible):
            known_pair_retire(pair=exam_pair, actor=video.retired_by, reason=reason, now=clock.now())
    logger.info("video %s retired: %s pairs withdrawn", video.pk, n_pairs)
    return n_pairs


@swept
def retired_videos_sweep(now: datetime | None = None) -> None:
    """Send the withdrawal again where a message was lost, or a pair of a retired video came later."""
    pairs = Pair.objects.filter(candidate__moment__video=OuterRef("pk"), source_id=None)
    rest = pairs.exclude(state=Pair.State.WITHDRAWN)
    exam_pairs = KnownPair.objects.filter(moment__video=OuterRef("pk"), is_retired=False)
    retired = Video.objects.filter(retired_at__isnull=False)
    for video_id in retired.filter(Exists(rest) | Exists(exam_pairs)).values_list("pk", flat=True):
        send_on_commit(TASK, video_id)
