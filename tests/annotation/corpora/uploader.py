"""Somebody who uploads videos in pieces."""

from base64 import b64encode
from io import BytesIO
from typing import Any

from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from annotation.corpora.services.video_uploads import video_part_add
from annotation.models import VideoUpload
from tests.conftest import Messages
from tests.factories import VideoUploadFactory, lead

PIECE = 1000
PATCH = "application/offset+octet-stream"


class Uploader:
    """A person's script that speaks tus."""

    def __init__(self, project: Project, person: User | None = None, **options: Any) -> None:
        self.project, self.client = project, Client(headers={"Tus-Resumable": "1.0.0"}, **options)
        self.client.force_login(person or lead(project))

    def begin(self, name: str = "film.mp4", size: int | str = 100, *, replaces: str = "", **headers: str) -> Any:
        about = f"filename {b64encode(name.encode()).decode()},modified {b64encode(b'7').decode()}"
        about += f",replaces {b64encode(replaces.encode()).decode()}" if replaces else ""
        values = {"Upload-Length": str(size), "Upload-Metadata": about, **headers}
        return self.client.post(reverse("annotation:uploads", args=[self.project.uuid]), headers=values)

    def url(self) -> str:
        return reverse("annotation:upload", args=[VideoUpload.objects.latest("pk").uuid])

    def send(self, data: bytes, offset: int, *, content_type: str = PATCH, url: str = "") -> Any:
        headers = {"Upload-Offset": str(offset)}
        return self.client.generic("PATCH", url or self.url(), data, CONTENT_TYPE=content_type, headers=headers)

    def send_all(self, data: bytes, messages: Messages, *, begin: int = 0) -> Any:
        """The last answer; tasks run when all is sent."""
        with messages():
            for start in range(begin, len(data), PIECE):
                answer = self.send(data[start : start + PIECE], start)
                assert (answer.status_code, answer["Upload-Offset"]) == (204, str(min(len(data), start + PIECE)))
        return answer

    def head(self) -> Any:
        return self.client.head(self.url())


def whole(data: bytes, **values: Any) -> VideoUpload:
    """An upload of which all is here, in pieces that no task has read."""
    row: VideoUpload = VideoUploadFactory(size=len(data), **values)
    for start in range(0, len(data), PIECE):
        row = video_part_add(upload=row, offset=start, read=BytesIO(data[start : start + PIECE]).read)
    assert row.state == "reading"
    return row
