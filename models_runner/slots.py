"""Kinds of work on uploaded files: UPLOADS_AT_ONCE are worked on, so that the others leave workers and memory free."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import itemgetter
from typing import Any

from django.conf import settings

from core.jobs import JobKind, Row
from core.sql import is_locked, only_one

SLOT = "upload-place"
SLOT_KINDS: "list[SlotKind[Any]]" = []


class SlotKind(JobKind[Row]):
    """Durable work that needs one of the slots, which all kinds share; rows have ``created_at``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        SLOT_KINDS.append(self)

    @contextmanager
    def claim_in_slot(self, key: int) -> Iterator[Row | None]:
        """Hold the row and a slot while it is worked on, as ``claim`` does; None where no slot is free either.

        A message that finds no slot goes: whoever has ended sends for the upload that waits longest.
        """
        row = None
        try:
            with ExitStack() as locks:
                if any(locks.enter_context(only_one(SLOT, slot)) for slot in range(settings.UPLOADS_AT_ONCE)):
                    row = locks.enter_context(self.claim(key))
                yield row
        finally:
            if row is not None:
                send_longest_waiting()


def send_longest_waiting() -> None:
    """Wake the task of the upload that waits longest, of whatever kind, and that no worker holds."""
    waiting = [(at, kind, key) for kind in SLOT_KINDS for at, key in kind.rows().values_list("created_at", "pk")]
    for _, kind, key in sorted(waiting, key=itemgetter(0)):
        if not is_locked(kind.lock, key):
            kind.send(key)
            return
