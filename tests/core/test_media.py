"""Stored files are sent by this process, by nginx, or by a bucket; always after the same look at who asks."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import OperationalError

from core import media_files
from core.exceptions import StorageUnavailable
from core.media_files import BACKUP, files_delete, left_files_sweep
from core.models import LeftFile
from core.sql import only_one
from core.storage.bucket import IN_MEMORY_BYTES, S3Media
from tests.buckets import OPTIONS, bucket
from tests.factories import UserFactory
from tests.judging.watching import logged_in, preview_urls, watched

pytestmark = pytest.mark.django_db


def test_behind_nginx_the_answer_is_empty_but_for_the_path_of_the_file(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ACCEL = "/protected/"
    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": folder}
    client, moment = watched()
    for url, file in zip(preview_urls(moment), (moment.preview, moment.preview_clip), strict=True):
        answer = client.get(url, headers={"Range": "bytes=0-1"})
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["X-Accel-Redirect"] == f"/protected/{file.name}"
        assert answer.headers["Cache-Control"] == "private, max-age=86400, immutable"
        assert "Content-Disposition" not in answer.headers and "ETag" not in answer.headers
        refused = logged_in(UserFactory()).get(url)
        assert (refused.status_code, refused.headers.get("X-Accel-Redirect")) == (404, None)


def test_a_large_file_of_a_bucket_is_read_where_nothing_was_received_yet(settings: Any, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "data" / "receiving"
    large = bytes(IN_MEMORY_BYTES + 1)
    with bucket():
        default_storage.save("large", ContentFile(large))
        with default_storage.open("large") as file:
            assert file.read() == large


def test_a_bucket_that_does_not_answer_is_reported_in_words(settings: Any) -> None:
    address = "http://127.0.0.1:9"  # the port that discards
    nowhere = S3Media(**OPTIONS | {"endpoint_url": address, "public_url": address, "addressing": "path"}, tries=1)
    with pytest.raises(StorageUnavailable, match="does not answer just now") as refused:
        nowhere.save("a", ContentFile(b"a"))
    assert "127.0.0.1" not in str(refused.value)
    assert "127.0.0.1" in refused.value.reason


def save_files(*names: str) -> list[str]:
    return [default_storage.save(f"imports/{name}", ContentFile(b"a")) for name in names]


def there(names: list[str]) -> list[bool]:
    return [default_storage.exists(name) for name in names]


def test_they_go_at_once() -> None:
    names = save_files("a", "b")
    files_delete(*names, "")
    assert there(names) == [False, False]
    assert not LeftFile.objects.exists()


def test_they_wait_for_a_backup() -> None:
    names = save_files("c", "d")
    with only_one(BACKUP):
        files_delete(*names)
        files_delete(*names)
        assert there(names) == [True, True]
        assert left_files_sweep() == 0
    assert left_files_sweep() == 2
    assert there(names) == [False, False]
    assert not LeftFile.objects.exists()


def test_they_wait_for_the_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    names = save_files("e", "f")
    with monkeypatch.context() as patch:
        patch.setattr(default_storage, "delete", Mock(side_effect=StorageUnavailable(reason="no route")))
        files_delete(*names)
        with pytest.raises(StorageUnavailable):
            left_files_sweep()
    assert LeftFile.objects.count() == 2
    left_files_sweep()
    assert there(names) == [False, False]


def test_without_the_database_nothing_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = save_files("g")
    monkeypatch.setattr(media_files, "is_locked", Mock(side_effect=OperationalError("no route")))
    files_delete(*names)
    assert there(names) == [True]
