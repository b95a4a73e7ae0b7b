"""Named subsets of a project's queries."""

from django.db import transaction
from django.db.models import QuerySet

from annotation.exceptions import NotPossible
from annotation.models import NamedQuerySet, Project, Query, User
from annotation.services.audit import audit_record
from annotation.services.names import checked_name

LONGEST_NAME = 100
CHUNK = 5000  # queries of one statement


@transaction.atomic
def query_set_create(*, project: Project, name: str, queries: QuerySet[Query], actor: User | None) -> NamedQuerySet:
    """A set of these queries; each leaves the set it was in. A set of this name that is there takes them in.

    Raises:
        NotPossible: the name is empty or too long, or there is no query.
    """
    name = checked_name(name)
    if len(name) > LONGEST_NAME:
        raise NotPossible(f"The name of a query set has at most {LONGEST_NAME} characters.")
    made, created = NamedQuerySet.objects.get_or_create(project=project, name=name)
    chosen = queries.filter(project=project).order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True)
    members = list(chosen)  # locked in order: two leads may choose
    for start in range(0, len(members), CHUNK):
        Query.objects.filter(pk__in=members[start : start + CHUNK]).update(query_set=made)
    if not members:
        raise NotPossible("No query fits: the set would be empty.")
    audit_record(
        project=project,
        actor=actor,
        action="query_set.create" if created else "query_set.add",
        subject=made.uuid,
        name=name,
        queries=len(members),
    )
    return made


@transaction.atomic
def query_set_change(
    *,
    query_set: NamedQuerySet,
    actor: User | None,
    priority: int | None = None,
    is_paused: bool | None = None,
    is_pilot: bool | None = None,
) -> NamedQuerySet:
    """Put the set first or last, pause it or let it go on, make it a pilot or none; what is None stays."""
    held = NamedQuerySet.objects.select_for_update(of=("self",)).select_related("project").get(pk=query_set.pk)
    if priority is not None:
        held.priority = NamedQuerySet.Priority(priority)
    if is_paused is not None:
        held.is_paused = is_paused
    if is_pilot is not None:
        held.is_pilot = is_pilot
    held.save(update_fields=["priority", "is_paused", "is_pilot"])
    audit_record(
        project=held.project,
        actor=actor,
        action="query_set.change",
        subject=held.uuid,
        name=held.name,
        priority=held.get_priority_display(),
        paused=held.is_paused,
        pilot=held.is_pilot,
    )
    return held
