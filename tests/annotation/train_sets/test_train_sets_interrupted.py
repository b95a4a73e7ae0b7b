"""Training sets whose writing is killed go on where they were; nothing is ranked twice, and nothing differs."""

import os
import signal
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone
from numpy.typing import NDArray

from accounts.models import Project
from annotation.models import Caption
from annotation.train_sets import services
from annotation.train_sets.services import TRAIN_SETS, train_set_start, train_set_write
from tests.annotation.train_sets.train_sets import (
    CAPTIONS,
    QUERIES,
    Killed,
    content,
    die,
    filled,
    killed_after,
    spy_on_ranking,
    stopped,
    write_train_set,
)
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.locks import locked_elsewhere
from tests.media import names_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


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

    def test_killed_while_embedding_it_embeds_the_rest(
        self, project: Project, encoder: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "CHUNK", 2)
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        with monkeypatch.context() as patch:
            calls, work = iter(range(3)), services.vectors_of

            def dying(texts: list[str], **values: Any) -> NDArray[np.float32]:
                if next(calls) == 2:
                    die()
                return work(texts, **values)

            patch.setattr(services, "vectors_of", dying)
            with pytest.raises(Killed):
                train_set_write(train_set_id=row.pk)
        train_set_write(train_set_id=row.pk)
        embedded = [text for texts in encoder for text in texts]
        assert sorted(embedded) == sorted({*CAPTIONS, *QUERIES, "somebody makes music"})
        row.refresh_from_db()
        assert row.state == "done"

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

    def test_a_second_worker_finds_it_taken(self, project: Project) -> None:
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        with locked_elsewhere(services.TRAIN_SETS.lock, row.pk):
            assert train_set_write(train_set_id=row.pk) is False
            row.refresh_from_db()
            assert row.state == "running"
        assert train_set_write(train_set_id=row.pk) is True
        assert train_set_write(train_set_id=row.pk) is False  # done

    def test_the_sweep_sends_what_does_not_move(self, project: Project, messages: Messages) -> None:
        row = train_set_start(project=project, depth=3, actor=None, wake=False)
        now = timezone.now()
        with messages():
            TRAIN_SETS.sweep(now)
        row.refresh_from_db()
        assert row.state == "running"
        with messages():
            TRAIN_SETS.sweep(now + timedelta(minutes=3))
        row.refresh_from_db()
        assert row.state == "done"

    def test_the_sweep_discards_folders_that_nobody_needs(self, project: Project, work: Path) -> None:
        needed = train_set_start(project=project, depth=3, actor=None, wake=False).uuid.hex
        for name in (needed, "0" * 32, "1" * 32):
            (work / name).mkdir(parents=True)
        for name in (needed, "0" * 32):
            os.utime(work / name, (0, 0))
        services.folders_sweep(timezone.now())
        assert {path.name for path in work.iterdir()} == {needed, "1" * 32}


@pytest.mark.django_db(transaction=True)
def test_a_process_killed_in_the_middle_loses_nothing(monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    """A real one, by SIGKILL; the next goes on with its blocks, and its files are those of an undisturbed one."""
    project = filled(ProjectFactory())
    undisturbed = content(write_train_set(project))
    row = train_set_start(project=project, depth=3, actor=None, wake=False)
    connection.close()
    with monkeypatch.context() as patch:
        killed_after(patch, 2, lambda: os.kill(os.getpid(), signal.SIGKILL))
        process = get_context("fork").Process(target=train_set_write, kwargs={"train_set_id": row.pk})
        process.start()
        process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(list(work.glob("*/parts/*.npy"))) == 2
    with connection.cursor() as cursor:  # the server takes a moment to see that its client is gone
        lock_key = [crc32(services.TRAIN_SETS.lock.encode()) - 2**31, row.pk]
        cursor.execute("SELECT pg_advisory_lock(%s, %s), pg_advisory_unlock(%s, %s)", [*lock_key, *lock_key])
    ranked = spy_on_ranking(monkeypatch)
    assert train_set_write(train_set_id=row.pk)
    row.refresh_from_db()
    assert (row.state, content(row)) == ("done", undisturbed)
    assert len(ranked) == 2
