"""What a query set says of its batches: each carries a copy, read where it is handed out, released and paid."""

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import NamedQuerySet, Project, Query, User
from annotation.services import query_sets
from judging.exceptions import NotPossibleNow
from judging.models import Batch


@transaction.atomic
def query_set_create(*, project: Project, name: str, queries: QuerySet[Query], actor: User | None) -> NamedQuerySet:
    """A new set; its queries leave the sets they were in, and their batches what those said.

    Raises:
        NotPossible: the name or the queries do not do.
    """
    made = query_sets.query_set_create(project=project, name=name, queries=queries, actor=actor)
    _batches_follow(made)
    return made


@transaction.atomic
def query_set_change(
    *,
    query_set: NamedQuerySet,
    actor: User | None,
    priority: int | None = None,
    is_paused: bool | None = None,
    is_pilot: bool | None = None,
) -> None:
    """Put the set first or last, pause it or let it go on, make it a pilot: neither released nor paid unless chosen.

    What is in somebody's hands stays there.
    """
    begun = Batch.objects.filter(query__query_set=query_set, begun=True)
    if is_pilot not in (None, query_set.is_pilot) and begun.exists():
        raise NotPossibleNow("Somebody has judged in this set already: what is a try-out is marked before it begins.")
    changed = query_sets.query_set_change(
        query_set=query_set, actor=actor, priority=priority, is_paused=is_paused, is_pilot=is_pilot
    )
    _batches_follow(changed)


def _batches_follow(query_set: NamedQuerySet) -> None:
    """What somebody has sat at stays a try-out, or none: its hours are told and its pairs judged under that mark."""
    batches = Batch.objects.filter(query__query_set=query_set)
    batches.update(priority=query_set.priority, is_paused=query_set.is_paused)
    batches.filter(begun=False, round=1, state=Batch.State.OPEN).update(is_pilot=query_set.is_pilot)
