"""Stored files in a folder of this machine, or of a disk that several share."""

from contextlib import suppress
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from core.exceptions import StorageFull, disk_is_full


class FolderMedia(FileSystemStorage):
    """Django's; on a full disk it leaves no half file behind and says so by name."""

    def _save(self, name: str, content: "File[Any]") -> str:
        was_there = self.exists(name)
        try:
            return str(super()._save(name, content))  # type: ignore[misc]
        except OSError as error:
            if not disk_is_full(error):
                raise
            if not was_there:
                with suppress(OSError):
                    self.delete(name)
            raise StorageFull from error
