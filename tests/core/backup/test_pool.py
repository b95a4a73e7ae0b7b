"""Copies of stored files beside the backups."""

from pathlib import Path

import pytest
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

from core.backup.database import BackupError, Unlike
from core.backup.files import Pool
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


def test_a_copy_is_known_to_later_backups(storage: FileSystemStorage, pool: Pool) -> None:
    assert pool.entry_of(NAME) is None
    pool.note(pool.take(storage, NAME))
    later = Pool(pool.sums.parent)
    assert later.entry_of(NAME) == pool.entries[NAME]
    assert later.entry_of(NAME)["bytes"] == 6  # type: ignore[index]


def test_a_copy_that_was_cut_short_is_none(storage: FileSystemStorage, pool: Pool) -> None:
    pool.note(pool.take(storage, NAME))
    pool.path(NAME).write_bytes(b"mov")
    assert pool.entry_of(NAME) is None


def test_the_last_line_of_a_killed_backup_is_passed_over(storage: FileSystemStorage, pool: Pool) -> None:
    pool.note(pool.take(storage, NAME))
    with pool.sums.open("a") as lines:
        lines.write('{"name": "previ')
    assert Pool(pool.sums.parent).entry_of(NAME)


def test_an_absent_file_is_reported(storage: FileSystemStorage, pool: Pool) -> None:
    assert pool.take(storage, "previews/0b.gif") == {"name": "previews/0b.gif", "missing": True}
    assert not list(pool.path("previews").iterdir())


def test_files_come_back_where_they_are_not_or_not_whole(storage: FileSystemStorage, pool: Pool) -> None:
    entry = pool.take(storage, NAME)
    assert pool.give(storage, entry) == "equal"
    storage.delete(NAME)
    assert pool.give(storage, entry) == "stored"
    Path(storage.path(NAME)).write_bytes(b"mo")
    assert pool.give(storage, entry) == "replaced"
    assert Path(storage.path(NAME)).read_bytes() == b"moving"


def test_a_file_of_the_right_size_with_other_bytes_is_replaced(storage: FileSystemStorage, pool: Pool) -> None:
    entry = pool.take(storage, NAME)
    Path(storage.path(NAME)).write_bytes(bytes(6))
    assert pool.give(storage, entry) == "replaced"
    assert Path(storage.path(NAME)).read_bytes() == b"moving"


def test_a_file_is_there_all_the_while_it_is_replaced(
    storage: FileSystemStorage, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = pool.take(storage, NAME)
    Path(storage.path(NAME)).write_bytes(bytes(6))

    def killed(*paths: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setattr("core.backup.files.os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            pool.give(storage, entry)
    assert Path(storage.path(NAME)).read_bytes() == bytes(6)
    assert pool.give(storage, entry) == "replaced"
    assert [path.read_bytes() for path in Path(storage.path("previews")).iterdir()] == [b"moving"]


def test_what_is_there_stays_where_its_copy_is_damaged(storage: FileSystemStorage, pool: Pool) -> None:
    entry = pool.take(storage, NAME)
    pool.path(NAME).write_bytes(b"mOving")
    Path(storage.path(NAME)).write_bytes(b"mo")
    with pytest.raises(Unlike, match="is damaged"):
        pool.give(storage, entry)
    assert Path(storage.path(NAME)).read_bytes() == b"mo"


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


def test_a_damaged_copy_is_not_restored(storage: FileSystemStorage, pool: Pool) -> None:
    entry = pool.take(storage, NAME)
    pool.path(NAME).write_bytes(b"mOving")
    storage.delete(NAME)
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


def test_no_name_leaves_the_folder(storage: FileSystemStorage, pool: Pool) -> None:
    for name in ("../outside", "/etc/passwd", "previews/../../outside"):
        with pytest.raises(SuspiciousFileOperation):
            pool.path(name)
