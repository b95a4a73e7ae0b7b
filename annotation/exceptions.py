"""Named errors; the edge turns them into a status and a message."""


class MomentJudgeError(Exception):
    """Something a person can read and act on."""

    status = 400
    code = "error"


class NotPossible(MomentJudgeError):
    """The state of things does not allow it (any more)."""

    status = 409
    code = "not_possible"


class ImportRefused(MomentJudgeError):
    """A file holds lines that cannot be imported; nothing was written."""

    status = 422
    code = "import_refused"


class TooLarge(MomentJudgeError):
    """More was sent than is taken."""

    status = 413
    code = "too_large"


class TooOften(MomentJudgeError):
    """Tried more often within a while than is allowed."""

    status = 429
    code = "too_often"
