"""Making queries from captions, and dividing them into splits."""

import random
from collections.abc import Iterator, Mapping

from django.db import transaction
from django.db.models import QuerySet

from annotation.exceptions import NotPossible
from annotation.models import Caption, Description, Project, Query, User
from annotation.selectors import captions_serving
from annotation.services.audit import audit_record
from annotation.services.query_sets import query_set_create

CHUNK = 2000


@transaction.atomic
def queries_draw(*, project: Project, sizes: Mapping[str, int], seed: int, actor: User | None = None) -> dict[str, int]:
    """Make the project's queries from its corpus' video-only captions.

    Validation and test queries are drawn at random and share no text; the rest train, without the texts drawn.

    Args:
        sizes: how many queries each judged split (val, test) gets.

    Returns:
        Queries per split, and ``removed``: captions left out because their text was drawn.

    Raises:
        NotPossible: the project has queries, or the corpus has fewer texts than asked for.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    if project.queries.exists():
        raise NotPossible(f"The project {project.name!r} has queries already.")
    captions = captions_serving(project.corpus_id).filter(description__kind=Description.Kind.VIDEO)
    captions = captions.select_related("description")
    split_of = _draw(list(captions.order_by("description__source_id").values_list("pk", "text")), sizes, seed)
    if len(split_of) < sum(sizes.values()):
        raise NotPossible(f"The corpus has {len(split_of)} different video-only captions, fewer than asked for.")
    drawn = set(captions.filter(pk__in=split_of).values_list("text", flat=True))
    rows = [_query(project, caption, split) for caption, split in _placed(captions, split_of, drawn)]
    Query.objects.bulk_create(rows, batch_size=CHUNK)
    counts = {split: sum(row.split == split for row in rows) for split in Query.Split.values}
    for split in sizes:
        drawn_here = project.queries.filter(split=split)
        if drawn_here.exists():
            query_set_create(project=project, name=split, queries=drawn_here, actor=actor)
    counts["removed"] = captions.count() - len(rows)
    audit_record(project=project, actor=actor, action="queries.draw", subject=project.uuid, seed=seed, **counts)
    return counts


def _draw(captions: list[tuple[int, str]], sizes: Mapping[str, int], seed: int) -> dict[int, str]:
    """Caption to split for the judged splits; no text is drawn twice."""
    random.Random(seed).shuffle(captions)
    places = [split for split, size in sizes.items() for _ in range(size)]
    first: dict[str, int] = {}
    for pk, text in captions:
        first.setdefault(text, pk)
    return dict(zip(first.values(), places, strict=False))


def _placed(captions: QuerySet[Caption], split_of: Mapping[int, str], drawn: set[str]) -> Iterator[tuple[Caption, str]]:
    for caption in captions.order_by("description__source_id"):
        if caption.pk in split_of:
            yield caption, split_of[caption.pk]
        elif caption.text not in drawn:
            yield caption, Query.Split.TRAIN


def _query(project: Project, caption: Caption, split: str) -> Query:
    number = caption.description.source_id
    return Query(project=project, number=number, text=caption.text, split=split, caption=caption)
