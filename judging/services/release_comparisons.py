"""What differs between two releases: found once by a task, kept in rows, read by pages."""

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction

from annotation import clock
from annotation.exceptions import ImportRefused
from annotation.locks import only_one
from annotation.messages import send_on_commit
from judging.exceptions import NotPossibleNow
from judging.models import Release, ReleaseChange, ReleaseComparison
from judging.releases.archives import DAMAGED, archive_opened
from judging.releases.compare import Compared

logger = logging.getLogger(__name__)
TASK = "judging.tasks.release_compare"
LATE = timedelta(minutes=2)  # one that has not moved for so long has lost its message, or its worker
CHUNK = 5000
UNREADABLE = "The archive of one of them is not in the storage, or cannot be read."
State = ReleaseComparison.State


@transaction.atomic
def release_comparison_of(*, before: Release, after: Release, now: datetime) -> ReleaseComparison:
    """The comparison of two releases, which a task makes when it is asked for first, or a while after it failed."""
    row, is_new = ReleaseComparison.objects.get_or_create(before=before, after=after)
    failed = ReleaseComparison.objects.filter(pk=row.pk, state=State.FAILED, moved_at__lte=now - LATE)
    if is_new or failed.update(state=State.WORKING, error="", moved_at=now):
        send_on_commit(TASK, row.pk)
        row.refresh_from_db()
    return row


def release_compare(*, comparison_id: int) -> None:
    """Read both archives and keep what differs; a repeat finds it done."""
    with only_one("release comparison", comparison_id) as alone:
        row = ReleaseComparison.objects.select_related("before", "after").filter(pk=comparison_id).first()
        if not alone or row is None or row.state != State.WORKING:
            return
        try:
            with transaction.atomic():
                row.counts = _changes_store(row)
                row.state = State.READY
                _save(row)
        except (NotPossibleNow, ImportRefused, OSError, ValueError, *DAMAGED) as error:
            logger.warning("comparison %s: %s", row.pk, error)
            row.counts, row.state, row.error = {}, State.FAILED, UNREADABLE
            _save(row)


def release_comparisons_sweep(*, now: datetime) -> None:
    """Send again what does not move."""
    late = ReleaseComparison.objects.filter(state=State.WORKING, moved_at__lte=now - LATE)
    for pk in late.values_list("pk", flat=True):
        send_on_commit(TASK, pk)


def _save(row: ReleaseComparison) -> None:
    row.moved_at = clock.now()
    row.save(update_fields=["counts", "state", "error", "moved_at"])


def _changes_store(row: ReleaseComparison) -> dict[str, int]:
    with archive_opened(row.before) as before, archive_opened(row.after) as after, Compared(before, after) as held:
        rows = _rows(row, held)
        while some := list(islice(rows, CHUNK)):
            ReleaseChange.objects.bulk_create(some)
        return held.counted.facts()


def _rows(row: ReleaseComparison, held: Compared) -> Iterator[ReleaseChange]:
    of_kind: Counter[str] = Counter()
    for number, change in enumerate(held.changes(), start=1):
        of_kind[change.kind] += 1
        yield ReleaseChange(comparison=row, number=number, number_of_kind=of_kind[change.kind], **change._asdict())
