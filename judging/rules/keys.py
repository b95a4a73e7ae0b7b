"""The key of a form that says something about a pair. Pure."""

from uuid import UUID, uuid5


def form_key(*, assignment: UUID, pair: UUID, given: int) -> UUID:
    """The name of the next grade or flag for ``pair`` in ``assignment``, after ``given`` of them.

    Two tabs that show the same pair in the same state hold the same key, so that of two submits one is the first
    and the other is known as its repetition, or as stale when it says something else.
    """
    return uuid5(assignment, f"{pair}/{given}")


def sitting_key(*, sitting: UUID, pair: UUID, last: UUID | None) -> UUID:
    """``form_key`` for a pair of known truth in a sitting, after the form named ``last``: None before the first."""
    return uuid5(sitting, f"{pair}/{last or 'first'}")
