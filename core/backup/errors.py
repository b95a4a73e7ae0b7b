"""Why a backup or a restore ended, with the exit code of its command."""

from core.exceptions import MomentJudgeError


class BackupError(MomentJudgeError):
    """It cannot go on; what was done stays, and a repeat goes on from there."""

    exit_code = 1


class Occupied(BackupError):
    """The database to restore into holds something, or somebody uses it; nothing was changed."""

    exit_code = 3


class Unlike(BackupError):
    """What was restored is not what was backed up."""

    exit_code = 4
