"""Files in forms: pages take none, unless their view says so by handlers of its own."""

from typing import Any

from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler


class NoFiles(FileUploadHandler):
    """Refuses the first file of a form."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise TooManyFilesSent("This page takes no files.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None
