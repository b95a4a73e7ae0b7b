"""Answers with a file or the part of it that was asked for: players seek by parts, and Safari takes nothing else."""

import re

from django.db.models.fields.files import FieldFile
from django.http import FileResponse, HttpRequest, HttpResponse

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


def file_answer(request: HttpRequest, file: FieldFile, content_type: str) -> HttpResponse | FileResponse:
    """The whole file (200), the one part asked for (206), or that there is no such part (416)."""
    size = file.size
    # If-Range names a version of the file; none was ever given out.
    plain = request.method == "GET" and "If-Range" not in request.headers
    part = bytes_asked(request.headers.get("Range", ""), size) if plain else None
    answer: HttpResponse | FileResponse
    if part is None:
        answer = FileResponse(file.open("rb"), content_type=content_type)
        del answer["Content-Disposition"]  # it would name the stored file
    elif not part:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"}, content_type=content_type)
    else:
        with file.open("rb") as opened:
            opened.seek(part.start)
            answer = HttpResponse(opened.read(len(part)), status=206, content_type=content_type)
        answer["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    answer["Accept-Ranges"] = "bytes"
    return answer
