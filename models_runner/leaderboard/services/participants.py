"""How participants take part: what they never see, how often they upload, and which uploads a lead should look at."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from django.db import transaction

from accounts.models import Membership, Project, User
from core.audit import audit_record
from models_runner.leaderboard.services.scorings import run_table
from models_runner.models import Leaderboard, Run
from moment_retrieval import serialization
from moment_retrieval.metrics.report import KS
from moment_retrieval.tables import RunTable

DEPTH = max(KS)  # what is ranked lower changes no score that participants see
FEW_PREDICTIONS = 10  # the smallest cutoff that is shown
NEAR_EMPTY_SHARE = 0.5  # of the queries with fewer predictions than that
CONSTANT_SHARE = 0.1  # of the queries with one and the same list; texts that appear twice give a few
EARLIER_RUNS = 50  # of the same person, the newest first


def leaderboard_of(project: Project) -> Leaderboard:
    """The project's settings; those of a project that has none yet are the defaults, unsaved."""
    return Leaderboard.objects.filter(project=project).first() or Leaderboard(project=project)


@transaction.atomic
def leaderboard_change(*, project: Project, actor: User | None, **values: bool | int | str) -> Leaderboard:
    """Set what participants may see and do, from now on: fields of Leaderboard; what is left out stays as it is."""
    Project.objects.select_for_update().get(pk=project.pk)
    row = leaderboard_of(project)
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    if changed or row.pk is None:
        row, _ = Leaderboard.objects.update_or_create(project=project, defaults=values)
        audit_record(project=project, actor=actor, action="leaderboard.change", subject=project.uuid, **changed)
    return row


def concerns_about(run: Run, table: RunTable) -> list[str]:
    """Say why a lead should look at this upload of a participant, a sentence each."""
    if not Membership.objects.filter(project=run.project_id, user=run.owner_id, roles=["participant"]).exists():
        return []
    table = serialization.cut(table, depth=DEPTH)
    return [*_near_empty(table), *_constant(table), *_alike(run, table)]


def _near_empty(table: RunTable) -> Iterator[str]:
    few = int((np.diff(table.offsets) < FEW_PREDICTIONS).sum())
    if few > NEAR_EMPTY_SHARE * len(table):
        yield f"Near-empty: {few:,} of {len(table):,} queries have fewer than {FEW_PREDICTIONS} predictions."


def _constant(table: RunTable) -> Iterator[str]:
    counts = Counter(digest for digest in query_hashes(table, with_order=False).values() if digest)
    most = max(counts.values(), default=0)
    if most > 1 and most >= CONSTANT_SHARE * len(table):
        yield f"Constant: {most:,} of {len(table):,} queries have the very same predictions."


def _alike(run: Run, table: RunTable) -> Iterator[str]:
    """The earlier run of the same person that it differs from in the fewest queries, where those are too few."""
    percent = leaderboard_of(run.project).alike_percent
    earlier = Run.objects.filter(project=run.project_id, split=run.split, owner=run.owner_id, pk__lt=run.pk)
    by_query = query_hashes(table)
    fewest: tuple[int, int, str] | None = None
    for other in earlier.exclude(table="").order_by("-pk")[:EARLIER_RUNS]:
        others = query_hashes(serialization.cut(run_table(other), depth=DEPTH))
        queries = by_query.keys() | others.keys()
        differing = sum(by_query.get(query_id) != others.get(query_id) for query_id in queries)
        if differing * 100 < percent * len(queries) and (fewest is None or differing < fewest[0]):
            fewest = differing, len(queries), other.name
    if fewest is not None:
        differing, queries_in_all, name = fewest
        yield f"Differs from “{name}” of the same person in only {differing:,} of {queries_in_all:,} queries."


def query_hashes(table: RunTable, *, with_order: bool = True) -> dict[str, bytes]:
    """Return a hash by query, equal for the same predictions, in the same order if that counts; empty without any."""
    digests = b"".join(blake2b(name.encode(), digest_size=8).digest() for name in table.spans.names)
    videos = np.frombuffer(digests, np.uint64)[table.spans.video]
    times = [(column + 0.0).view(np.uint64) for column in (table.spans.start_s, table.spans.end_s)]  # -0 becomes 0
    rows = np.stack([videos, *times], axis=1)
    if not with_order:
        rows = rows[np.lexsort((*rows.T, table.query))]
    bounds = pairwise(table.offsets.tolist())
    return {
        query_id: blake2b(rows[first:end].tobytes()).digest() if end > first else b""
        for query_id, (first, end) in zip(table.query_ids, bounds, strict=True)
    }
