"""Backup and restore: the database in one snapshot, the files that its rows name, and proof that both came back."""

from core.backup.database import BackupError
from core.backup.making import backup_make
from core.backup.restoring import backup_restore

__all__ = ["BackupError", "backup_make", "backup_restore"]
