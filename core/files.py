"""Files on their way in and out of the site.

A stored file is sent in one of three ways, by settings: by this process; by nginx, with X-Accel-Redirect; or the
browser is redirected to the bucket, with an address that is signed for a few minutes. Who may read it was decided
before, and nothing that is sent names the file.

An upload is received on the disk of the data folder, as a /tmp may lie in memory. What it is, its first bytes say: its
name and the type that a browser gives it are anybody's to choose.
"""

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db.models.fields.files import FieldFile
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from core.exceptions import TooLarge

IMMUTABLE = "private, max-age=86400, immutable"  # bytes of such a file never change: another gets another name
PIECE, AT_ONCE = 1 << 16, 1 << 20
LEFT_AFTER_S = 24 * 3600  # no upload takes so long
FORM_ROOM = 2**20  # bytes that the fields beside a file may take
SPARE_S = 30  # before its end an address is not used for a new request any more
HEAD = 512  # bytes that say what an upload is
PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")  # gzip, zip
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")  # of texts in UTF-8, UTF-16
SPACES = frozenset(b"\t\n\r\f")
REFUSED = "This is neither a text nor a .gz or .zip of one."
RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII | re.IGNORECASE)


def requested_bytes(header: str, size: int) -> range | None:
    """The bytes that a Range header asks for of ``size``: none at all if they lie outside, None for the whole file.

    A header that asks for several parts, or that makes no sense, asks for the whole file (RFC 9110, section 14.2).
    """
    match = RANGE.fullmatch(header)
    if match is None:
        return None
    first, last, tail = match.groups()
    if tail:
        return range(max(0, size - int(tail)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, size) if last else size)


def file_answer(
    request: HttpRequest, file: FieldFile, *, content_type: str, cache: str = "", filename: str = ""
) -> HttpResponseBase:
    """The file, or the way to it; ``filename`` makes it a download of this name."""
    headers = {"Content-Type": content_type, "Cache-Control": cache}
    headers["Content-Disposition"] = content_disposition_header(True, filename) if filename else ""
    headers = {name: value for name, value in headers.items() if value}
    if hasattr(file.storage, "signed_url"):
        return _redirect_to_storage(request, file, headers)
    if settings.MEDIA_ACCEL and isinstance(file.storage, FileSystemStorage):
        return HttpResponse(headers={**headers, "X-Accel-Redirect": settings.MEDIA_ACCEL + quote(str(file.name))})
    return _sent_here(request, file, headers)


def _redirect_to_storage(request: HttpRequest, file: FieldFile, headers: dict[str, str]) -> HttpResponse:
    """302 to the bucket. A browser may keep the redirect, so that it finds what it has kept of the file itself."""
    response_headers = {name.replace("-", ""): value for name, value in headers.items()}
    storage: Any = file.storage
    url = storage.signed_url(
        str(file.name), seconds=settings.MEDIA_URL_S, method=str(request.method), **response_headers
    )
    cache_control = f"private, max-age={settings.MEDIA_URL_S - SPARE_S}"
    return HttpResponse(status=302, headers={"Location": url, "Cache-Control": cache_control})


def _sent_here(request: HttpRequest, file: FieldFile, headers: dict[str, str]) -> HttpResponseBase:
    """The whole file (200), the one part requested (206), or that there is no such part (416)."""
    size = file.size
    # If-Range names a version of the file; none was ever given out.
    plain = request.method == "GET" and "If-Range" not in request.headers
    part = requested_bytes(request.headers.get("Range", ""), size) if plain else None
    answer: HttpResponseBase
    if part is None:
        answer = FileResponse(file.open("rb"))
        del answer["Content-Disposition"]  # it would name the stored file
    elif not part:
        about = {"Content-Range": f"bytes */{size}", "Content-Type": headers["Content-Type"]}
        return HttpResponse(status=416, headers=about)
    else:
        answer = _part(file, part)
        answer["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    for name, value in headers.items():
        answer[name] = value
    answer["Accept-Ranges"] = "bytes"
    return answer


def _part(file: FieldFile, part: range) -> HttpResponseBase:
    """A player asks for all bytes from one on, and may leave after the first: a long part is read as it is sent."""
    pieces = _pieces(file, part)
    kind = HttpResponse if len(part) <= AT_ONCE else StreamingHttpResponse
    return kind(pieces, status=206, headers={"Content-Length": str(len(part))})


def _pieces(file: FieldFile, part: range) -> Iterator[bytes]:
    n_left = len(part)
    with file.open("rb") as stream:
        stream.seek(part.start)
        while n_left and (piece := stream.read(min(n_left, PIECE))):
            n_left -= len(piece)
            yield piece


class ReceivedOnDisk(TemporaryFileUploadHandler):
    """Django's; it makes the folder, and first removes what a process that was killed left there.

    Django forgets a file that did not arrive whole (the disk is full, the client is gone, another part of the form is
    refused) until Python collects it, so the handler remembers all of its files.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.files: list[TemporaryUploadedFile] = []

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        _sweep(upload_temp_folder())
        super().new_file(*args, **kwargs)
        self.files.append(self.file)

    def discard(self) -> None:
        """Remove the files from the folder; one that was stored has left it already."""
        for file in self.files:
            with suppress(OSError):  # a full disk refuses what was not written yet; the file is removed all the same
                file.close()


def receive_on_disk(request: HttpRequest, *, most_mb: int, instead: str) -> None:
    """Have the files of the request written into the data folder as they come.

    Raises:
        TooLarge: no file of ``most_mb`` megabytes needs such a body; ``instead`` says what to do.
    """
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit() and int(length) > most_mb * 2**20 + FORM_ROOM:
        raise TooLarge(f"The file is larger than {most_mb} MB; {instead}.")
    request.upload_handlers = [ReceivedOnDisk(request)]


def uploads_discard(request: HttpRequest) -> None:
    """Remove what a refused or failed request has sent as files."""
    for handler in getattr(request, "_upload_handlers", ()):
        if isinstance(handler, ReceivedOnDisk):
            handler.discard()


def upload_temp_folder() -> Path:
    """Where Django, and the storage of a bucket, put what does not stay in memory; it is there from now on."""
    folder = Path(settings.FILE_UPLOAD_TEMP_DIR)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _sweep(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process was quicker, or has stored it
            if path.stat().st_mtime < time.time() - LEFT_AFTER_S:
                path.unlink()


def text_or_packed(upload: IO[bytes]) -> None:
    """Pass what may be a text, plain or packed; readers look closer.

    Raises:
        ValidationError: it is a picture, a program, a document, or anything else that is no text.
    """
    upload.seek(0)
    head = upload.read(HEAD)
    upload.seek(0)
    has_control = any(byte < 32 and byte not in SPACES for byte in head)
    if not head.startswith((*PACKED, *MARKS)) and (head.startswith(b"%PDF") or has_control):
        raise ValidationError(REFUSED, code="no_text")


def checksum(file: "File[Any]") -> str:
    digest = sha256()
    for piece in file.chunks():
        digest.update(piece)
    file.seek(0)
    return digest.hexdigest()
