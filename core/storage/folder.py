"""Stored files in a folder, of this machine or shared, and static files by the hash of their content, compressed."""

from contextlib import suppress
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

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


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Gzip alone: Brotli takes a minute for the API's pages, and is installed only with a package for tests."""

    def create_compressor(self, **kwargs: Any) -> Compressor:
        return Compressor(**kwargs, use_brotli=False)
