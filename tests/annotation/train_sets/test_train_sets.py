"""Ordering, writing, killing and discarding pseudo training sets."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Project
from annotation.models import Caption, TrainSet
from annotation.similarity.base import SimilarityMissing
from annotation.train_sets import services
from annotation.train_sets.ranks import Parts
from annotation.train_sets.services import train_pool_of, train_set_discard, train_set_start, train_set_write
from core.exceptions import NotPossible
from tests.annotation.train_sets.train_sets import (
    CAPTIONS,
    QUERIES,
    Killed,
    content,
    killed_after,
    spy_on_ranking,
    stopped,
    write_train_set,
)
from tests.conftest import Messages, hashed
from tests.factories import CaptionFactory, MeasureFactory, MomentFactory, ProjectFactory, QueryFactory, UserFactory
from tests.locks import locked_elsewhere
from tests.media import names_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


class TestWriting:
    def test_all_training_queries_by_number_with_their_best_moments(self, project: Project, work: Path) -> None:
        row = write_train_set(project)
        assert (row.state, row.error, row.queries, row.moments, row.rows) == ("done", "", 7, 4, 21)
        one, other = content(row)
        assert [sha256(one).hexdigest(), len(one)] == [row.json_sha256, row.json_bytes]
        assert [sha256(other).hexdigest(), len(other)] == [row.parquet_sha256, row.parquet_bytes]
        queries = json.loads(one)
        assert [query["query_id"] for query in queries] == list(range(64, 71))
        assert [query["query"] for query in queries] == QUERIES[::-1]
        best = queries[-1]["relevant_moment"]
        assert [moment["video_name"] for moment in best[:2]] == ["video 0", "video 3"]
        assert best[0] == {
            **{"pair_id": 19, "video_name": "video 0", "timestamp": [1.5, 4.25], "duration": 90.0},
            **{"caption": "a man sings", "similarity": 1.0},
        }
        similarity = float(hashed(["a man sings"])[0] @ hashed(["a man barks"])[0])
        assert best[1]["similarity"] == pytest.approx(similarity, abs=1e-6)
        assert [m["pair_id"] for query in queries for m in query["relevant_moment"]] == list(range(1, 22))
        assert list(work.iterdir()) == []

    def test_moments_without_preview_are_ranked_and_those_that_cannot_be_cut_are_not(self, project: Project) -> None:
        failed = MomentFactory(video__corpus=project.dataset.corpus, uncut=True)
        CaptionFactory(moment=failed, text="a man sings")
        type(failed).objects.filter(pk=failed.pk).update(preview_state="failed", preview_error="beyond the end")
        CaptionFactory(moment__video__corpus=project.dataset.corpus, state="in_review", failed=["name"])
        row = write_train_set(project, depth=1000)
        assert row.rows == 28  # more than there are gives all
        moments = [query["relevant_moment"] for query in json.loads(content(row)[0])]
        assert all({m["video_name"] for m in query} == {f"video {index}" for index in range(4)} for query in moments)

    def test_files_on_disk_are_moved_and_not_copied(
        self, project: Project, work: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "default_storage", FileSystemStorage(work.parent / "media"))
        monkeypatch.setattr(services, "_finish", spy := Spy(services._finish))
        row = write_train_set(project)
        paths = [work.parent / "media" / name for name in (row.json.name, row.parquet.name)]
        assert [sha256(path.read_bytes()).hexdigest() for path in paths] == [row.json_sha256, row.parquet_sha256]
        assert [path.stat().st_ino for path in paths] == spy.inodes

    def test_progress_is_reported(self, project: Project) -> None:
        row = train_set_start(project=project, depth=1, actor=None, wake=False)
        titles: list[str] = []
        train_set_write(train_set_id=row.pk, on_progress=titles.append)
        assert titles[:2] == ["Embedding captions: 5 of 5", "Ranking queries: 0 of 7"]
        assert titles[-2:] == ["Ranking queries: 6 of 7", "Ranking queries: 7 of 7"]

    def test_captions_are_embedded_before_queries(self, project: Project, encoder: list[list[str]]) -> None:
        write_train_set(project)
        assert sorted(encoder[0]) == sorted([*CAPTIONS, "somebody makes music"])
        write_train_set(project, depth=2)
        assert sum(len(texts) for texts in encoder) == len({*CAPTIONS, *QUERIES, "somebody makes music"})


class Spy:
    """``_finish``, and where on the disk the files lay before it."""

    def __init__(self, finish: Callable[..., None]) -> None:
        self.finish = finish

    def __call__(self, row: TrainSet, pool: object, folder: Path, *args: object) -> None:
        self.inodes = [(folder / form).stat().st_ino for form in ("json", "parquet")]
        self.finish(row, pool, folder, *args)


class TestStarting:
    def test_it_is_written_in_the_background_and_audited(self, project: Project, messages: Messages) -> None:
        lead = UserFactory()
        with messages():
            row = train_set_start(project=project, depth=2, actor=lead)
        row.refresh_from_db()
        assert (row.state, row.started_by, row.finished_at is not None) == ("done", lead, True)
        event = project.audit_events.get(action="train_set.start")
        assert (event.actor, event.subject, event.data["depth"]) == (lead, row.uuid, 2)
        rows = [train_set_start(project=project, depth=depth, actor=None, wake=False) for depth in (2, 2, 3)]
        assert row != rows[0] == rows[1] != rows[2]  # one at a time of each depth
        assert project.audit_events.filter(action="train_set.start").count() == 3

    def test_without_queries_or_captions_or_a_depth(self, project: Project) -> None:
        queryless = ProjectFactory(corpus=project.dataset.corpus)
        bare = QueryFactory(split="train").project
        for new_project, depth, words in (
            *((project, depth, "1 to 1,000,000") for depth in (0, -1, 1_000_001)),
            *((queryless, 1, "no training queries"), (bare, 1, "caption that serves")),
        ):
            with pytest.raises(NotPossible, match=words):
                train_set_start(project=new_project, depth=depth, actor=None)
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        project.queries.filter(split="train").delete()  # meanwhile
        train_set_write(train_set_id=row.pk)
        row.refresh_from_db()
        assert "any more" in row.error


class TestFailing:
    def test_it_says_why_and_goes_on_when_started_again(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def missing(self: Parts, *args: object) -> None:
            raise SimilarityMissing("The model 'm' cannot be loaded.")

        with monkeypatch.context() as patch:
            patch.setattr(Parts, "write", missing)
            row = write_train_set(project)
        assert (row.state, row.error) == ("failed", "The model 'm' cannot be loaded.")
        again = write_train_set(project)
        assert (again.pk, again.state, again.error) == (row.pk, "done", "")

    def test_a_row_may_take_400_bytes(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        def write(free: int) -> tuple[str, str]:
            monkeypatch.setattr(services.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
            row = write_train_set(project)
            return row.state, row.error

        full = "21 rows may take 0.0 GB, and 0.0 GB are free in the data folder."
        assert write(21 * 400 - 1) == ("failed", full)
        assert write(21 * 400) == ("done", "")

    def test_what_nobody_foresaw_is_saved_and_raised(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Parts, "read", lambda *args: 1 / 0)
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        with pytest.raises(ZeroDivisionError):
            train_set_write(train_set_id=row.pk)
        row.refresh_from_db()
        assert row.error == "ZeroDivisionError: division by zero"


class TestDiscarding:
    def test_row_and_files_go(self, project: Project, messages: Messages) -> None:
        row, lead = write_train_set(project), UserFactory()
        with messages():
            train_set_discard(train_set=TrainSet.objects.get(), actor=lead)
        assert not TrainSet.objects.exists()
        assert not default_storage.exists(row.json.name)
        assert not default_storage.exists(row.parquet.name)
        event = project.audit_events.get(action="train_set.discard")
        assert (event.actor, event.subject, event.data) == (lead, row.uuid, {"depth": 3, "state": "done"})
        with pytest.raises(NotPossible, match="already"):
            train_set_discard(train_set=row, actor=None)

    @pytest.mark.parametrize("stage", ["ranking", "finishing"])
    def test_while_it_is_written(
        self, project: Project, stage: str, monkeypatch: pytest.MonkeyPatch, work: Path, messages: Messages
    ) -> None:
        row = train_set_start(project=project, depth=3, actor=None, wake=False)

        def discarded() -> None:
            with messages():
                train_set_discard(train_set=row, actor=None)

        if stage == "ranking":
            killed_after(monkeypatch, 2, discarded)
        else:
            store = services._store
            monkeypatch.setattr(services, "_store", lambda *args: (discarded_once(discarded), store(*args))[1])
        train_set_write(train_set_id=row.pk)
        assert not TrainSet.objects.exists()
        assert list(work.iterdir()) == []
        assert not [name for name in names_in("train_sets") if row.uuid.hex in name]


def discarded_once(discard: Callable[[], None]) -> None:
    if TrainSet.objects.exists():
        discard()


class TestCommand:
    def test_files_into_a_folder(self, project: Project, tmp_path: Path) -> None:
        out, err = StringIO(), StringIO()
        arguments = {"depth": 2, "out": tmp_path / "sets" / "new"}
        call_command("write_train_set", project.name, **arguments, stdout=out, stderr=err)
        facts, row = json.loads(out.getvalue().splitlines()[-1]), TrainSet.objects.get()
        assert (facts["rows"], facts["json"]["sha256"]) == (14, row.json_sha256)
        files = sorted(arguments["out"].iterdir())
        assert [file.name for file in files] == ["train_top02.json", "train_top02.parquet"]
        assert tuple(file.read_bytes() for file in files) == content(row)
        assert "Ranking queries: 7 of 7" in err.getvalue()

    def test_after_ctrl_c_the_same_command_goes_on(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        def ctrl_c() -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            killed_after(patch, 2, ctrl_c)
            with pytest.raises(CommandError, match="goes on"):
                call_command("write_train_set", project.name, stderr=StringIO())
        ranked = spy_on_ranking(monkeypatch)
        call_command("write_train_set", project.name, stdout=StringIO(), stderr=StringIO())
        assert len(ranked) == 2
        assert TrainSet.objects.get().state == "done"

    def test_refusals(self, project: Project, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(CommandError, match=f"there are: '{project.name}'"):
            call_command("write_train_set", "unknown")
        with pytest.raises(CommandError, match="cannot be written"):
            call_command("write_train_set", project.name, out=tmp_path / "file" / "below")
        with pytest.raises(CommandError, match="1 to 1,000,000"):
            call_command("write_train_set", project.name, depth=0)
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        with locked_elsewhere(services.TRAIN_SETS.lock, row.pk), pytest.raises(CommandError, match="Another process"):
            call_command("write_train_set", project.name, depth=3)


def test_a_pool_says_all_it_was_read_from(project: Project) -> None:
    """Whatever a row of the files could tell of captions, moments and videos changes what parts are made of."""

    def made_of(depth: int = 3, version: str = "1") -> bytes:
        measure = MeasureFactory(name="m", version=version)
        return train_pool_of(project=project, measure=measure).made_of(depth)

    keys = [made_of(), made_of(depth=4), made_of(version="2")]
    moment = Caption.objects.get(text="a man sings").moment
    for change in (
        lambda: type(moment).objects.filter(pk=moment.pk).update(start_s=1.25),
        lambda: type(moment.video).objects.filter(pk=moment.video_id).update(duration_s=91),
        lambda: type(moment.video).objects.filter(pk=moment.video_id).update(name="renamed"),
        lambda: Caption.objects.filter(text="somebody makes music").update(text="music"),
        lambda: CaptionFactory(moment=moment),
    ):
        change()
        keys.append(made_of())
    assert len(set(keys)) == len(keys)
    assert made_of() == keys[-1]


class TestInterrupted:
    @pytest.mark.parametrize("parts", range(4))
    def test_killed_at_any_block_it_goes_on_there(
        self, project: Project, parts: int, monkeypatch: pytest.MonkeyPatch, work: Path
    ) -> None:
        undisturbed = content(write_train_set(project))
        row = stopped(project, monkeypatch, parts)
        row.refresh_from_db()
        assert row.state == "running"
        assert len(list(work.glob("*/parts/*.npy"))) == parts
        ranked = spy_on_ranking(monkeypatch)
        train_set_write(train_set_id=row.pk)
        row.refresh_from_db()
        assert content(row) == undisturbed
        assert len(ranked) == 4 - parts
        assert row.warning == ""

    @pytest.mark.parametrize("step", ["_store", "_finish"])
    def test_killed_while_its_files_are_saved(
        self, project: Project, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the first file is stored, or before any is; nothing is stored twice."""
        undisturbed = content(write_train_set(project))
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        real = getattr(services, step)

        def killed(*args: object) -> None:
            if step == "_store":
                real(*args)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(services, step, killed)
            with pytest.raises(Killed):
                train_set_write(train_set_id=row.pk)
        train_set_write(train_set_id=row.pk)
        row.refresh_from_db()
        assert content(row) == undisturbed
        assert len([name for name in names_in("train_sets") if row.uuid.hex in name]) == 2

    def test_changed_captions_start_it_over_and_it_says_so(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = stopped(project, monkeypatch, 3)
        Caption.objects.filter(text="two dogs bark").update(text="two cats purr")
        ranked = spy_on_ranking(monkeypatch)
        train_set_write(train_set_id=row.pk)
        row.refresh_from_db()
        assert len(ranked) == 4
        assert "was ranked anew" in row.warning
        assert content(row) == content(write_train_set(project))
        assert b"two cats purr" in content(row)[0]

    def test_the_sweep_discards_folders_that_nobody_needs(self, project: Project, work: Path) -> None:
        needed = train_set_start(project=project, depth=3, actor=None, wake=False).uuid.hex
        for name in (needed, "0" * 32, "1" * 32):
            (work / name).mkdir(parents=True)
        for name in (needed, "0" * 32):
            os.utime(work / name, (0, 0))
        services.folders_sweep(timezone.now())
        assert {path.name for path in work.iterdir()} == {needed, "1" * 32}
