"""Files on their way in or out: on the disk of the data folder, as a /tmp may lie in memory."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest

LEFT_AFTER_S = 24 * 3600  # nobody sends one file for so long


class ReceivedOnDisk(TemporaryFileUploadHandler):
    """Django's; it makes the folder, and first removes what a process that was killed left there.

    Django forgets a file that did not arrive whole (the disk is full, the client is gone, another part of the form is
    refused) until Python collects it, so the handler remembers all of its files.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.files: list[TemporaryUploadedFile] = []

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        _sweep(receiving_folder())
        super().new_file(*args, **kwargs)
        self.files.append(self.file)

    def discard(self) -> None:
        """Remove the files from the folder; one that was stored has left it already."""
        for file in self.files:
            with suppress(OSError):  # a full disk refuses what was not written yet; the file is removed all the same
                file.close()


def uploads_discard(request: HttpRequest) -> None:
    """Remove what a refused or failed request has sent as files."""
    for handler in getattr(request, "_upload_handlers", ()):
        if isinstance(handler, ReceivedOnDisk):
            handler.discard()


def receiving_folder() -> Path:
    """Where Django, and the storage of a bucket, put what does not stay in memory; it is there from now on."""
    folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _sweep(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process was quicker, or has stored it
            if path.stat().st_mtime < time.time() - LEFT_AFTER_S:
                path.unlink()
