"""Stored files are sent by this process, by nginx, or by a bucket; always after the same look at who asks."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from core.exceptions import StorageUnavailable
from core.storage.bucket import IN_MEMORY_BYTES, S3Media
from tests.buckets import bucket
from tests.factories import UserFactory
from tests.judging.watching import logged_in, preview_urls, watched

pytestmark = pytest.mark.django_db


class TestNginx:
    """A folder behind nginx: the answer is empty but for the way to the file."""

    @pytest.fixture(autouse=True)
    def behind_nginx(self, settings: Any, tmp_path: Path) -> None:
        settings.MEDIA_ACCEL = "/protected/"
        folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
        settings.STORAGES = {**settings.STORAGES, "default": folder}

    def test_those_who_may_watch_get_the_path(self) -> None:
        client, moment = watched()
        for url, file in zip(preview_urls(moment), (moment.preview, moment.preview_clip), strict=True):
            answer = client.get(url, headers={"Range": "bytes=0-1"})
            assert (answer.status_code, answer.content) == (200, b"")
            assert answer.headers["X-Accel-Redirect"] == f"/protected/{file.name}"
            assert answer.headers["Cache-Control"] == "private, max-age=86400, immutable"
            assert "Content-Disposition" not in answer.headers and "ETag" not in answer.headers

    def test_others_are_not(self) -> None:
        _, moment = watched()
        for url in preview_urls(moment):
            answer = logged_in(UserFactory()).get(url)
            assert (answer.status_code, answer.headers.get("X-Accel-Redirect")) == (404, None)


def test_a_large_file_of_a_bucket_is_read_where_nothing_was_received_yet(settings: Any, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "data" / "receiving"
    large = bytes(IN_MEMORY_BYTES + 1)
    with bucket():
        default_storage.save("large", ContentFile(large))
        with default_storage.open("large") as file:
            assert file.read() == large


def test_a_bucket_that_does_not_answer_is_reported_in_words(settings: Any) -> None:
    nowhere = S3Media(
        bucket_name="clips",
        endpoint_url="http://127.0.0.1:9",  # the port that discards
        public_url="http://127.0.0.1:9",
        region_name="us-east-1",
        access_key="a",
        secret_key="b",
        addressing="path",
        tries=1,
    )
    with pytest.raises(StorageUnavailable, match="does not answer just now") as refused:
        nowhere.save("a", ContentFile(b"a"))
    assert "127.0.0.1" not in str(refused.value)
    assert "127.0.0.1" in refused.value.reason
