"""Checks of written queries: accepted ones join the corpus, rejected ones go back to their writer once, then on."""

import logging
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from accounts.models import Project, User
from annotation.corpora.services.descriptions import description_add, description_remove
from annotation.models import Description
from core import clock
from core.exceptions import NotPossible
from judging.checking import selectors
from judging.checking.rules import DAYS_TO_WRITE_ANEW, is_stopped
from judging.collection.rules import end_within
from judging.collection.services import queries_uncount, writer_stop
from judging.exceptions import NotAssigned, NotPossibleNow
from judging.guidelines.selectors import policy_in_force
from judging.models import ClipAssignment, QueryCheck, QueryType, WritingClip, WrittenQuery
from judging.work.rules import active_ms as possible_ms
from judging.work.rules import lease_until

logger = logging.getLogger(__name__)
Decision = QueryCheck.Decision
Reason = QueryCheck.Reason
KINDS = {
    QueryType.VIDEO: Description.Kind.VIDEO,
    QueryType.SUBTITLE: Description.Kind.SUBTITLE,
    QueryType.BOTH: Description.Kind.BOTH,
}
STOPPED = "Checkers accepted {accepted} of {checks} queries: fewer than {least} %."
BUILT_ON = "The decision cannot be taken back any more: {}"


class Verdict(NamedTuple):
    """Holds what a checker says about a query; bounds in seconds."""

    decision: str
    start_s: float
    end_s: float
    reason: str = ""
    note: str = ""


@transaction.atomic
def query_take(*, project: Project, checker: User, now: datetime | None = None) -> WrittenQuery | None:
    """Return the query that a checker looks at, or the oldest that nobody else does; None where none waits.

    It stays theirs for as long as the policy lets a batch, and is nobody's own query.
    """
    now = now or clock.now()
    row = selectors.query_at_hand(project, checker, now=now)
    if row is None and (row := selectors.query_to_check(project, checker, now=now)):
        row.checker, row.checker_since = checker, now
    if row is not None:
        row.checker_until = lease_until(now, minutes=policy_in_force(project.pk).lease_minutes)
        row.save(update_fields=["checker", "checker_since", "checker_until"])
    return row


@transaction.atomic
def query_check(
    *, query: UUID, checker: User, verdict: Verdict, active_ms: int | None = None, now: datetime | None = None
) -> QueryCheck:
    """Record what a checker says about a query; the same again is answered as the first time.

    Accepted, the query becomes a description of its moment. Rejected, its place in the clip is kept for its writer for
    a week, once for each clip; after that it is free.

    Args:
        active_ms: how long the query was before the checker, as their page measured.

    Raises:
        NotAssigned: there is no such query.
        NotPossibleNow: somebody else has checked it.
        NotPossible: it is the checker's own, or the verdict lacks a reason or lies outside the video.
    """
    now = now or clock.now()
    row = _query_lock(query)
    if before := row.checks.filter(undone_at=None).first():
        if before.checker_id == checker.pk and before.decision == verdict.decision:
            return before
        raise NotPossibleNow("This query has been checked already. Here is the next one.")
    if row.writer_id == checker.pk:
        raise NotPossible("This query is your own: somebody else checks it.")
    bounds = {"start_s": row.start_s, "end_s": row.end_s, "duration_s": row.clip.video.duration_s}
    verdict = verdict_complete(verdict, **bounds)
    check = QueryCheck(
        query=row, checker=checker, active_ms=_time_of(row, checker, active_ms, now), **verdict._asdict()
    )
    row.checker = row.checker_until = row.checker_since = None
    if verdict.decision == Decision.REJECT:
        _reject(row, now)
    else:
        video = row.clip.video
        new = description_add(
            video=video, start_s=check.start_s, end_s=check.end_s, text=row.text, kind=KINDS[QueryType(row.type)]
        )
        row.description, row.state = new.description, WrittenQuery.State.ACCEPTED
        check.moment_is_new = new.moment_is_new
    check.save()
    row.save(update_fields=["state", "description", "checker", "checker_until", "checker_since"])
    logger.info("query %s: %s", row.pk, verdict.decision)
    if verdict.decision == Decision.REJECT:
        _stop_by_policy(row)
    return check


def _time_of(row: WrittenQuery, checker: User, measured: int | None, now: datetime) -> int | None:
    """Return the time since the checker got the query, or less where their page measured less; None for a query that
    they did not take, as a program."""
    if row.checker_id != checker.pk or row.checker_since is None:
        return None
    return possible_ms(measured, since=row.checker_since, now=now)


def _query_lock(uuid: UUID) -> WrittenQuery:
    """Return a query, locked after its assignment and its clip, as a submission locks them."""
    rows = ClipAssignment.objects.select_for_update(of=("self", "clip"), no_key=True).select_related("clip")
    assignment = rows.filter(queries__uuid=uuid).first()
    if assignment is None:
        raise NotAssigned("There is no such query.")
    row = (
        WrittenQuery.objects.select_for_update(of=("self",), no_key=True)
        .select_related("clip__round__project")
        .get(uuid=uuid)
    )
    row.assignment, assignment.clip.round = assignment, row.clip.round
    row.clip = assignment.clip
    return row


def verdict_complete(verdict: Verdict, *, start_s: float, end_s: float, duration_s: float) -> Verdict:
    """Return a verdict about a moment with the bounds that count, or refuse it; all in seconds.

    Args:
        start_s, end_s: of the moment as it is.
        duration_s: of its video.

    Raises:
        NotPossible: other bounds are none or have no note, or a rejection has no reason.
    """
    if verdict.decision != Decision.CORRECT:
        verdict = verdict._replace(start_s=start_s, end_s=end_s)
    else:
        new_end_s = end_within(verdict.end_s, duration_s=duration_s)
        assert new_end_s is not None
        verdict = verdict._replace(end_s=new_end_s)
        if not 0 <= verdict.start_s < verdict.end_s <= duration_s:
            raise NotPossible(f"The moment must start before it ends, within the video of {duration_s:.2f} s.")
        if (verdict.start_s, verdict.end_s) == (start_s, end_s):
            raise NotPossible("The bounds are as the writer has them. Move them, or accept the query.")
        if not verdict.note:
            raise NotPossible("Say why you move the bounds.")
    if verdict.decision != Decision.REJECT:
        return verdict._replace(reason="")
    if verdict.reason not in Reason.values:
        raise NotPossible("Say why the query is rejected.")
    if verdict.reason == Reason.OTHER and not verdict.note:
        raise NotPossible("Say in your words why the query is rejected.")
    return verdict


def _reject(row: WrittenQuery, now: datetime) -> None:
    """Keep the place of a rejected query for its writer, or free it."""
    assignment, State = row.assignment, ClipAssignment.State
    was_anew = row.assignment.queries.filter(state=WrittenQuery.State.SENT_BACK).exists()
    if assignment.state == State.SENT_BACK or (assignment.state in (State.FINISHED, State.EXHAUSTED) and not was_anew):
        row.state = WrittenQuery.State.SENT_BACK
        if assignment.state != State.SENT_BACK:
            assignment.state, assignment.ended_at, assignment.expires_at = (
                State.SENT_BACK,
                now,
                now + timedelta(DAYS_TO_WRITE_ANEW),
            )
            assignment.draft_text, assignment.draft_type = row.text, row.type
            assignment.draft_start_s, assignment.draft_end_s = row.start_s, row.end_s
            assignment.draft_version += 1
        assignment.n_sent_back += 1
        assignment.save()
        return
    row.state = WrittenQuery.State.REJECTED
    assignment.n_queries -= 1
    assignment.save(update_fields=["n_queries"])
    queries_uncount(row.clip, 1)


def _stop_by_policy(row: WrittenQuery) -> None:
    """Stop the writer where checkers accept too few of their queries."""
    project, writer = row.clip.round.project, row.writer
    policy = policy_in_force(project.pk)
    decisions = selectors.decisions_about(project, writer)
    if is_stopped(decisions, least_percent=policy.writing_accepted, least_checks=policy.writing_checks):
        about = {"accepted": sum(decisions), "checks": len(decisions), "least": policy.writing_accepted}
        writer_stop(project=project, writer=writer, reason=STOPPED.format(**about), actor=None)


@transaction.atomic
def check_undo(*, check: UUID, checker: User, now: datetime | None = None) -> None:
    """Take a decision back: the query waits again. Repeating it changes nothing.

    Raises:
        NotAssigned: the checker has made no such decision.
        NotPossibleNow: something was built on it.
    """
    about = QueryCheck.objects.filter(uuid=check, checker=checker).values_list("query__uuid", flat=True).first()
    if about is None:
        raise NotAssigned("You have made no such decision.")
    row = _query_lock(about)
    decision = QueryCheck.objects.select_for_update().get(uuid=check)
    if decision.undone_at is not None:
        return
    description, row.description = row.description, None
    if decision.decision == Decision.REJECT:
        _reject_undo(row)
    row.state = WrittenQuery.State.WAITING
    row.save(update_fields=["state", "description"])
    if description is not None:
        try:
            description_remove(description=description, with_moment=decision.moment_is_new)
        except NotPossible as error:
            raise NotPossibleNow(BUILT_ON.format(error)) from error
    decision.undone_at = now or clock.now()
    decision.save(update_fields=["undone_at"])


def _reject_undo(row: WrittenQuery) -> None:
    """Give a query that was rejected its place in the clip again."""
    assignment, clip, State = row.assignment, row.clip, ClipAssignment.State
    if row.state == WrittenQuery.State.SENT_BACK:
        if assignment.state != State.SENT_BACK:
            raise NotPossibleNow(BUILT_ON.format("its writer has the clip again, or somebody else may."))
        assignment.n_sent_back -= 1
        if not assignment.n_sent_back:
            assignment.state = State.FINISHED
            assignment.draft_text, assignment.draft_type, assignment.draft_start_s, assignment.draft_end_s = (
                "",
                "",
                None,
                None,
            )
            assignment.draft_version += 1
        assignment.save()
        return
    if clip.n_queries >= clip.round.queries_per_clip or assignment.n_queries >= clip.round.queries_per_visit:
        raise NotPossibleNow(BUILT_ON.format("another query has taken its place."))
    if clip.assignments.filter(state=State.OPEN).exists():
        raise NotPossibleNow(BUILT_ON.format("somebody writes for the clip just now."))
    assignment.n_queries += 1
    assignment.save(update_fields=["n_queries"])
    clip.n_queries += 1
    if clip.n_queries >= clip.round.queries_per_clip and clip.state == WritingClip.State.OPEN:
        clip.state = WritingClip.State.DONE
    clip.save(update_fields=["n_queries", "state"])
