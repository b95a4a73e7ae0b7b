"""A backup of the site while people judge on it, and all of it in another database and another folder."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.models import Video
from core.embedded.services import BASE_DIR
from core.media_files import files_delete, left_files_sweep
from core.models import LeftFile
from judging.models import Judgment
from tests.factories import VideoFactory
from tests.production.faults.crowd import Crowd
from tests.production.topology import Site
from tests.production.topology.site import eventually
from tests.production.topology.stores import BUCKET, NAME, PASSWORD

ELSEWHERE = "restored"


def manage(site: Site, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(BASE_DIR / "manage.py"), *words]
    environment = site.web[0].environment() | more
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


def report_of(site: Site, *words: str, **more: str) -> dict[str, Any]:
    """Return what the command printed at its end."""
    result = manage(site, *words, **more)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout.splitlines()[-1])  # type: ignore[no-any-return]


@pytest.fixture
def elsewhere(site: Site, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Another, empty database on the same server, and another data folder."""
    with site.postgres.connect(dbname="postgres") as link:
        link.execute(f"DROP DATABASE IF EXISTS {ELSEWHERE} WITH (FORCE)")
        link.execute(f"CREATE DATABASE {ELSEWHERE}")
    (tmp_path / "var").mkdir(mode=0o700)
    where = f"{site.postgres.address}:{site.postgres.port}"
    yield {
        "DATABASE_URL": f"postgresql://{NAME}:{PASSWORD}@{where}/{ELSEWHERE}",
        "MOMENTJUDGE_VAR": str(tmp_path / "var"),
    }
    with site.postgres.connect(dbname="postgres") as link:
        link.execute(f"DROP DATABASE {ELSEWHERE} WITH (FORCE)")


def test_restored_rows_are_those_of_the_snapshot_taken_while_people_judged(
    site: Site, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    video = VideoFactory(name="kept")
    video.file.save("kept.mp4", ContentFile(b"k" * 100_000))
    with Crowd(site, pairs=20) as crowd:
        crowd.await_grades(8)
        before = set(Judgment.objects.values_list("uuid", flat=True))
        report = report_of(site, "backup", str(tmp_path / "backups"))
    assert crowd.accepted == Judgment.objects.filter(assignment__project=crowd.scenario.project).count()

    restored = report_of(site, "restore", str(tmp_path / "backups"), **elsewhere)
    assert (restored["tables"], restored["rows"]) == (report["tables"], report["rows"])
    assert restored["media"]["files"] == restored["media"]["stored"] == report["media"]["files"] > 0
    with site.postgres.connect(dbname=ELSEWHERE) as link:
        after = {uuid for (uuid,) in link.execute("SELECT uuid FROM judging_judgment")}
        assert before <= after
        link.execute(
            "INSERT INTO annotation_corpus (uuid, name, is_placeholder, created_at)"
            " VALUES (gen_random_uuid(), 'new', false, now())"
        )  # its sequence goes on
    copy = tmp_path / "var" / "media" / str(video.file.name)
    assert copy.read_bytes() == b"k" * 100_000

    occupied = manage(site, "restore", str(tmp_path / "backups"), **elsewhere)
    assert (occupied.returncode, "is not empty" in occupied.stderr) == (3, True)
    copy.write_bytes(bytes(100_000))
    again = report_of(site, "restore", str(tmp_path / "backups"), "--yes", **elsewhere)
    assert (again["rows"], again["media"]["stored"], again["media"]["replaced"]) == (report["rows"], 0, 1)
    assert copy.read_bytes() == b"k" * 100_000

    in_use = manage(site, "restore", str(tmp_path / "backups"), "--yes")
    assert (in_use.returncode, "stop the site first" in in_use.stderr) == (3, True)
    assert Judgment.objects.filter(uuid__in=before).count() == len(before)


def test_a_second_backup_copies_only_what_is_new_and_a_damaged_one_is_refused(
    site: Site, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    first = report_of(site, "backup", str(tmp_path / "backups"))
    copies = {path: path.stat().st_mtime_ns for path in (tmp_path / "backups" / "media").rglob("*") if path.is_file()}
    VideoFactory().file.save("new.mp4", ContentFile(b"new"))
    second = report_of(site, "backup", str(tmp_path / "backups"))
    assert second["media"]["files"] == first["media"]["files"] + 1
    assert all(path.stat().st_mtime_ns == at for path, at in copies.items())

    dump = Path(second["folder"]) / "database.dump"
    with dump.open("r+b") as file:
        file.seek(dump.stat().st_size // 2)
        file.write(b"damaged")
    refused = manage(site, "restore", second["folder"], **elsewhere)
    assert (refused.returncode, "is damaged" in refused.stderr) == (4, True)
    assert report_of(site, "restore", first["folder"], "--no-media", **elsewhere)["rows"] == first["rows"]

    third = report_of(site, "backup", str(tmp_path / "backups"), "--keep", "1")
    assert [path.parent for path in (tmp_path / "backups").glob("*/backup.json")] == [Path(third["folder"])]
    files = [path for path in (tmp_path / "backups" / "media").rglob("*") if path.is_file()]
    assert len(files) == third["media"]["files"]


def videos_with_files(number: int) -> list[Video]:
    videos = [VideoFactory() for _ in range(number)]
    for video in videos:
        video.file.save("a.mp4", ContentFile(b"a" * 1000))
    return videos


@contextmanager
def reading_blocked(video: Video) -> Iterator[None]:
    """Whoever opens the file waits inside the block: a pipe that nobody writes to lies in its place."""
    path = Path(default_storage.path(str(video.file.name)))
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    try:
        yield
    finally:
        with os.fdopen(os.open(path, os.O_RDWR), "wb") as pipe:
            pipe.write(content)
        path.unlink(missing_ok=True)
        path.write_bytes(content)


@contextmanager
def backup_among_files(site: Site, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A backup that has copied some files, so that its snapshot is taken."""
    command = [sys.executable, str(BASE_DIR / "manage.py"), "backup", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=site.web[0].environment(), **pipes) as process:
        eventually(lambda: len(list((folder / "media").rglob("*.mp4"))) >= 5)
        yield process


def test_a_killed_backup_goes_on_and_leaves_no_half_one(site: Site, tmp_path: Path) -> None:
    *_, last = videos_with_files(12)
    with reading_blocked(last), backup_among_files(site, tmp_path) as process:
        process.kill()
    refused = manage(site, "restore", str(tmp_path))
    assert (refused.returncode, "There is no whole backup" in refused.stderr) == (1, True)
    report_of(site, "backup", str(tmp_path))
    assert not list(tmp_path.glob("*.part")) and len(list(tmp_path.glob("*/backup.json"))) == 1


def test_files_in_a_bucket_are_copied_or_their_versions_listed(
    bucket: Site, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    video = VideoFactory()
    video.file.save("a.mp4", ContentFile(b"moving"))
    copied_into_another_bucket(bucket, elsewhere, tmp_path / "copies", str(video.file.name))
    client = bucket.storage.client()
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    try:
        versions_restored(bucket, elsewhere, tmp_path / "lists")
    finally:
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Suspended"})


def copied_into_another_bucket(site: Site, elsewhere: dict[str, str], backups: Path, name: str) -> None:
    report = report_of(site, "backup", str(backups))
    assert report["media"]["way"] == "copy"
    site.storage.client().create_bucket(Bucket="another")
    restored = report_of(site, "restore", report["folder"], **elsewhere, S3_BUCKET="another")
    assert restored["media"]["stored"] == report["media"]["files"]
    assert site.storage.client().get_object(Bucket="another", Key=name)["Body"].read() == b"moving"


def versions_restored(site: Site, elsewhere: dict[str, str], backups: Path) -> None:
    video = VideoFactory()
    video.file.save("a.mp4", ContentFile(b"moving on"))
    report = report_of(site, "backup", str(backups))
    assert report["media"]["way"] == "list"
    assert not (backups / "media").exists()
    default_storage.delete(str(video.file.name))
    restored = report_of(site, "restore", report["folder"], "--yes", **elsewhere)
    assert restored["media"]["stored"] == 1
    assert default_storage.open(str(video.file.name)).read() == b"moving on"


def test_files_removed_meanwhile_stay_until_the_backup_has_them(site: Site, tmp_path: Path) -> None:
    *_, last = videos = videos_with_files(12)
    names = [str(video.file.name) for video in videos]
    with ExitStack() as stack:
        with reading_blocked(last):
            process = stack.enter_context(backup_among_files(site, tmp_path))
            Video.objects.filter(pk__in=[video.pk for video in videos]).delete()
            files_delete(*names)
            assert LeftFile.objects.filter(name__in=names).count() == len(names)
        out, _ = process.communicate(timeout=600)
    manifest = Path(json.loads(out.splitlines()[-1])["folder"]) / "media.jsonl"
    copied = {entry["name"] for entry in map(json.loads, manifest.open()) if "missing" not in entry}
    assert copied >= set(names)
    while left_files_sweep():
        pass
    assert not any(default_storage.exists(name) for name in names)
