"""Moments proposed for a corpus: ordered, counted, written, cancelled, removed again; and the shots of its videos."""

import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import ProtectedError

from accounts.models import Project, User
from annotation.models import Corpus, Moment, Proposal, ShotCut, ShotDetection, Video
from annotation.previews.process import VideoUnreadable
from annotation.previews.services import local_copy
from annotation.proposals.detecting import DETECTOR, THRESHOLD, DetectedCut, cuts_of, detector_version
from annotation.proposals.rules import (
    CAP,
    SEGMENT_LEAST_S,
    SEGMENT_MOST_S,
    SHOTS,
    UNIFORM,
    WINDOWS,
    Options,
    shots_between,
    spans_of,
)
from annotation.proposals.selectors import cuts_by_video, detections_usable, moments_in_use
from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, Progress, durable
from core.media_files import files_delete
from core.messages import send_on_commit

logger = logging.getLogger(__name__)
State, Step = Proposal.State, Proposal.Step
OnProgress = Callable[[str], None]
CHUNK = 2000
ATTEMPTS_MAX = 3  # starts of one video; what ends its worker so often would do so for ever
NO_FILE = "The video file is missing."
ENDED_WORKER = f"Looking for its shots ended the worker {ATTEMPTS_MAX} times; it is left out."
USED = "{:,} of its {:,} moments are in use: they have descriptions, are candidates, or are shown to people."
PROPOSALS = JobKind(
    "annotation.tasks.proposal_work",
    lambda: Proposal.objects.filter(state=State.RUNNING).select_related("corpus"),
    lock="proposal",
)


def options_checked(
    *, method: str, threshold: float | None = None, segment_s: float | None = None, most: int | None = None
) -> Options:
    """Return the options of a method, with the usual value where one is left out; those of other methods are dropped.

    Raises:
        NotPossible: there is no such method, or its option is out of range.
    """
    if method == SHOTS:
        threshold = THRESHOLD if threshold is None else threshold
        if not 0 < threshold <= 100:
            raise NotPossible(f"The threshold of shots is above 0 and at most 100, not {threshold:g}.")
        return Options(SHOTS, threshold=threshold)
    if method == UNIFORM:
        if segment_s is None or not SEGMENT_LEAST_S <= segment_s <= SEGMENT_MOST_S:
            raise NotPossible(f"Say how long a segment is: from {SEGMENT_LEAST_S:g} to {SEGMENT_MOST_S:,.0f} seconds.")
        return Options(UNIFORM, segment_s=segment_s)
    if method == WINDOWS:
        if most is not None and not 1 <= most <= 1_000_000:
            raise NotPossible(f"A video keeps 1 window or more (TVR's evaluation code: {CAP}), or all of them.")
        return Options(WINDOWS, most=most)
    raise NotPossible(f"There is no method {method!r}; there are {SHOTS}, {WINDOWS} and {UNIFORM}.")


@transaction.atomic
def proposal_start(
    *, corpus: Corpus, options: Options, actor: User | None, project: Project | None = None, wake: bool = True
) -> Proposal:
    """Order proposals for all videos of a corpus. Windows and segments are counted at once; a task detects shots.

    The same order, while it is at work, is answered with the row there is. One that has written nothing is replaced.

    Raises:
        NotPossible: the corpus has nothing to propose moments for, or another order is at work or has written moments.
    """
    Corpus.objects.select_for_update(no_key=True).get(pk=corpus.pk)
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus.name!r} stands in for historic judgments; its videos are not here.")
    if not corpus.videos.exists():
        raise NotPossible(f"The corpus {corpus.name!r} has no videos yet; add videos first.")
    if options.method == SHOTS and not corpus.videos.exclude(file="").exists():
        raise NotPossible(f"No video of {corpus.name!r} has its file, in which shots could be detected; upload them.")
    before = corpus.proposals.select_for_update().filter(state__in=Proposal.OPEN).first()
    if before is not None and before.is_at_work:
        if before.options == options and before.step == Step.DETECTING:
            return before
        raise NotPossible("Moments are being proposed for this corpus already. Wait until that is done, or cancel it.")
    if before is not None and before.moments.exists():
        raise NotPossible(
            f"The last order ({before}) has written some of its moments: go on with it, or undo it first."
        )
    if before is not None:
        Proposal.objects.filter(pk=before.pk).update(state=State.REPLACED)
    row = Proposal(corpus=corpus, started_by=actor, **vars(options))
    if options.method != SHOTS:
        row.state, row.step, row.n_moments = State.READY, Step.WRITING, moments_count(corpus, options)
    row.save()
    _record(row, project, actor, "start", method=row.get_method_display(), options=row.details)
    if row.is_at_work and wake:
        PROPOSALS.send(row.pk)
    return row


def moments_count(corpus: Corpus, options: Options) -> int:
    """Count the windows or segments that videos of these lengths have in all."""
    lengths = Counter(corpus.videos.order_by().values_list("duration_s", flat=True))
    return sum(times * len(spans_of(options, duration_s=length)) for length, times in lengths.items())


@transaction.atomic
def proposal_use(
    *, proposal: Proposal, actor: User | None, project: Project | None = None, wake: bool = True
) -> Proposal:
    """Have the proposed spans written as moments without descriptions; their previews are cut after that.

    Raises:
        NotPossible: it is not ready, or its moments are written.
    """
    row = _lock(proposal)
    if row.state != State.READY:
        raise NotPossible("Only proposals that are ready can be used as moments.")
    PROPOSALS.resume(row, state=State.RUNNING, wake=wake, step=Step.WRITING)
    _record(row, project, actor, "use", moments=row.n_moments)
    return row


@transaction.atomic
def proposal_cancel(*, proposal: Proposal, actor: User | None, project: Project | None = None) -> Proposal:
    """Stop detecting shots or writing moments; what is done is kept, and it can go on.

    Raises:
        NotPossible: it is not at work, or removes moments.
    """
    row = _lock(proposal)
    if not row.may_be_cancelled:
        raise NotPossible("No shots are being detected and no moments written; there is nothing to cancel.")
    Proposal.objects.filter(pk=row.pk).update(state=State.CANCELLED)  # a worker learns it from its progress
    _record(row, project, actor, "cancel")
    row.state = State.CANCELLED
    return row


@transaction.atomic
def proposal_resume(
    *, proposal: Proposal, actor: User | None, project: Project | None = None, wake: bool = True
) -> Proposal:
    """Go on with proposals that were cancelled or failed; what was done is not done again.

    Raises:
        NotPossible: they were neither cancelled nor did they fail.
    """
    row = _lock(proposal)
    if not row.may_go_on:
        raise NotPossible("Only proposals that were cancelled or failed can go on.")
    PROPOSALS.resume(row, state=State.RUNNING, wake=wake)
    _record(row, project, actor, "resume")
    return row


@transaction.atomic
def proposal_undo(
    *, proposal: Proposal, actor: User | None, project: Project | None = None, wake: bool = True
) -> Proposal:
    """Have the moments that proposals wrote removed, with their previews. What the corpus had before stays.

    Raises:
        NotPossible: nothing was written, another order is open, or one of the moments is in use.
    """
    row = _lock(proposal)
    if not row.may_be_undone:
        raise NotPossible("These proposals have written no moments; there is nothing to undo.")
    if row.corpus.proposals.filter(state__in=Proposal.OPEN).exclude(pk=row.pk).exists():
        raise NotPossible("Another order of proposals for this corpus is open: use, cancel or replace it first.")
    if n_used := moments_in_use(row).count():
        raise NotPossible(f"{USED.format(n_used, row.moments.count())} So none is removed.")
    PROPOSALS.resume(row, state=State.RUNNING, wake=wake, step=Step.REMOVING)
    _record(row, project, actor, "undo", moments=row.moments.count())
    return row


def _lock(proposal: Proposal) -> Proposal:
    rows = Proposal.objects.select_for_update(of=("self",)).select_related("corpus")
    return rows.get(pk=proposal.pk)


def _record(row: Proposal, project: Project | None, actor: User | None, verb: str, **details: object) -> None:
    about = {"corpus": row.corpus.name, **details}
    audit_record(project=project, actor=actor, action=f"proposal.{verb}", subject=row.uuid, **about)


@durable(PROPOSALS.task)
def proposal_work(*, proposal_id: int, on_progress: OnProgress | None = None) -> bool:
    """Do what is left of a step, video by video; say whether there was any that no other process is at.

    Safe to repeat and to kill: shots of a video and its moments are stored at once, and are there once.
    """
    with PROPOSALS.claim(proposal_id) as row:
        if row is None:
            return False
        progress = Progress(PROPOSALS, row, on_progress)
        work = {Step.DETECTING: _detect, Step.WRITING: _write, Step.REMOVING: _remove}[Step(row.step)]
        work(row, progress)
    return True


def _detect(row: Proposal, progress: Progress[Proposal]) -> None:
    """Detect the shots of every video whose file was not looked through in this way yet, and count the moments."""
    assert row.threshold is not None
    videos = row.corpus.videos.order_by("pk")
    total, second = round(sum(videos.values_list("duration_s", flat=True))) or 1, 0.0
    progress.report(Step.DETECTING, 0, total)
    for video in videos.iterator(chunk_size=200):

        def report(at_s: float, before: float = second) -> None:
            progress.report(Step.DETECTING, min(int(before + at_s), total), total)

        shots_detect(video=video, threshold=row.threshold, since=row.created_at, on_second=report)
        second += video.duration_s
        report(0.0, second)
    usable = detections_usable(row)
    if not usable.exists():
        first = ShotDetection.objects.filter(video__corpus=row.corpus_id).order_by("video__name").first()
        raise NotPossible(
            f"No video of the corpus could be read; the first of them: {first.error if first else NO_FILE}"
        )
    n_moments = sum(len(shots_between(cuts, length)) for length, cuts in cuts_by_video(usable).values())
    PROPOSALS.move(row, state=State.READY, step=Step.WRITING, n_moments=n_moments)
    logger.info("proposal %s: %s shots in %s videos", row.pk, n_moments, usable.count())


def shots_detect(
    *, video: Video, threshold: float, since: datetime, on_second: Callable[[float], None] = lambda second: None
) -> ShotDetection:
    """Detect the shots of a video's file and store them, unless that was done in the same way; return the row.

    A file that could not be read is tried again where that was before ``since``. ``on_second`` gets the second of the
    video that has been looked at; what it raises ends the work, and nothing of the video is stored.
    """
    method = {
        "detector": DETECTOR,
        "threshold": threshold,
        "version": detector_version(),
        "file": str(video.file.name or ""),
    }
    row = ShotDetection.objects.filter(video=video, **method).first()
    if row and (row.state == State.DONE or (row.state == State.FAILED and row.moved_at >= since)):
        return row
    attempts = row.attempts if row and row.moved_at >= since else 0
    values = {**method, "state": ShotDetection.State.RUNNING, "attempts": attempts + 1, "error": ""}
    with transaction.atomic():
        row, _ = ShotDetection.objects.update_or_create(video=video, defaults={**values, "moved_at": clock.now()})
        row.cuts.all().delete()
    if attempts >= ATTEMPTS_MAX:
        return _detection_end(row, [], ENDED_WORKER)
    if not video.file:
        return _detection_end(row, [], NO_FILE)
    try:
        with local_copy(video) as path:
            cuts = cuts_of(path, threshold=threshold, on_frame=on_second)
    except VideoUnreadable as error:
        return _detection_end(row, [], str(error))
    except FileNotFoundError:
        return _detection_end(row, [], NO_FILE)
    except BaseException:  # it was cancelled, or the site is ending: no fault of the file's
        ShotDetection.objects.filter(pk=row.pk).update(attempts=attempts)
        raise
    return _detection_end(row, cuts, "")


@transaction.atomic
def _detection_end(row: ShotDetection, cuts: list[DetectedCut], error: str) -> ShotDetection:
    """Store the cuts, or why there are none, unless the video is looked through in another way meanwhile."""
    same = ShotDetection.objects.select_for_update().filter(
        pk=row.pk, file=row.file, threshold=row.threshold, state=ShotDetection.State.RUNNING
    )
    if not same.exists():
        return row
    ShotCut.objects.bulk_create(
        [ShotCut(detection=row, frame=one.frame, at_s=one.at_s) for one in cuts],
        batch_size=CHUNK,
        ignore_conflicts=True,
    )
    row.state = ShotDetection.State.FAILED if error else ShotDetection.State.DONE
    row.error, row.moved_at = error, clock.now()
    row.save(update_fields=["state", "error", "moved_at"])
    return row


def _write(row: Proposal, progress: Progress[Proposal]) -> None:
    """Write the moments of every video; those of equal span that are there stay as they are."""
    cuts = cuts_by_video(detections_usable(row)) if row.method == SHOTS else {}
    if row.method == SHOTS and sum(len(shots_between(one, length)) for length, one in cuts.values()) != row.n_moments:
        raise NotPossible("Files of the corpus, or their shots, have changed since. Order proposals anew.")
    videos = row.corpus.videos.order_by("pk")
    total = videos.count()
    for n_done, video in enumerate(videos.iterator(chunk_size=CHUNK)):
        progress.report(Step.WRITING, n_done, total)
        if row.method == SHOTS and video.pk not in cuts:
            continue
        spans = spans_of(row.options, duration_s=video.duration_s, cuts=cuts[video.pk][1] if cuts else ())
        with transaction.atomic():
            moments = [Moment(video=video, start_s=start_s, end_s=end_s, proposal=row) for start_s, end_s in spans]
            Moment.objects.bulk_create(moments, batch_size=CHUNK, ignore_conflicts=True)
            if video.file:
                send_on_commit("annotation.tasks.video_cut_previews", video.pk)
    PROPOSALS.move(row, state=State.DONE, done=total, total=total, n_written=row.moments.count())
    logger.info("proposal %s: %s of %s moments written", row.pk, row.n_written, row.n_moments)


def _remove(row: Proposal, progress: Progress[Proposal]) -> None:
    """Remove the moments that were written, with their files, video by video.

    Raises:
        NotPossible: one of them came into use meanwhile.
    """
    videos = Video.objects.filter(moments__proposal=row).distinct().order_by("pk")
    ids, n_before = list(videos.values_list("pk", flat=True)), row.moments.count()
    for n_done, video in enumerate(ids):
        progress.report(Step.REMOVING, n_done, len(ids))
        with transaction.atomic():
            moments = list(row.moments.select_for_update().filter(video=video))
            if n_used := moments_in_use(row).filter(video=video).count():
                raise NotPossible(f"{USED.format(n_used, row.moments.count())} The others of its video stay too.")
            files = [
                str(file.name) for moment in moments for file in (moment.preview, moment.preview_clip, moment.poster)
            ]
            try:
                Moment.objects.filter(pk__in=[moment.pk for moment in moments]).delete()
            except ProtectedError as error:
                raise NotPossible("A moment came into use while it was being removed.") from error
            transaction.on_commit(partial(files_delete, *filter(None, files)))
    n_written = row.n_written if row.n_written is not None else n_before
    PROPOSALS.move(row, state=State.UNDONE, done=len(ids), total=len(ids), n_written=n_written)
