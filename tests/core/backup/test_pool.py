"""Copies of stored files beside the backups, and versions in a bucket, listed and brought back."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

from core.backup.database import BackupError, Unlike
from core.backup.files import Pool, bring_back, versions_of
from tests.buckets import NAME as BUCKET
from tests.buckets import bucket

NAME = "previews/0a.gif"


@pytest.fixture
def storage(tmp_path: Path) -> FileSystemStorage:
    storage = FileSystemStorage(tmp_path / "storage")
    storage.save(NAME, ContentFile(b"moving"))
    return storage


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    (tmp_path / "backups").mkdir()
    return Pool(tmp_path / "backups")


def test_a_copy_is_known_to_later_backups_unless_it_was_cut_short(storage: FileSystemStorage, pool: Pool) -> None:
    assert pool.entry_of(NAME) is None
    pool.note(pool.take(storage, NAME))
    with pool.sums.open("a") as lines:
        lines.write('{"name": "previ')  # as a killed backup leaves it
    later = Pool(pool.sums.parent)
    assert later.entry_of(NAME) == pool.entries[NAME]
    assert later.entry_of(NAME)["bytes"] == 6  # type: ignore[index]
    pool.path(NAME).write_bytes(b"mov")
    assert pool.entry_of(NAME) is None


def test_an_absent_file_is_reported(storage: FileSystemStorage, pool: Pool) -> None:
    assert pool.take(storage, "previews/0b.gif") == {"name": "previews/0b.gif", "missing": True}
    assert not list(pool.path("previews").iterdir())


def test_files_come_back_where_they_are_not_or_not_whole(storage: FileSystemStorage, pool: Pool) -> None:
    entry, path = pool.take(storage, NAME), Path(storage.path(NAME))
    assert pool.give(storage, entry) == "equal"
    path.unlink()
    assert pool.give(storage, entry) == "stored"
    for content in (b"mo", bytes(6)):  # cut short, and of the right size with other bytes
        path.write_bytes(content)
        assert pool.give(storage, entry) == "replaced"
        assert path.read_bytes() == b"moving"


def test_a_file_is_there_all_the_while_it_is_replaced(
    storage: FileSystemStorage, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, path = pool.take(storage, NAME), Path(storage.path(NAME))
    path.write_bytes(bytes(6))
    with monkeypatch.context() as killing:
        killing.setattr("core.backup.files.os.replace", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            pool.give(storage, entry)
    assert path.read_bytes() == bytes(6)
    assert pool.give(storage, entry) == "replaced"
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"moving"]


def test_what_differs_in_a_bucket_is_replaced(tmp_path: Path) -> None:
    with bucket() as client:
        default_storage.save(NAME, ContentFile(b"moving"))
        pool = Pool(tmp_path)
        entry = pool.take(default_storage, NAME)
        assert pool.give(default_storage, entry) == "equal"
        client.put_object(Bucket=BUCKET, Key=NAME, Body=bytes(6))
        assert pool.give(default_storage, entry) == "replaced"
        assert client.get_object(Bucket=BUCKET, Key=NAME)["Body"].read() == b"moving"
        default_storage.delete(NAME)
        assert pool.give(default_storage, entry) == "stored"


def test_a_damaged_copy_is_not_restored_and_what_is_there_stays(storage: FileSystemStorage, pool: Pool) -> None:
    entry, path = pool.take(storage, NAME), Path(storage.path(NAME))
    pool.path(NAME).write_bytes(b"mOving")
    path.write_bytes(b"mo")
    with pytest.raises(Unlike, match="is damaged"):
        pool.give(storage, entry)
    assert path.read_bytes() == b"mo"
    path.unlink()
    with pytest.raises(Unlike, match="is damaged"):
        pool.give(storage, entry)
    pool.path(NAME).unlink()
    with pytest.raises(BackupError, match="is missing"):
        pool.give(storage, entry)
    assert not storage.exists(NAME)


def test_copies_that_no_backup_names_any_more_go(storage: FileSystemStorage, pool: Pool) -> None:
    storage.save("previews/0c.gif", ContentFile(b"kept"))
    for name in (NAME, "previews/0c.gif"):
        pool.note(pool.take(storage, name))
    assert pool.keep_only({"previews/0c.gif"}) == 1
    later = Pool(pool.sums.parent)
    assert (later.entry_of(NAME), list(later.entries)) == (None, ["previews/0c.gif"])
    assert later.entry_of("previews/0c.gif")


def test_no_name_leaves_the_folder(pool: Pool) -> None:
    for name in ("../outside", "/etc/passwd", "previews/../../outside"):
        with pytest.raises(SuspiciousFileOperation):
            pool.path(name)


def test_a_listed_version_comes_back_where_another_is_current_or_none() -> None:
    with bucket() as client:
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        default_storage.save(NAME, ContentFile(b"moving"))
        (entry,) = versions_of(default_storage, [NAME])
        assert bring_back(default_storage, entry, bucket=BUCKET) == "equal"
        client.put_object(Bucket=BUCKET, Key=NAME, Body=bytes(6))
        assert bring_back(default_storage, entry, bucket=BUCKET) == "replaced"
        default_storage.delete(NAME)
        assert bring_back(default_storage, entry, bucket=BUCKET) == "stored"
        assert client.get_object(Bucket=BUCKET, Key=NAME)["Body"].read() == b"moving"
