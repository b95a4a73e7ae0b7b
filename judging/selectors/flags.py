"""Flags: which of them wait for a lead's word."""

from django.db.models import QuerySet

from annotation.models import Project
from judging.models import Flag, Pair

UNDECIDED = [Pair.State.OPEN, Pair.State.ESCALATED]


def flags_waiting(project: Project) -> QuerySet[Flag]:
    """Flags that stand, without an answer, on pairs that are still judged."""
    standing = Flag.objects.filter(assignment__project=project, withdrawn_at__isnull=True)
    return standing.filter(answer__isnull=True, pair__state__in=UNDECIDED)
