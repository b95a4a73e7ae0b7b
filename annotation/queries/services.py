"""Making queries from captions, dividing them into splits while nothing depends on them, and naming subsets of them."""

from collections.abc import Mapping
from itertools import islice

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils.text import get_text_list

from accounts.models import Project, User
from annotation.models import NamedQuerySet, Query
from annotation.queries.rules import JUDGED, Size
from annotation.queries.selectors import draft_of, uses_of_queries
from core.audit import audit_record
from core.exceptions import NotPossible
from core.texts import checked_name

CHUNK = 2000
LONGEST_NAME = 100
SET_CHUNK = 5000  # queries of one statement


@transaction.atomic
def queries_draw(
    *,
    project: Project,
    sizes: Mapping[str, Size],
    seed: int,
    actor: User | None = None,
    again: bool = False,
    expected_counts: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Make the project's queries from its corpus' video-only captions.

    Validation and test queries are drawn at random and share no text; the rest train, without the texts drawn.

    Args:
        sizes: how many queries each judged split (val, test) gets, or which share of the texts.
        again: discard the queries there are, and the query sets they leave empty.
        expected_counts: what somebody was shown before they said yes.

    Returns:
        Queries per split; ``removed``: captions left out because their text was drawn; ``waiting``: captions left out
        because no person has decided about them yet.

    Raises:
        NotPossible: the project has queries (or, ``again``, something depends on them), the sizes do not fit the
            corpus, its descriptions are being rewritten, or the outcome is not the one expected.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    drawn_before = project.queries.exists()
    if refusal := draw_refusal(project=project, again=again):
        raise NotPossible(refusal)
    if drawn_before:
        _discard(project)
    draft = draft_of(project.dataset.corpus_id, sizes, seed)
    if expected_counts is not None and draft.counts != dict(expected_counts):
        raise NotPossible("The captions have changed since you looked. Look at the numbers again.")
    rows = (
        Query(project=project, number=number, text=text, split=split, caption_id=caption)
        for number, caption, text, split in draft.rows
    )
    while chunk := list(islice(rows, CHUNK)):
        Query.objects.bulk_create(chunk)
    for split in JUDGED:
        if draft.counts[split]:
            query_set_create(project=project, name=split, queries=project.queries.filter(split=split), actor=actor)
    if drawn_before:
        project.query_sets.filter(queries=None).delete()
    facts = {"seed": seed, **{f"asked_{split}": str(size) for split, size in sizes.items()}, **draft.counts}
    action = "queries.redraw" if drawn_before else "queries.draw"
    audit_record(project=project, actor=actor, action=action, subject=project.uuid, **facts)
    return draft.counts


def draw_refusal(*, project: Project, again: bool) -> str:
    """Why queries cannot be drawn now, whatever the sizes; empty where they can."""
    if project.queries.exists():
        if not again:
            return f"The project {project.name!r} has queries already."
        if uses := uses_of_queries(project):
            return f"The queries stay: there are {get_text_list(uses, 'and')} of them already."
    if project.dataset.corpus.rewritings.filter(finished_at=None).exists():
        return "The descriptions are being rewritten; draw queries when that is done."
    return ""


def _discard(project: Project) -> None:
    try:
        with connection.cursor() as cursor:  # one statement: the ORM would look for uses query by query once more
            cursor.execute("DELETE FROM annotation_query WHERE project_id = %s", [project.pk])
        connection.check_constraints()  # whoever began to use one meanwhile keeps it
    except IntegrityError as error:
        raise NotPossible("The queries stay: somebody has just begun to use them.") from error


@transaction.atomic
def query_set_create(*, project: Project, name: str, queries: QuerySet[Query], actor: User | None) -> NamedQuerySet:
    """A set of these queries; each leaves the set it was in. A set of this name that is there takes them in. Raises
    NotPossible where the name is empty or too long, or there is no query."""
    name = checked_name(name)
    if len(name) > LONGEST_NAME:
        raise NotPossible(f"The name of a query set has at most {LONGEST_NAME} characters.")
    query_set, created = NamedQuerySet.objects.get_or_create(project=project, name=name)
    rows = queries.filter(project=project).order_by("pk").select_for_update(of=("self",))
    members = list(rows.values_list("pk", flat=True))  # locked in order: two leads may choose
    for start in range(0, len(members), SET_CHUNK):
        Query.objects.filter(pk__in=members[start : start + SET_CHUNK]).update(query_set=query_set)
    if not members:
        raise NotPossible("No query fits: the set would be empty.")
    action, facts = "query_set.create" if created else "query_set.add", {"name": name, "queries": len(members)}
    audit_record(project=project, actor=actor, action=action, subject=query_set.uuid, **facts)
    return query_set


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
    changes = {"priority": priority, "is_paused": is_paused, "is_pilot": is_pilot}
    row = NamedQuerySet.objects.select_for_update(of=("self",)).select_related("project").get(pk=query_set.pk)
    for name, value in changes.items():
        if value is not None:
            setattr(row, name, value)
    row.save(update_fields=list(changes))
    label = NamedQuerySet.Priority(row.priority).label
    facts = {"name": row.name, "priority": label, "paused": row.is_paused, "pilot": row.is_pilot}
    audit_record(project=row.project, actor=actor, action="query_set.change", subject=row.uuid, **facts)
    return row
