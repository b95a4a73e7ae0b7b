"""Files that nobody needs any more go at once, or later."""

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

pytestmark = pytest.mark.django_db


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
