"""Pairs that need a lead's eye or have left the judging: flagged, dropped, withdrawn."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Case, Exists, Max, OuterRef, Q, QuerySet, When

from accounts.models import Project
from annotation.models import Moment
from judging.models import (
    Assignment,
    Flag,
    GuidelineDraftExample,
    GuidelineExample,
    Judgment,
    KnownPair,
    Pair,
    Recut,
    ScreeningQuestion,
)
from judging.people.selectors import actor_names
from judging.review.selectors import annotator_numbers, final_grades, last_withdrawals

UNDECIDED = [Pair.State.OPEN, Pair.State.ESCALATED]
FLAGGED, DROPPED, WITHDRAWN = "flagged", "dropped", "withdrawn"


def flags_waiting(project: Project) -> QuerySet[Flag]:
    """Flags that stand, without an answer, on pairs that are still judged."""
    flags = Flag.objects.filter(assignment__project=project, withdrawn_at__isnull=True)
    return flags.filter(answer__isnull=True, pair__state__in=UNDECIDED)


def pairs_listed(
    project: Project, which: str, *, words: str, split: str, reason: str, status: str, annotator: int | None
) -> QuerySet[Pair]:
    """Flagged pairs, those that wait first and the newest flag first; others by their batch, the newest first.

    Args:
        reason: of the flag, or why the pair is out.
        status: of flags: waiting, answered, or empty for all.
        annotator: number of who graded or flagged it.
    """
    pairs = Pair.objects.filter(batch__project=project).select_related(
        "batch__query", "batch__project", "candidate__moment__video"
    )
    if words:
        pairs = pairs.filter(batch__query__text__icontains=words)
    if split:
        pairs = pairs.filter(batch__query__split=split)
    user = None
    if annotator is not None:  # 0, whom nobody is, where nobody has the number
        user = project.memberships.filter(number=annotator).values_list("user", flat=True).first() or 0
    if which != FLAGGED:
        if user is not None:
            pairs = pairs.filter(Exists(Judgment.objects.filter(pair=OuterRef("pk"), annotator=user)))
        if reason:
            pairs = pairs.filter(reason=reason)
        return pairs.filter(state=which).order_by("-batch", "candidate__rank")
    flags = Q(flags__isnull=False, flags__withdrawn_at__isnull=True)
    if reason:
        flags &= Q(flags__reason=reason)
    if user is not None:
        flags &= Q(flags__annotator=user)
    if status == "waiting":
        flags &= Q(flags__answer__isnull=True, state__in=UNDECIDED)
    elif status == "answered":
        flags &= Q(flags__answer__isnull=False)
    undecided = Case(When(state__in=UNDECIDED, then=0), default=1)
    return pairs.filter(flags).annotate(newest=Max("flags__id")).order_by(undecided, "-newest")


def listed(project: Project, pairs: Sequence[Pair], *, to_lead: bool) -> list[dict[str, Any]]:
    """List the history of these pairs, as a lead may know it or somebody else; in as many statements for many as for
    one. Of each pair: grades (annotator number, grade, round), flags (annotator number, flag), whether it ``waits`` for
    an answer, the last ``withdrawal`` by a lead and ``who`` that was, and the newest ``recut`` of its clip."""
    numbers = annotator_numbers(project)
    ids = [pair.pk for pair in pairs]
    grades = final_grades(Judgment.objects.filter(pair__in=ids), numbers)
    flags: dict[int, list[tuple[int | None, Flag]]] = defaultdict(list)
    raised_flags = Flag.objects.filter(pair__in=ids, withdrawn_at__isnull=True).select_related("answer")
    for flag in raised_flags.order_by("pk"):
        flags[flag.pair_id].append((numbers.get(flag.annotator_id), flag))
    withdrawals = last_withdrawals(pairs)
    names = actor_names(project, to_lead=to_lead) if withdrawals else {}
    moments = [pair.candidate.moment_id for pair in pairs]
    recuts = {recut.moment_id: recut for recut in Recut.objects.filter(moment__in=moments).order_by("pk")}
    rows = []
    for pair in pairs:
        withdrawal = withdrawals.get(pair.uuid)
        who = names.get(withdrawal.actor_id or 0, "somebody who has left") if withdrawal else ""
        waits = pair.state in UNDECIDED and any(not hasattr(flag, "answer") for _, flag in flags[pair.pk])
        row = {"pair": pair, "grades": grades[pair.pk], "flags": flags[pair.pk], "waits": waits, "who": who}
        rows.append({**row, "withdrawal": withdrawal, "recut": recuts.get(pair.candidate.moment_id)})
    return rows


def why_bounds_stay(moment: Moment) -> str | None:
    """Why the bounds of a moment cannot be changed any more, in words; None while they can."""
    if Judgment.objects.filter(pair__candidate__moment=moment).exists():
        return "Somebody has judged this moment, so its bounds stay. Withdraw the pair instead."
    if KnownPair.objects.filter(moment=moment).exists():
        return "This moment is asked in an exam or a tutorial, so its bounds stay. Withdraw the pair instead."
    example_models = (GuidelineExample, GuidelineDraftExample, ScreeningQuestion)
    if any(model.objects.filter(moment=moment).exists() for model in example_models):
        return "This moment is an example in a guideline or a test, so its bounds stay. Withdraw the pair instead."
    pairs = list(Pair.objects.filter(candidate__moment=moment).values_list("pk", flat=True))
    open_assignments = Assignment.objects.filter(
        state=Assignment.State.OPEN, batch__pairs__in=pairs, pair_ids__overlap=pairs
    )
    if open_assignments.exists():
        return "This moment is assigned to somebody just now. Try again when they are done."
    return None
