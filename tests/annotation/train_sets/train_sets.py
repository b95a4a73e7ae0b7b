"""A project with training queries, its training sets, and ways to interrupt their writing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from accounts.models import Project
from annotation.models import TrainSet
from annotation.train_sets import ranks
from annotation.train_sets.ranks import Parts
from annotation.train_sets.services import train_set_start, train_set_write
from core import jobs
from tests.factories import CaptionFactory, MomentFactory, QueryFactory

CAPTIONS = ["a man sings", "a woman sings", "two dogs bark", "a man barks"]
QUERIES = ["a man sings", "dogs", "a woman", "dogs", "rain", "a man sings", "a dog"]


def small_blocks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Blocks hold two queries, and progress is always written; says where the parts will lie."""
    monkeypatch.setattr(settings, "MOMENTJUDGE_VAR", folder)
    monkeypatch.setattr(ranks, "QUERIES", 2)
    monkeypatch.setattr(jobs, "EVERY_S", 0.0)
    return folder / "train_sets"


def filled(project: Project) -> Project:
    """Four moments, the first with two captions, and seven training queries among others."""
    for index, text in enumerate(CAPTIONS):
        moment = MomentFactory(video__corpus=project.dataset.corpus, video__name=f"video {index}", uncut=index == 2)
        CaptionFactory(moment=moment, text=text)
    CaptionFactory(moment=project.dataset.corpus.videos.get(name="video 0").moments.get(), text="somebody makes music")
    for number, text in enumerate(QUERIES):
        QueryFactory(project=project, number=70 - number, text=text, split="train")
    QueryFactory(project=project, number=71, split="val")
    return project


def write_train_set(project: Project, depth: int = 3) -> TrainSet:
    row = train_set_start(project=project, depth=depth, actor=None, wake=False)
    train_set_write(train_set_id=row.pk)
    row.refresh_from_db()
    return row


def content(row: TrainSet) -> tuple[bytes, bytes]:
    with row.json.open("rb") as one, row.parquet.open("rb") as other:
        return one.read(), other.read()


class Killed(BaseException):
    """Raised by tests to kill tasks."""


def killed_after(monkeypatch: pytest.MonkeyPatch, parts: int, how: Callable[[], None]) -> None:
    """Whoever writes parts is killed when that many are written."""
    write, count = Parts.write, [0]

    def count_and_write(self: Parts, *args: object) -> None:
        if count[0] == parts:
            how()
        count[0] += 1
        write(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Parts, "write", count_and_write)


def die() -> None:
    raise Killed


def stopped(project: Project, monkeypatch: pytest.MonkeyPatch, parts: int) -> TrainSet:
    """A set whose writing was killed when so many of its four parts were written."""
    row = train_set_start(project=project, depth=3, actor=None, wake=False)
    with monkeypatch.context() as patch:
        killed_after(patch, parts, die)
        with pytest.raises(Killed):
            train_set_write(train_set_id=row.pk)
    return row


def spy_on_ranking(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Grows by each block that is ranked and not read from its part."""
    calls: list[object] = []
    write = Parts.write

    def noted(self: Parts, *args: object) -> None:
        calls.append(args)
        write(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Parts, "write", noted)
    return calls
