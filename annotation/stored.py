"""The door of stored files: who may pass was decided before; here the file is sent, or the way to it.

Three ways, by settings: this process sends it; nginx does, told by X-Accel-Redirect; or the browser is sent to the
bucket with an address that is signed for a few minutes. Nothing that is sent names the file.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.db.models.fields.files import FieldFile
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

IMMUTABLE = "private, max-age=86400, immutable"  # bytes of such a file never change: another gets another name
PIECE, AT_ONCE = 1 << 16, 1 << 20
SPARE_S = 30  # before its end an address is not used for a new request any more

RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII | re.IGNORECASE)


def bytes_asked(header: str, size: int) -> range | None:
    """The bytes that a Range header asks for of ``size``: none at all if they lie outside, None for the whole file.

    A header that asks for several parts, or that makes no sense, asks for the whole file (RFC 9110, section 14.2).
    """
    asked = RANGE.fullmatch(header)
    if asked is None:
        return None
    first, last, tail = asked.groups()
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
        return _sent_away(request, file, headers)
    if settings.MEDIA_ACCEL and isinstance(file.storage, FileSystemStorage):
        return HttpResponse(headers={**headers, "X-Accel-Redirect": settings.MEDIA_ACCEL + quote(str(file.name))})
    return _sent_here(request, file, headers)


def _sent_away(request: HttpRequest, file: FieldFile, headers: dict[str, str]) -> HttpResponse:
    """302 to the bucket. A browser may keep the redirect, so that it finds what it has kept of the file itself."""
    said = {name.replace("-", ""): value for name, value in headers.items()}
    way: Any = file.storage
    url = way.signed_url(str(file.name), seconds=settings.MEDIA_URL_S, method=str(request.method), **said)
    kept = f"private, max-age={settings.MEDIA_URL_S - SPARE_S}"
    return HttpResponse(status=302, headers={"Location": url, "Cache-Control": kept})


def _sent_here(request: HttpRequest, file: FieldFile, headers: dict[str, str]) -> HttpResponseBase:
    """The whole file (200), the one part asked for (206), or that there is no such part (416)."""
    size = file.size
    # If-Range names a version of the file; none was ever given out.
    plain = request.method == "GET" and "If-Range" not in request.headers
    part = bytes_asked(request.headers.get("Range", ""), size) if plain else None
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
    left = len(part)
    with file.open("rb") as opened:
        opened.seek(part.start)
        while left and (piece := opened.read(min(left, PIECE))):
            left -= len(piece)
            yield piece
