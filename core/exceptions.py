"""Named errors; the edge turns them into a status and a message."""

import errno

from django.db import OperationalError


class MomentJudgeError(Exception):
    """Something a person can read and act on."""

    status, code = 400, "error"


class NotPossible(MomentJudgeError):
    """The state of things does not allow it (any more)."""

    status, code = 409, "not_possible"


class ImportRefused(MomentJudgeError):
    """A file holds lines that cannot be imported; nothing was written."""

    status, code = 422, "import_refused"


class TooLarge(MomentJudgeError):
    """More was sent than is taken."""

    status, code = 413, "too_large"


class TooOften(MomentJudgeError):
    """Tried more often within a while than is allowed."""

    status, code = 429, "too_often"


class Busy(MomentJudgeError):
    """The site has more to do than it can for the moment."""

    status, code = 503, "busy"


class StorageUnavailable(MomentJudgeError, OperationalError):
    """The storage of files does not answer; tasks try again, as they do while the database does not answer.

    ``reason`` is what it said, for the log: it may name hosts.
    """

    status, code = 503, "storage_away"

    message = "The storage of files does not answer just now. Try again in a minute; nothing was lost."

    def __init__(self, *, reason: str = "") -> None:
        super().__init__(self.message)
        self.reason = reason


class StorageFull(StorageUnavailable):
    """There is no room for a file; what waits for it goes on when there is."""

    status, code = 507, "storage_full"
    message = (
        "The disk of this site is full. Nothing of this was half stored; tell whoever runs the site, and try the same"
        " again when there is room."
    )


def disk_is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
