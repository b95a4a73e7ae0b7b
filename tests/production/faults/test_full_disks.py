"""Disks run full: people are told, nothing half is offered, and with room again all goes on by itself."""

import json
import secrets
from pathlib import Path

import redis
from django.urls import reverse

from annotation.models import CorpusImport
from core.embedded.postgres import share_with
from judging.models import Judgment
from tests.config.answers.server import free_port, of_make_run, open_connection, serving
from tests.production.faults.background.acts import page_of, sweep
from tests.production.faults.background.test_previews import (
    ALL,
    CUT,
    PART,
    SWEEP,
    check_all_cut,
    check_whole,
    counts_shown,
    files_in_use,
    ready,
    to_cut,
)
from tests.production.faults.crowd import Crowd
from tests.production.faults.disks import small_disk
from tests.production.faults.latch import latch
from tests.production.faults.test_killed_while_a_release_is_built import ReleaseRequest, archives
from tests.production.topology import Site
from tests.production.topology.project import Scenario, grade_form, take
from tests.production.topology.site import eventually

FULL = "is full."
LINES = 20_000


def annotations() -> bytes:
    """A file of some megabytes."""
    rows = (
        {"desc_id": number, "desc": "Somebody opens a door.", "vid_name": f"v{number}", "ts": [1, 2], "type": "v"}
        for number in range(LINES)
    )
    return "".join(json.dumps(line | {"duration": 9}) + "\n" for line in rows).encode()


class TestMedia:
    """The disk of videos, previews, uploads and archives."""

    def test_an_upload_is_refused_in_words_and_what_was_typed_stays(self, site: Site) -> None:
        scenario = Scenario.make()
        lead = scenario.person(site, scenario.lead)
        form = {"corpus_name": "Typed with care", "source_split": "val", "format": "tvr"}
        path = reverse("annotation:import-new")
        with small_disk(site.shared / "media") as disk:
            disk.fill()
            answer = lead.post(path, form, files={"file": ("a.jsonl", annotations())})
            assert (answer.status_code, FULL in answer.text) == (507, True)
            assert "Typed with care" in answer.text and "Traceback" not in answer.text
            assert not CorpusImport.objects.filter(owner=scenario.lead).exists()
            assert files_below(disk.folder) == [disk.ballast]
            disk.make_room()
            answer = lead.post(path, form, files={"file": ("a.jsonl", annotations())})
            assert answer.status_code == 200 and "/imports/" in answer.url, answer.url
            row = CorpusImport.objects.get(owner=scenario.lead)
            eventually(lambda: CorpusImport.objects.get(pk=row.pk).state not in CorpusImport.AT_WORK)
            row.refresh_from_db()
            assert row.error == ""
            assert row.state == CorpusImport.State.CHECKED
            assert row.file.size == len(annotations())

    def test_a_release_waits_for_room_and_says_so(self, site: Site) -> None:
        release_request = ReleaseRequest(site)
        with small_disk(site.shared / "media") as disk:
            disk.fill()
            release_request.ask()
            page = reverse("judging:release", args=[release_request.release.uuid])
            eventually(lambda: FULL in release_request.lead.get(page).text)
            release_request.assert_not_offered()
            assert not archives()
            disk.make_room()
            release_request.await_ready()
            release_request.assert_whole(release_request.lead)
            assert FULL not in release_request.lead.get(page).text
            assert len(archives()) == 1

    def test_gifs_are_cut_on_when_there_is_room_and_none_is_half(self, site: Site, clip: bytes, tmp_path: Path) -> None:
        scenario = Scenario.make(annotators=0)
        corpus, lead = scenario.project.dataset.corpus, scenario.person(site, scenario.lead)
        with small_disk(site.shared / "media", megabytes=16) as disk:
            to_cut(corpus, clip)
            with latch(site, "annotation_moment", when=CUT, passing=PART) as closed:
                sweep(SWEEP)
                closed.await_somebody()
                before = refusals(site)
                disk.fill()
            eventually(lambda: refusals(site) > before)
            half = ready(corpus)
            assert len(half) < ALL
            check_whole(half, tmp_path)
            assert "failed" not in counts_shown(page_of(site, lead, "annotation:corpus", scenario.project.uuid))
            disk.make_room()
            sweep(SWEEP)
            eventually(lambda: len(ready(corpus)) == ALL)
            check_all_cut(site, scenario, lead, tmp_path)
            eventually(lambda: {path.name for path in (disk.folder / "previews").iterdir()} == files_in_use(corpus))


def refusals(site: Site) -> int:
    """How often workers have said that a disk is full."""
    return sum(worker.log_output().count(FULL) for worker in site.workers)


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_client_of_make_run_gets_an_error_and_with_room_again_all_goes_on(tmp_path: Path) -> None:
    """The disk on which it keeps large bodies until they are whole."""
    port = free_port()
    with small_disk(tmp_path / "receiving") as disk, serving(of_make_run(port), port, tmp_path):
        disk.fill()
        refused, small = open_connection(port), open_connection(port)
        head = b"POST /echo/ HTTP/1.1\r\nHost: testserver\r\nContent-Length: 300000\r\n\r\n"
        refused.socket.sendall(head + b"x" * 200_000)  # the answer comes before the end of the body
        answer = refused.read("POST")
        assert (answer.status, answer.closes, b"is full" in answer.body) == (507, True, True)
        assert small.ask("/echo/", "POST", body=b"fits into memory").status == 200
        disk.make_room()
        assert open_connection(port).ask("/echo/", "POST", body=b"x" * 300_000).status == 200
        assert list(disk.folder.iterdir()) == []


class TestDatabase:
    """The disk of PostgreSQL."""

    def test_a_grade_is_refused_in_words_and_the_same_form_is_taken_when_there_is_room(self, site: Site) -> None:
        scenario = Scenario.make(annotators=1)
        batch = scenario.batch(pairs=12)
        person = scenario.person(site, scenario.annotators[0])
        page = take(person, scenario)
        with small_disk(Path("/tmp") / f"tablespace-{scenario.project.uuid}") as disk:
            share_with(disk.folder, site.postgres.prefix, owner=True)
            move(site, "judging_judgment", str(disk.folder))
            try:
                disk.fill()
                for _ in range(12):  # what is left of the last page of the table takes a few
                    form, data = grade_form(page, 1)
                    data["comment"] = secrets.token_hex(900)
                    answer = person.post(form, data)
                    if answer.status_code != 200:
                        break
                    page = answer.text
                assert (answer.status_code, FULL in answer.text) == (507, True)
                before = Judgment.objects.filter(pair__batch=batch).count()
                disk.make_room()
                assert person.post(form, data).status_code == 200
                assert Judgment.objects.filter(pair__batch=batch).count() == before + 1
            finally:
                move_back(site, "judging_judgment")


def move(site: Site, table: str, folder: str) -> None:
    """Move a table to a small disk, without the empty pages that deleted rows have left: they would be filled."""
    with site.postgres.connect() as connection:
        connection.execute(f"VACUUM FULL {table}")
        connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        connection.execute(f"ALTER TABLE {table} SET TABLESPACE small")


def move_back(site: Site, table: str) -> None:
    with site.postgres.connect() as connection:
        connection.execute(f"ALTER TABLE {table} SET TABLESPACE pg_default")
        connection.execute("DROP TABLESPACE small")


class TestBroker:
    """The disk of Redis, which takes no message that it cannot write down (MISCONF)."""

    def test_people_judge_on_while_redis_refuses_every_message(self, site: Site) -> None:
        site.redis.stop()
        with small_disk(site.redis.folder) as disk:
            site.redis.start()
            try:
                with Crowd(site, batches=3) as crowd:
                    crowd.await_grades(5)
                    disk.fill()
                    eventually(lambda: refuses(site))
                    crowd.await_grades(25)
                    disk.make_room()
                    crowd.await_done(meanwhile=lambda: start_again(site))
            finally:
                site.redis.stop()
        assert not crowd.troubles
        crowd.check()


def start_again(site: Site) -> None:
    """A worker that its broker refuses ends; systemd and compose start it again, here we do."""
    for host in site.hosts:
        if not host.alive():
            host.start(wait=False)


def refuses(site: Site) -> bool:
    try:
        site.redis.client().set("filler", "x" * 2000)
    except redis.exceptions.ResponseError as error:
        return "MISCONF" in str(error)
    return False
