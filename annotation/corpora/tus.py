"""How videos come in pieces, by headers: tus 1.0.0, https://tus.io/protocols/resumable-upload."""

import binascii
from base64 import b64decode
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.http import http_date

from accounts.models import Membership, User
from annotation.corpora.services import video_uploads
from annotation.corpora.services.videos import VideoRefused
from annotation.models import Video, VideoUpload
from core.exceptions import MomentJudgeError

VERSION = "1.0.0"
PIECES = "application/offset+octet-stream"
LONGEST_NUMBER = 18  # digits of a size or offset, which the database holds


class BadRequest(MomentJudgeError):
    """A header of the protocol is missing, or says nothing that can be understood."""

    status, code = 400, "bad_request"


class VersionUnknown(MomentJudgeError):
    """The program speaks another version of the protocol."""

    status, code = 412, "version"


class NoPiece(MomentJudgeError):
    """The body is of another type than a piece of a file."""

    status, code = 415, "type"


class UploadFailed(MomentJudgeError):
    """The file became no video, so there is nothing to go on with."""

    status, code = 410, "upload_failed"


def headers() -> dict[str, str]:
    """Return the headers of every answer of the protocol."""
    return {
        "Tus-Resumable": VERSION,
        "Tus-Version": VERSION,
        "Tus-Extension": "creation,expiration,termination",
        "Tus-Max-Size": str(settings.VIDEO_MAX_MB * 2**20),
    }


def version_check(request: HttpRequest) -> None:
    """Raise VersionUnknown where the request is of another version of the protocol."""
    if request.headers.get("Tus-Resumable", VERSION) != VERSION:
        raise VersionUnknown(f"This site speaks tus {VERSION}.")


def upload_begin(request: HttpRequest, membership: Membership, actor: User) -> VideoUpload:
    """Begin the upload of the video that the headers describe, into the corpus of the membership's project.

    Raises:
        PermissionDenied: somebody who does not lead the project replaces the file of a video.
    """
    version_check(request)
    about = _metadata(request)
    project = membership.project
    modified = about.get("modified", "")
    return video_uploads.video_upload_create(
        project=project,
        actor=actor,
        file_name=about.get("filename", ""),
        size=_number(request, "Upload-Length"),
        replaces=_video_replaced(membership, about["replaces"]) if "replaces" in about else None,
        modified_ms=int(modified) if modified.isdecimal() and len(modified) <= LONGEST_NUMBER else 0,
    )


def _video_replaced(membership: Membership, uuid: str) -> Video:
    if not membership.is_lead:
        raise PermissionDenied
    videos = Video.objects.filter(corpus=membership.project.dataset.corpus_id)
    try:
        return videos.get(uuid=UUID(uuid))
    except (ValueError, Video.DoesNotExist) as error:
        raise VideoRefused("The corpus has no such video. Load the page of the video again.") from error


def piece_add(request: HttpRequest, row: VideoUpload) -> VideoUpload:
    """Take the body as the next piece of the file; return the upload as it is then."""
    version_check(request)
    if request.content_type != PIECES:
        raise NoPiece(f"A piece has the type {PIECES}.")
    return video_uploads.video_part_add(upload=row, offset=_number(request, "Upload-Offset"), read=request.read)


def state_to_go_on(request: HttpRequest, row: VideoUpload) -> dict[str, str]:
    """Return the headers that say where the file goes on. Raises UploadFailed where it became no video."""
    version_check(request)
    if row.state == VideoUpload.State.FAILED:
        raise UploadFailed(row.error)
    return {"Upload-Length": str(row.size), "Cache-Control": "no-store", **state_of(row)}


def state_of(row: VideoUpload) -> dict[str, str]:
    """Return the headers that say how much of a file is here, and until when it is kept."""
    return {"Upload-Offset": str(row.offset), "Upload-Expires": http_date(row.expires_at.timestamp())}


def _number(request: HttpRequest, header: str) -> int:
    digits = request.headers.get(header, "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER):
        raise BadRequest(f"The header {header} is not a number of bytes.")
    return int(digits)


def _metadata(request: HttpRequest) -> dict[str, str]:
    """Return names and values of the header Upload-Metadata; a name may stand alone."""
    pairs = [part.split() for part in request.headers.get("Upload-Metadata", "").split(",")]
    try:
        return {name: b64decode("".join(value), validate=True).decode() for name, *value in pairs}
    except (binascii.Error, ValueError) as error:
        raise BadRequest("The header Upload-Metadata does not hold pairs of a name and a value in base64.") from error
