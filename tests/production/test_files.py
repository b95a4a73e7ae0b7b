"""Stored files on the whole site: from nginx out of a folder, and from a double of object storage (moto's server)."""

import csv
import json
import subprocess
import sys
from pathlib import Path

from django.core.files.storage import default_storage
from django.urls import reverse

from annotation.models import Moment, Video
from annotation.previews.services import preview_save
from core.embedded.services import BASE_DIR
from core.storage.bucket import S3Media
from tests.production.faults.latch import latch
from tests.production.header_lines import lacking
from tests.production.topology import Person, Site
from tests.production.topology.project import Scenario, take
from tests.production.topology.stores import BUCKET

TELLING = ("ETag", "Last-Modified", "Content-Disposition", "X-Accel-Redirect")


def give_preview(moment: Moment) -> Moment:
    """The moment with a preview of 206 bytes and a twin of ten."""
    Moment.objects.filter(pk=moment.pk).update(preview="", preview_state="missing")
    assert preview_save(moment=moment, gif=b"GIF89a" + bytes(200), clip=b"0123456789")
    moment.refresh_from_db()
    return moment


def import_of(folder: Path, corpus: str, rows: list[list[object]], video: bytes) -> list[str]:
    """Write a table of moments and the file of each of its videos; return the words for manage.py."""
    table, videos = folder / "moments.csv", folder / "videos"
    videos.mkdir()
    with table.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["video", "start", "end", "description", "duration"])
        lines.writerows(rows)
    for name in {row[0] for row in rows}:
        (videos / f"{name}.mp4").write_bytes(video)
    return ["import_corpus", "csv", str(table), "--corpus", corpus, "--videos", str(videos)]


def check_ten_bytes(browser: Person, url: str, *, caching: str) -> None:
    """The MP4 of ten bytes comes, whole and in part, with headers that reveal nothing."""
    whole, part = browser.get(url), browser.get(url, headers={"Range": "bytes=2-4"})
    assert (whole.status_code, whole.content) == (200, b"0123456789")
    assert (part.status_code, part.content, part.headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    for answer in (whole, part):
        assert (answer.headers["Content-Type"], answer.headers["Cache-Control"]) == ("video/mp4", caching)
        assert lacking(answer) == []
        assert not {*TELLING} & {*answer.headers}, answer.headers


class TestNginx:
    """A folder: Django looks at who asks, nginx sends."""

    def test_who_judges_gets_the_file_from_nginx_and_nothing_beside_it(self, site: Site) -> None:
        scenario = Scenario.make(annotators=2)
        moment = give_preview(scenario.batch(pairs=1).pairs.get().candidate.moment)
        person, other = (scenario.person(site, user) for user in scenario.annotators)
        take(person, scenario)
        url = reverse("judging:preview-clip", args=[moment.preview_uuid])
        check_ten_bytes(person, url, caching="private, max-age=86400, immutable")
        assert person.get(url, headers={"Range": "bytes=10-"}).status_code == 416
        assert other.get(url).status_code == 404
        assert site.visitor().get(f"/protected/{moment.preview_clip.name}").status_code == 404
        default_storage.delete(str(moment.preview.name))
        assert person.get(reverse("judging:preview", args=[moment.preview_uuid])).status_code == 404


class TestStorageBehindNginx:
    """Signed addresses lead through the site's own nginx, as in compose.yaml; behind it is the double."""

    def test_a_signed_address_opens_its_file_and_reveals_no_time(self, site: Site) -> None:
        key = "previews/0f3c.mp4"
        site.storage.client().put_object(Bucket=BUCKET, Key=key, Body=b"0123456789", ContentType="video/mp4")
        url = signer(site).signed_url(key, seconds=60, ContentType="video/mp4", CacheControl="private, max-age=60")
        assert url.startswith(f"{site.url}/{BUCKET}/{key}?")
        check_ten_bytes(site.visitor(), url, caching="private, max-age=60")
        assert url.partition("X-Amz-Signature=")[2][:64] not in site.nginx.access_log.read_text()

    def test_without_a_signature_nothing_is_reached_and_nothing_is_written(self, site: Site) -> None:
        """moto itself would answer all of these."""
        browser, url = site.visitor(), f"{site.url}/{BUCKET}/"
        assert browser.get(url).status_code == 404
        assert browser.get(f"{url}?list-type=2").status_code == 404
        signed = signer(site).signed_url("previews/new.gif", seconds=60)
        assert browser.session.put(signed, data=b"GIF89a", timeout=180).status_code == 403
        assert browser.session.delete(signed, timeout=180).status_code == 403


def signer(site: Site) -> S3Media:
    """The storage as a web host has it whose S3_PUBLIC_URL is the site."""
    return S3Media(**site.storage_options(public_url=site.url))


class TestKill:
    """kill -9 in the middle of an import of many videos; the commands are the real ones."""

    MANY, KILLED_AT = 400, 100

    def test_an_import_that_is_killed_goes_on_and_stores_nothing_twice(self, site: Site, tmp_path: Path) -> None:
        rows = [[f"v{n:04}", 1, 2, f"Somebody walks {n}.", 60] for n in range(self.MANY)]
        words = import_of(tmp_path, "many", rows, b"no video")
        videos_folder = site.shared / "media" / "videos"
        before = set(videos_folder.glob("*"))
        command = [sys.executable, str(BASE_DIR / "manage.py"), *words]
        with (
            latch(site, "annotation_video", when="NEW.file > ''", passing=self.KILLED_AT) as closed,
            subprocess.Popen(command, env=site.web[0].environment(), stderr=subprocess.DEVNULL) as process,
        ):
            closed.await_somebody()
            process.kill()
            process.wait()
            closed.drop_waiting()
        try:
            first = dict(Video.objects.filter(corpus__name="many", file__gt="").values_list("name", "file"))
            assert 0 < len(first) <= self.KILLED_AT
            report = json.loads(site.manage(*words).splitlines()[-1])
            last = dict(Video.objects.filter(corpus__name="many").values_list("name", "file"))
            assert report["videos_with_file"] == self.MANY - len(first)
            assert first.items() <= last.items()
            assert len(set(last.values())) == self.MANY
            assert len(set(videos_folder.glob("*")) - before) - self.MANY in (0, 1)  # what was stored as it was killed
        finally:
            Moment.objects.filter(video__corpus__name="many").update(preview_state="failed", preview_error="a test")
