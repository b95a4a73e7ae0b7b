"""Stored files on the whole site: from nginx out of a folder, and from a double of object storage (moto's server)."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import requests
from django.core.files.storage import default_storage
from django.urls import reverse

from annotation.models import Candidate, Corpus, Moment, Video
from annotation.previews.services import preview_save
from core.embedded.services import BASE_DIR
from core.storage.bucket import S3Media
from judging.models import Batch, Release
from judging.work.services.batches import batch_create, batch_review
from tests import factories
from tests.production.faults.latch import latch
from tests.production.header_lines import lacking
from tests.production.topology import Site
from tests.production.topology.project import Scenario, always, judge_all, take
from tests.production.topology.site import eventually
from tests.production.topology.stores import BUCKET

MOMENTS = 4
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


class TestNginx:
    """A folder: Django looks at who asks, nginx sends."""

    def test_who_judges_gets_the_file_from_nginx_and_nothing_beside_it(self, site: Site) -> None:
        scenario = Scenario.make(annotators=2)
        moment = give_preview(scenario.batch(pairs=1).pairs.get().candidate.moment)
        person, other = (scenario.person(site, user) for user in scenario.annotators)
        take(person, scenario)
        url = reverse("judging:preview-clip", args=[moment.preview_uuid])
        whole, part = person.get(url), person.get(url, headers={"Range": "bytes=2-4"})
        assert (whole.status_code, whole.content) == (200, b"0123456789")
        assert (part.status_code, part.content, part.headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")
        for answer in (whole, part):
            assert answer.headers["Content-Type"] == "video/mp4"
            assert answer.headers["Cache-Control"] == "private, max-age=86400, immutable"
            assert lacking(answer) == []
            assert not {*TELLING} & {*answer.headers}, answer.headers
        assert person.get(url, headers={"Range": "bytes=10-"}).status_code == 416
        assert other.get(url).status_code == 404
        assert site.visitor().get(f"/protected/{moment.preview_clip.name}").status_code == 404

    def test_a_file_that_is_gone_is_not_found(self, site: Site) -> None:
        scenario = Scenario.make(annotators=1)
        moment = give_preview(scenario.batch(pairs=1).pairs.get().candidate.moment)
        person = scenario.person(site, scenario.annotators[0])
        take(person, scenario)
        default_storage.delete(str(moment.preview.name))
        assert person.get(reverse("judging:preview", args=[moment.preview_uuid])).status_code == 404


class TestStorageBehindNginx:
    """Signed addresses lead through the site's own nginx, as in compose.yaml; behind it is the double."""

    def test_a_signed_address_opens_its_file_and_reveals_no_time(self, site: Site) -> None:
        key = "previews/0f3c.mp4"
        site.storage.client().put_object(Bucket=BUCKET, Key=key, Body=b"0123456789", ContentType="video/mp4")
        url = signer(site).signed_url(key, seconds=60, ContentType="video/mp4", CacheControl="private, max-age=60")
        assert url.startswith(f"{site.url}/{BUCKET}/{key}?")
        browser = site.visitor()
        whole, part = browser.get(url), browser.get(url, headers={"Range": "bytes=2-4"})
        assert (whole.status_code, whole.content) == (200, b"0123456789")
        assert (part.status_code, part.content) == (206, b"234")
        for answer in (whole, part):
            assert answer.headers["Content-Type"] == "video/mp4"
            assert answer.headers["Cache-Control"] == "private, max-age=60"
            assert lacking(answer) == []
            assert not {*TELLING} & {*answer.headers}, answer.headers
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
    return S3Media(
        bucket_name=BUCKET,
        endpoint_url=site.storage.url,
        public_url=site.url,
        region_name="us-east-1",
        access_key=site.storage.key,
        secret_key=site.storage.secret,
        addressing="path",
    )


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


class TestBucket:
    """The whole way of a corpus with its files in object storage."""

    def test_from_the_import_of_videos_to_the_download_of_a_release(
        self, bucket: Site, tmp_path: Path, clip: bytes
    ) -> None:
        scenario = Scenario.make(annotators=2)
        corpus = self.imported(bucket, scenario, tmp_path, clip)
        eventually(lambda: Moment.objects.filter(video__corpus=corpus, preview_state="ready").count() == MOMENTS)
        batch = self.open_batch(scenario, corpus)
        self.watched(bucket, scenario, batch)
        for user in scenario.annotators:
            assert judge_all(scenario.person(bucket, user), scenario, always(4)) == MOMENTS
        eventually(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)
        self.released(bucket, scenario, batch)

    def imported(self, site: Site, scenario: Scenario, folder: Path, clip: bytes) -> Corpus:
        name = scenario.project.dataset.corpus.name
        rows = [["walk", n / 2, n / 2 + 1, f"Somebody walks {n}.", 4.0] for n in range(MOMENTS)]
        assert '"videos_with_file": 1' in site.manage(*import_of(folder, name, rows, clip))
        return Corpus.objects.get(name=name)

    def open_batch(self, scenario: Scenario, corpus: Corpus) -> Batch:
        query = factories.QueryFactory(project=scenario.project, split="val")
        for rank, moment in enumerate(Moment.objects.filter(video__corpus=corpus).order_by("-start_s"), start=1):
            factories.CandidateFactory(query=query, rank=rank, moment=moment, source=Candidate.Source.SIMILARITY)
        batch = batch_create(query=query, number=1)
        assert batch is not None
        return batch

    def watched(self, site: Site, scenario: Scenario, batch: Batch) -> None:
        """A picture is seen by who judges it, for a while, and by nobody else."""
        person = scenario.person(site, scenario.annotators[0])
        take(person, scenario)
        moment = Moment.objects.filter(candidates__query=batch.query).exclude(preview_clip="").first()
        assert moment is not None
        for name, kind in (("preview", "image/gif"), ("preview-clip", "video/mp4")):
            url = reverse(f"judging:{name}", args=[moment.preview_uuid])
            redirect = person.get(url, allow_redirects=False)
            assert (redirect.status_code, redirect.headers["Cache-Control"]) == (302, "private, max-age=90")
            assert urlsplit(redirect.headers["Location"]).netloc == urlsplit(site.storage.url).netloc
            download = requests.get(redirect.headers["Location"], headers={"Range": "bytes=0-2"}, timeout=180)
            assert (download.status_code, download.headers["Content-Type"], len(download.content)) == (206, kind, 3)
            assert "Content-Disposition" not in download.headers
            assert scenario.person(site, scenario.annotators[1]).get(url, allow_redirects=False).status_code == 404
        page = person.get(scenario.path("desk"))
        assert f"img-src 'self' data: {site.storage.url}" in page.headers["Content-Security-Policy"]

    def released(self, site: Site, scenario: Scenario, batch: Batch) -> None:
        batch.refresh_from_db()
        batch_review(batch=batch, extend=False, lead=scenario.lead)
        lead = scenario.person(site, scenario.lead)
        on_disk = set((site.shared / "media").glob("releases/*"))
        lead.post(reverse("judging:release-create", args=[scenario.project.uuid]))
        release = Release.objects.get(project=scenario.project)
        eventually(lambda: Release.objects.get(pk=release.pk).state == Release.State.READY)
        archive = lead.get(reverse("judging:release-download", args=[release.uuid])).content
        assert zipfile.ZipFile(io.BytesIO(archive)).testzip() is None
        assert set((site.shared / "media").glob("releases/*")) == on_disk
