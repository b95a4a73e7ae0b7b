"""Rounds of writing, clips handed out to one writer at a time, drafts, and the queries that are submitted."""

import logging
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F

from accounts.models import Project, User
from annotation.models import Subtitle
from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible
from judging.collection import selectors
from judging.collection.rules import Entry, end_within, problems_of, type_to_request
from judging.exceptions import LeaseLost, NotAssigned, NotPossibleNow, QueryRefused
from judging.guidelines.selectors import policy_in_force
from judging.models import ClipAssignment, WriterStop, WritingClip, WritingRound, WritingRoundMember, WrittenQuery
from judging.work.rules import active_ms as possible_ms
from judging.work.rules import lease_until, with_change

logger = logging.getLogger(__name__)
State = ClipAssignment.State
LONGEST_REASON = 300
TAKES = 50  # how often to look again when somebody else was faster
RUN_OUT = "Your time with this clip has run out. Your draft is kept: press “Write queries” to have the clip again."
ENDED = "You have finished this clip. Press “Write queries” for the next one."
ELSEWHERE = (
    "This clip is open in another tab too, where its draft was changed. Load the page again to go on from there."
)
REPLACED = "The video was replaced while you had it. Load the page again and look whether the moment is still there."
STATES = {"pause": WritingRound.State.PAUSED, "resume": WritingRound.State.OPEN, "close": WritingRound.State.CLOSED}


@transaction.atomic
def round_create(
    *, project: Project, name: str, actor: User | None, members: Collection[User] = (), **rules: Any
) -> WritingRound:
    """Open a round over the videos of the project's corpus that can be played.

    Args:
        members: writers who take part; all writers of the project where none is named.
        rules: fields of WritingRound.

    Raises:
        NotPossible: the name is used, or no video can serve.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if project.writing_rounds.filter(name=name).exists():
        raise NotPossible(f"There is a round {name!r} in {project.name!r} already; choose another name.")
    row = WritingRound.objects.create(project=project, name=name, created_by=actor, **rules)
    _members_set(row, members)
    n_clips = _clips_add(row)
    if not n_clips:
        with_speech = "" if row.share_v else " and subtitles"
        raise NotPossible(
            f"No video of {project.dataset.corpus.name!r} has a file that browsers play{with_speech} yet:"
            " add videos first."
        )
    facts = {"name": name, "types": ", ".join(row.types), "clips": n_clips, "per_clip": row.queries_per_clip}
    audit_record(project=project, actor=actor, action="writing_round.create", subject=row.uuid, **facts)
    return row


@transaction.atomic
def round_change(*, round: WritingRound, change: str, actor: User | None) -> WritingRound:
    """Pause a round, resume it, or close it for good. The same again changes nothing.

    Raises:
        NotPossibleNow: it is closed.
    """
    row = WritingRound.objects.select_for_update().select_related("project").get(pk=round.pk)
    state = STATES[change]
    if row.state == state:
        return row
    if row.state == WritingRound.State.CLOSED:
        raise NotPossibleNow(f"The round {row.name!r} is closed. Make another one.")
    row.state = state
    row.save(update_fields=["state"])
    audit_record(project=row.project, actor=actor, action=f"writing_round.{change}", subject=row.uuid, name=row.name)
    return row


@transaction.atomic
def members_change(*, round: WritingRound, members: Collection[User], actor: User | None) -> None:
    """Say who takes part in a round from now on; nobody named: all writers of the project. What they have stays."""
    row = WritingRound.objects.select_for_update().select_related("project").get(pk=round.pk)
    row.members.all().delete()
    _members_set(row, members)
    facts = {"name": row.name, "n": len(members)}
    audit_record(project=row.project, actor=actor, action="writing_round.members", subject=row.uuid, **facts)


def _members_set(row: WritingRound, members: Collection[User]) -> None:
    writers = set(selectors.writers_of(row.project).values_list("user", flat=True))
    if strangers := [user.username for user in members if user.pk not in writers]:
        raise NotPossible(f"{strangers[0]} is no writer of {row.project.name!r}. Give them the role first.")
    WritingRoundMember.objects.bulk_create([WritingRoundMember(round=row, writer=user) for user in members])


@transaction.atomic
def clips_add(*, round: WritingRound, actor: User | None) -> int:
    """Add the videos that came since the round was made; returns how many."""
    row = WritingRound.objects.select_for_update(no_key=True).select_related("project").get(pk=round.pk)
    n_clips = _clips_add(row)
    if n_clips:
        facts = {"name": row.name, "clips": n_clips}
        audit_record(project=row.project, actor=actor, action="writing_round.clips", subject=row.uuid, **facts)
    return n_clips


def _clips_add(row: WritingRound) -> int:
    videos = selectors.videos_missing(row).order_by("pk").values_list("pk", flat=True)
    clips = [WritingClip(round=row, video_id=video) for video in videos]
    return len(WritingClip.objects.bulk_create(clips, batch_size=2000))


@transaction.atomic
def clip_reopen(*, clip: WritingClip, actor: User | None) -> None:
    """Hand out again a clip in which a writer found nothing more. Raises NotPossibleNow where it is none."""
    row = WritingClip.objects.filter(pk=clip.pk, state=WritingClip.State.EXHAUSTED)
    if not row.update(state=WritingClip.State.OPEN):
        raise NotPossibleNow(f"The clip of {clip.video.name!r} is handed out already, or has its queries.")
    facts = {"name": clip.round.name, "video": clip.video.name}
    audit_record(project=clip.round.project, actor=actor, action="writing_clip.reopen", subject=clip.uuid, **facts)


def clip_take(*, round: WritingRound, writer: User, now: datetime | None = None) -> ClipAssignment | None:
    """Return the writer's open assignment of the project, or a new one of the round; None when no clip is left.

    What a checker sent back to them comes first, then a clip whose lease of theirs ran out, each with its draft; then
    clips that have some of their queries.

    Raises:
        NotPossibleNow: the round is paused or closed, they do not take part in it, or they were stopped.
    """
    now = now or clock.now()
    clips_lapse(project_id=round.project_id, now=now)
    for _ in range(TAKES):
        assignment = selectors.open_assignment(project_id=round.project_id, writer=writer)
        if assignment:
            return assignment
        if refusal := selectors.round_refusal(round, writer):
            raise NotPossibleNow(refusal)
        try:
            if new_assignment := _next_clip_take(round, writer, now):
                return new_assignment
        except IntegrityError:  # their second tab was faster, or somebody else just then
            continue
        if not selectors.clips_left(round, writer).exists():
            return None
    return None


def _sent_back_take(round: WritingRound, writer: User, now: datetime) -> ClipAssignment | None:
    """Open the writer's oldest clip with a rejected query, unless somebody else writes for it just now."""
    row = selectors.sent_back_to_take(round, writer)
    if row is not None:
        places, row.n_sent_back = row.n_sent_back, 0
        row.n_queries -= places
        row.state, row.ended_at = State.OPEN, None
        row.expires_at = lease_until(now, minutes=policy_in_force(round.project_id).lease_minutes)
        row.writing_since = now
        row.save(update_fields=["state", "n_queries", "n_sent_back", "expires_at", "ended_at", "writing_since"])
        queries_uncount(row.clip, places)
    return row


def queries_uncount(clip: WritingClip, places: int) -> None:
    """Let a clip, whose row is locked, take so many more queries."""
    clip.n_queries -= places
    if clip.state == WritingClip.State.DONE:
        clip.state = WritingClip.State.OPEN
    clip.save(update_fields=["n_queries", "state"])


def _sent_back_expire(round: WritingRound, now: datetime) -> None:
    """Free the places of rejected queries that their writers have not written anew in time."""
    rows = ClipAssignment.objects.select_for_update(of=("self", "clip"), no_key=True, skip_locked=True)
    overdue = rows.filter(project=round.project_id, state=State.SENT_BACK, expires_at__lte=now).select_related("clip")
    for row in overdue.order_by("pk"):
        _sent_back_give_up(row)


def _sent_back_give_up(row: ClipAssignment) -> None:
    places, row.n_sent_back = row.n_sent_back, 0
    row.n_queries -= places
    row.state = State.RETURNED
    row.save(update_fields=["state", "n_queries", "n_sent_back"])
    queries_uncount(row.clip, places)


@transaction.atomic
def _next_clip_take(round: WritingRound, writer: User, now: datetime) -> ClipAssignment | None:
    _sent_back_expire(round, now)
    if sent_back := _sent_back_take(round, writer, now):
        return sent_back
    clip = selectors.clip_to_be_taken(round_id=round.pk, writer_id=writer.pk)
    if clip is None:
        return None
    clip.round = round
    until = lease_until(now, minutes=policy_in_force(round.project_id).lease_minutes)
    own = ClipAssignment.objects.filter(clip=clip, writer=writer, state=State.LAPSED).first()
    if own is not None:
        own.state, own.expires_at, own.ended_at, own.writing_since = State.OPEN, until, None, now
        own.save(update_fields=["state", "expires_at", "ended_at", "writing_since"])
        return own
    types = round.types if Subtitle.objects.filter(video=clip.video_id).exists() else ("v",)
    requested = type_to_request(selectors.type_totals(round.pk), round.shares, types)
    times = {"expires_at": until, "writing_since": now}
    return ClipAssignment.objects.create(
        project_id=round.project_id, clip=clip, writer=writer, type_requested=requested, **times
    )


def clips_lapse(*, project_id: int, now: datetime) -> int:
    """End the leases that have run out; drafts stay with their writers. Returns how many ended."""
    overdue = ClipAssignment.objects.filter(project=project_id, state=State.OPEN, expires_at__lte=now)
    with transaction.atomic():
        keys = list(overdue.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True))
        return ClipAssignment.objects.filter(pk__in=keys).update(state=State.LAPSED, ended_at=now) if keys else 0


def draft_save(*, assignment: UUID, writer: User, entry: Entry, version: int, now: datetime | None = None) -> int:
    """Keep what a writer has entered so far, and start their lease anew; returns the draft's new version.

    The draft is kept where the lease has run out, too: it is there when the writer has the clip again.

    Raises:
        LeaseLost: the lease has run out, or the assignment has ended.
        NotPossibleNow: another tab has saved a newer draft.
        NotAssigned: the writer has no such assignment.
    """
    now = now or clock.now()
    own = ClipAssignment.objects.filter(uuid=assignment, writer=writer)
    row = own.select_related("clip__round").first()
    if row is None:
        raise NotAssigned("This clip is not assigned to you.")
    values: dict[str, Any] = {"draft_text": entry.text[:2000], "draft_type": entry.type, "draft_start_s": entry.start_s}
    values |= {"draft_end_s": entry.end_s, "draft_version": F("draft_version") + 1}
    runs = row.state == State.OPEN and row.expires_at > now
    if runs:
        values["expires_at"] = lease_until(now, minutes=policy_in_force(row.project_id).lease_minutes)
    n_saved = own.filter(draft_version=version, state__in=[State.OPEN, State.LAPSED]).update(**values)
    if row.state in ClipAssignment.ENDED:
        raise LeaseLost(ENDED)
    if not n_saved:
        raise NotPossibleNow(ELSEWHERE)
    if not runs:
        raise LeaseLost(RUN_OUT)
    return version + 1


class Submission(NamedTuple):
    """A query that was submitted, and whether its writer has more to write for the same clip."""

    query: WrittenQuery
    goes_on: bool


@transaction.atomic
def query_submit(
    *,
    assignment: UUID,
    writer: User,
    key: UUID,
    entry: Entry,
    file: str = "",
    active_ms: int | None = None,
    now: datetime | None = None,
) -> Submission:
    """Record a query for a moment of the clip; the same key again is answered as the first time.

    Args:
        file: which file of the video the writer has seen (``file_version``); empty where it is not known.
        active_ms: how long the clip was before the writer for this query, as their page measured.

    Raises:
        NotAssigned: the writer has no such assignment.
        LeaseLost: its time has run out, or it has ended.
        NotPossibleNow: the video has another file by now.
        QueryRefused: a check of the round finds problems; nothing is recorded.
    """
    now = now or clock.now()
    row = _assignment_lock(assignment, writer)
    if before := WrittenQuery.objects.filter(key=key, writer=writer).first():
        return Submission(before, row.state == State.OPEN)
    _running_or_refused(row, now)
    video, round = row.clip.video, row.clip.round
    if file and file != selectors.file_version(video):
        raise NotPossibleNow(REPLACED)
    entry = Entry(
        " ".join(entry.text.split()), entry.type, entry.start_s, end_within(entry.end_s, duration_s=video.duration_s)
    )
    problems = problems_of(
        entry,
        duration_s=video.duration_s,
        lines=selectors.lines_of(video),
        checks=round.checks,
        rejections=[query.entry for query, _ in selectors.rejections_of(row)] if row.draft_version else (),
    )
    if problems:
        raise QueryRefused(problems)
    query = WrittenQuery.objects.create(
        assignment=row,
        clip=row.clip,
        writer=writer,
        key=key,
        text=entry.text,
        type=entry.type,
        start_s=entry.start_s,  # type: ignore[misc]  # problems_of looked
        end_s=entry.end_s,
        active_ms=_time_of(row, active_ms, now),
    )
    _count(row, now)
    logger.info("assignment %s of clip %s: query %s", row.pk, row.clip_id, query.pk)
    return Submission(query, row.state == State.OPEN)


def _time_of(row: ClipAssignment, measured: int | None, now: datetime) -> int:
    """Return the time since the clip was opened or its last query submitted, or less where the page measured less."""
    return possible_ms(measured, since=row.writing_since or row.created_at, now=now)


def _empty_time_add(row: ClipAssignment, measured: int | None, now: datetime) -> None:
    """Keep the time that ended without a query; nothing is saved."""
    row.empty_ms, row.empty_at = with_change(row.empty_ms, _time_of(row, measured, now)), now


def _count(row: ClipAssignment, now: datetime) -> None:
    """Count a query of the assignment, and end that where it, or the clip, has all it may have."""
    clip, round = row.clip, row.clip.round
    clip.n_queries += 1
    row.n_queries += 1
    if clip.n_queries >= round.queries_per_clip:
        clip.state = WritingClip.State.DONE
    if row.n_queries >= round.queries_per_visit or clip.state == WritingClip.State.DONE:
        row.state, row.ended_at = State.FINISHED, now
    row.draft_text, row.draft_type, row.draft_start_s, row.draft_end_s = "", "", None, None
    row.draft_version += 1
    row.writing_since = now
    row.expires_at = lease_until(now, minutes=policy_in_force(row.project_id).lease_minutes)
    clip.save(update_fields=["n_queries", "state"])
    row.save()


@transaction.atomic
def clip_return(*, assignment: UUID, writer: User, active_ms: int | None = None, now: datetime | None = None) -> None:
    """Give a clip back: others get it, its writer does not. Repeating it changes nothing. Raises NotAssigned.

    Args:
        active_ms: as in ``query_submit``; it counts while the lease runs.
    """
    now = now or clock.now()
    row = _assignment_lock(assignment, writer)
    if row.state == State.SENT_BACK:
        _sent_back_give_up(row)
    elif row.state in (State.OPEN, State.LAPSED):
        if row.state == State.OPEN and row.expires_at > now:
            _empty_time_add(row, active_ms, now)
        row.state, row.ended_at = State.RETURNED, now
        row.save(update_fields=["state", "ended_at", "empty_ms", "empty_at"])


@transaction.atomic
def clip_exhaust(*, assignment: UUID, writer: User, active_ms: int | None = None, now: datetime | None = None) -> None:
    """Say that a clip has nothing more: it is handed to nobody until a lead reopens it. Repeating it changes nothing.

    Args:
        active_ms: as in ``query_submit``.

    Raises:
        NotAssigned, LeaseLost: as in ``query_submit``.
    """
    row = _assignment_lock(assignment, writer)
    if row.state == State.EXHAUSTED:
        return
    now = now or clock.now()
    _running_or_refused(row, now)
    _empty_time_add(row, active_ms, now)
    row.state, row.ended_at = State.EXHAUSTED, now
    row.save(update_fields=["state", "ended_at", "empty_ms", "empty_at"])
    row.clip.state = WritingClip.State.EXHAUSTED
    row.clip.save(update_fields=["state"])


def _assignment_lock(uuid: UUID, writer: User) -> ClipAssignment:
    rows = ClipAssignment.objects.select_for_update(of=("self", "clip"), no_key=True)
    row = rows.select_related("clip__round", "clip__video").filter(uuid=uuid, writer=writer).first()
    if row is None:
        raise NotAssigned("This clip is not assigned to you.")
    return row


def _running_or_refused(row: ClipAssignment, now: datetime) -> None:
    if row.state in ClipAssignment.ENDED:
        raise LeaseLost(ENDED)
    if row.state == State.LAPSED or row.expires_at <= now:
        raise LeaseLost(RUN_OUT)


@transaction.atomic
def writer_stop(*, project: Project, writer: User, reason: str, actor: User | None) -> None:
    """Hand a writer no more clips; what they have in hand goes on. Whoever is stopped already stays so.

    Args:
        actor: None where the policy does it.

    Raises:
        NotPossible: no reason is given.
    """
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= LONGEST_REASON:
        raise NotPossible(f"Say why, in at most {LONGEST_REASON} characters: the writer reads it.")
    about = {"reason": reason, "created_by": actor}
    _, is_new = WriterStop.objects.get_or_create(project=project, writer=writer, ended_at=None, defaults=about)
    if is_new:
        audit_record(project=project, actor=actor, action="writer.stop", subject=writer.uuid, reason=reason)


@transaction.atomic
def writer_go_on(*, project: Project, writer: User, actor: User | None, now: datetime | None = None) -> None:
    """Hand a writer clips again; the policy counts the checks of their queries anew. Repeating it changes nothing."""
    stops = WriterStop.objects.filter(project=project, writer=writer, ended_at=None)
    if stops.update(ended_at=now or clock.now(), ended_by=actor):
        audit_record(project=project, actor=actor, action="writer.go_on", subject=writer.uuid)
