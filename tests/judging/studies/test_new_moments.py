"""Pools that make moments of spans that fit none: planned, made when opened, cut, judged, and said in releases."""

import json
from pathlib import Path

import pytest
from django.core.files.base import ContentFile

from annotation.models import Moment, Pooling, PoolSpan
from annotation.pools.services.poolings import Returned
from annotation.previews.services import previews_sweep
from core.exceptions import NotPossible
from core.models import Job
from judging.imports.release import release_import
from judging.releases import layout
from judging.studies.selectors import pool_report
from judging.studies.services import pool_open
from tests.judging.growing import Growing
from tests.judging.imports.test_release_import import digests, step_aside, write_release
from tests.judging.play import judge_round

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
OPTIONS = {"iou_min": 0.5, "makes_moments": True}


@pytest.fixture
def growing() -> Growing:
    """Its videos are there, and what lies beyond 30 s is in no moment."""
    growing = Growing(moments=3)
    for video in growing.videos:
        video.duration_s = 60.0
        video.file.save(f"{video.name}.mp4", ContentFile(b"a video"))
    return growing


def span(source: str, rank: int, start_s: float, end_s: float, video: str = "alpha") -> Returned:
    return Returned(10, video, start_s, end_s, source, rank)


ROWS = [
    span("one", 1, 0, 11),  # is moment 0
    span("one", 2, 40, 50),
    span("one", 3, 55, 90),  # ends after its video
    span("two", 1, 41, 51),  # the best of those it overlaps
    span("two", 2, 13, 27),  # overlaps moments 1 and 2, less than enough
]


def cut(*, ready: bool = True) -> None:
    values = {"preview_state": "ready", "preview": "previews/none.gif"}
    values = values if ready else {"preview_state": "failed", "preview_error": "no"}
    Moment.objects.filter(preview_state="missing").update(**values)


def test_spans_become_moments_when_the_pool_is_opened(growing: Growing) -> None:
    plan = growing.plan(ROWS, **OPTIONS)
    report = pool_report(plan)
    assert (report.union.new, report.union.unmatched, report.union.in_similarity, report.batches) == (3, 0, 1, 1)
    assert report.overlaps[1].shared == [1, 3, 1]  # both returned one of them
    assert Moment.objects.count() == 6
    assert growing.open(plan) == []  # their clips are not cut yet
    job = Job.objects.get(kind=f"pool {plan.pk}")
    assert job.title == "Cutting previews of new moments: 3 are left" and previews_sweep() == 1
    spans = set(Moment.objects.filter(pool_spans__pooling=plan).values_list("video__name", "start_s", "end_s"))
    assert spans == {("alpha", 41.0, 51.0), ("alpha", 55.0, 60.0), ("alpha", 13.0, 27.0)}
    cut()
    assert pool_open(pooling_id=plan.pk) == 1 and pool_open(pooling_id=plan.pk) == 0
    pairs = growing.project.batches.get(number=3).pairs.order_by("candidate__rank")
    starts = [pair.candidate.moment.start_s for pair in pairs]
    assert starts == [41.0, 13.0, 55.0]
    plan.refresh_from_db()
    assert plan.state == Pooling.State.DONE
    assert pool_report(plan).union.new == 3


def test_no_moment_is_made_beyond_the_most_that_a_query_gets(growing: Growing) -> None:
    plan = growing.plan(ROWS, **OPTIONS, most=2)
    growing.open(plan)
    cut()
    assert pool_open(pooling_id=plan.pk) == 1
    spans = Moment.objects.filter(pool_spans__pooling=plan).order_by("start_s").values_list("start_s", "end_s")
    assert list(spans) == [(13.0, 27.0), (41.0, 51.0)]
    assert PoolSpan.objects.filter(pooling=plan).count() == 2
    assert set(plan.candidates.values_list("moment__start_s", flat=True)) == {13.0, 41.0}


def test_a_moment_of_another_pool_is_joined(growing: Growing) -> None:
    first, second = growing.plan(ROWS, **OPTIONS), growing.plan([span("three", 1, 42, 52)], **OPTIONS)
    growing.open(first)
    growing.open(second)
    row = PoolSpan.objects.get(pooling=second)
    assert (row.moment.start_s, row.is_new) == (41.0, False)  # type: ignore[union-attr]
    assert Moment.objects.count() == 9


def test_what_cannot_be_cut_is_left_out(growing: Growing) -> None:
    plan = growing.plan(ROWS, **OPTIONS)
    growing.open(plan)
    cut(ready=False)
    assert pool_open(pooling_id=plan.pk) == 0
    plan.refresh_from_db()
    assert plan.state == Pooling.State.DONE and not growing.project.batches.filter(number=3).exists()


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (span("two", 4, 60, 70), "two, query 10, rank 4: the span in alpha is refused: 60 to 70 s holds nothing"),
        (span("two", 5, 1, 2, "gamma"), "two, query 10, rank 5: the span in gamma is refused: the corpus has no such"),
    ],
)
def test_a_span_outside_refuses_the_whole_plan(growing: Growing, row: Returned, reason: str) -> None:
    with pytest.raises(NotPossible, match=reason):
        growing.plan([*ROWS, row], **OPTIONS)
    assert not PoolSpan.objects.exists()


def test_spans_of_videos_without_a_file_and_of_other_pools_become_nothing(growing: Growing) -> None:
    growing.videos[1].file.delete()
    unseen = growing.plan([*ROWS, span("two", 3, 40, 50, "beta")], **OPTIONS)
    counts = pool_report(unseen).union
    assert (counts.new, counts.without_preview, counts.unmatched) == (3, 1, 0)
    as_before = pool_report(growing.plan(ROWS, iou_min=0.5)).union
    assert (as_before.new, as_before.unmatched) == (0, 4)


def test_a_release_says_which_moments_came_so_and_comes_back(growing: Growing, tmp_path: Path) -> None:
    growing.close()
    plan = growing.plan(ROWS, **OPTIONS)
    growing.open(plan)
    cut()
    pool_open(pooling_id=plan.pk)
    judge_round(growing.project.batches.get(number=3), [3, 2, 1], [3, 2, 1])
    write_release(growing.project, tmp_path / "one")
    lines = [json.loads(line) for line in (tmp_path / "one" / layout.MOMENTS).read_text().splitlines()]
    assert [(line["start"], line["pool"]) for line in lines if "pool" in line] == [(41.0, 1), (13.0, 1), (55.0, 1)]
    assert "3 of the moments were made of spans" in (tmp_path / "one" / layout.DATASHEET).read_text()
    step_aside(growing.project)
    imported, _ = release_import(path=tmp_path / "one")
    write_release(imported, tmp_path / "two")
    assert digests(tmp_path / "two") == digests(tmp_path / "one")
