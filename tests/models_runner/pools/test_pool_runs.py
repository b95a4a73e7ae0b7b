"""manage.py pool_runs, with run files and stored runs."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command

from annotation.models import Candidate, Moment, Pooling, Query
from judging.models import Batch, Release
from judging.work.services.batches import batch_create
from models_runner.models import Run
from moment_retrieval import formats, records, tables
from tests.annotation.corpora.importers.shared import DATA, needs_shared
from tests.factories import CandidateFactory, MomentFactory, ProjectFactory, QueryFactory, VideoFactory
from tests.judging.growing import Growing

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Growing:
    growing = Growing()
    growing.project.name = "growing"
    growing.project.save()
    return growing


def write_run(growing: Growing, path: Path, indices: list[int], **values: object) -> Path:
    """A run for query 10 that returns these moments; videos are named by index."""
    rows = [[m.video.index, m.start_s, m.end_s, -rank] for rank, m in enumerate(growing.moments[p] for p in indices)]
    path.write_text(json.dumps([{"query_id": 10, "query": "x", "predictions": rows, **values}]))
    return path


def save_run(growing: Growing, indices: list[int], system: str = "xml") -> Run:
    release, _ = Release.objects.get_or_create(project=growing.project, version=1)
    run = Run(project=growing.project, release=release, system=system, split="val", state="scored")
    rows = [records.ScoredMoment(m.video.name, m.start_s, m.end_s, 1.0) for m in (growing.moments[p] for p in indices)]
    entries = [{"query_id": 10, "query": "x", "predictions": [[r.video, r.start_s, r.end_s, r.score] for r in rows]}]
    run.file.save("run.json", ContentFile(json.dumps(entries).encode()))
    return run


def pool(*words: object, **options: object) -> tuple[list[str], dict[str, int]]:
    """The lines it prints, the last one read."""
    out = StringIO()
    call_command("pool_runs", "growing", *map(str, words), stdout=out, **options)
    *lines, last = out.getvalue().splitlines()
    return lines, json.loads(last)


class TestCommand:
    def test_a_file_and_a_saved_run(self, collection: Growing, tmp_path: Path) -> None:
        file = write_run(collection, tmp_path / "conquer.json", [0, 3, 7])
        save_run(collection, [7, 4])
        lines, counts = pool(file, "xml")
        assert counts == {"queries": 1, "pairs": 3, "new": 3, "unmatched": 0, "batches": 1}
        assert [line.split() for line in lines] == [
            ["source", "spans", "unmatched", "moments", "known", "new", "alone"],
            ["conquer.json", "3", "0", "3", "1", "2", "1"],
            ["xml,", "release", "1", "2", "0", "2", "0", "2", "1"],
            ["all", "runs", "5", "0", "4", "1", "3", "2"],
        ]
        assert collection.indexes_of(Batch.objects.get(number=3)) == [7, 3, 4]
        assert Pooling.objects.get().state == "done"

    def test_a_dry_run_writes_its_report_and_nothing_else(self, collection: Growing, tmp_path: Path) -> None:
        file, report = write_run(collection, tmp_path / "conquer.json", [0, 3]), tmp_path / "report.csv"
        _, counts = pool(file, dry_run=True, report=report)
        assert counts["new"] == 1
        assert counts["batches"] == 0
        with report.open() as source:
            rows = list(csv.DictReader(source))
        assert [(row["query_id"], row["source"], row["in_similarity"], row["new"]) for row in rows] == [
            *[("", "conquer.json", "1", "1"), ("", "all runs", "1", "1")],
            *[("10", "conquer.json", "1", "1"), ("10", "all runs", "1", "1")],
        ]
        assert Pooling.objects.get().state == "discarded"
        assert Batch.objects.count() == 1

    def test_depth_threshold_and_a_saved_run_by_its_uuid(self, collection: Growing, tmp_path: Path) -> None:
        run = save_run(collection, [3, 4])
        _, counts = pool(run.uuid, depth=1, iou=1.0, split="val")
        assert counts["new"] == 1

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"depth": 0}, "from 1 to 1000"),
            ({"iou": 0.0}, "above 0"),
            ({"split": "test"}, "has a batch yet"),
            ({"query_set": "none"}, "no query set"),
        ],
    )
    def test_what_cannot_be(self, collection: Growing, options: dict[str, object], words: str) -> None:
        save_run(collection, [3])
        with pytest.raises(CommandError, match=words):
            pool("xml", **options)
        assert not Pooling.objects.exclude(state="discarded").exists()

    def test_what_is_no_run(self, collection: Growing, tmp_path: Path) -> None:
        file = write_run(collection, tmp_path / "run.json", [3], predictions=[[12345, 0.0, 1.0, 1.0]])
        for words, problem in (
            (["nothing"], "no file, and no stored run"),
            ([file], "no video with index 12345"),
            ([file, file], "given twice"),
        ):
            with pytest.raises(CommandError, match=problem):
                pool(*words)
        with pytest.raises(CommandError, match="no project named"):
            call_command("pool_runs", "elsewhere", str(file))
        assert not Pooling.objects.exclude(state="discarded").exists()


@needs_shared
def test_the_runs_of_the_authors(tmp_path: Path) -> None:
    """Two of their runs over the videos of TVR's validation set, which are a ninth of what they were searched in."""
    folder = DATA / "tvr_ranking"
    corpus = records.read_corpus(folder / "video_corpus.json")
    files = [folder / "runs" / f"{name}.val.json.gz" for name in ("reloclnet_n40", "xml_n40")]
    runs = [tables.queries_of(formats.read_run(file, corpus=corpus, strict=False)) for file in files]
    project = ProjectFactory(name="growing")
    first, other = (query.moments[0] for query in runs[0][:2])
    spans = {(m.video, m.start_s, m.end_s) for m in (first, other)}
    for video, start_s, end_s in sorted(spans):
        new_video = VideoFactory(
            corpus=project.dataset.corpus, name=video, index=len(project.dataset.corpus.videos.all()) + 30_000
        )
        MomentFactory(video=new_video, start_s=start_s, end_s=end_s)
    for ranked in runs[0][:2]:
        query = QueryFactory(project=project, number=int(ranked.query_id), text=ranked.text)
        CandidateFactory(
            query=query, moment=MomentFactory(video__corpus=project.dataset.corpus, video__index=query.number)
        )
        batch_create(query=query, number=1)
    lines, counts = pool(*files, corpus=folder / "video_corpus.json", depth=40)
    assert "reloclnet_n40.val.json.gz: 498 queries are not among those pooled for" in lines
    top = {int(ranked.query_id) for ranked in runs[0][:2]}
    pooled = Candidate.objects.filter(source="pooled")
    assert counts["new"] == pooled.count() >= 2
    assert set(pooled.values_list("query__number", flat=True)) == top
    assert Query.objects.count() == 2
    assert Moment.objects.filter(candidates__source="pooled").distinct().count() == len(spans)
