"""Pools of runs: by manage.py pool_runs, with run files and stored runs, and by their pages."""

import csv
import json
from collections.abc import Callable
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotation.models import Candidate, Moment, PoolEntry, Pooling
from core import clock
from core.models import Job
from judging.models import Batch, Release
from judging.work.services.batches import batch_create
from models_runner.models import FeatureSet, Run
from moment_retrieval import formats, records, tables
from moment_retrieval.features import FeatureWriter
from tests.annotation.corpora.importers.shared import DATA, needs_shared
from tests.conftest import Messages, hash_with
from tests.factories import CandidateFactory, MomentFactory, ProjectFactory, QueryFactory, VideoFactory, admin
from tests.judging.growing import Growing

pytestmark = pytest.mark.django_db


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


def pool(*words: object, project: str = "growing", **options: object) -> tuple[list[str], dict[str, int]]:
    """The lines it prints, the last one read."""
    out = StringIO()
    call_command("pool_runs", project, *map(str, words), stdout=out, **options)
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

    def test_new_moments_are_made_cut_and_judged(
        self, collection: Growing, tmp_path: Path, clip: bytes, settings: Settings
    ) -> None:
        folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
        settings.STORAGES = {**settings.STORAGES, "default": folder}
        video = collection.videos[0]
        video.file.save("alpha.mp4", ContentFile(clip))
        file = write_run(collection, tmp_path / "spans.json", [], predictions=[[video.index, 0.0, 2.5, 1.0]])
        _, counts = pool(file, new_moments=True)
        assert (counts["new"], counts["new_moments"], counts["unmatched"], counts["batches"]) == (1, 1, 0, 1)
        moment = Moment.objects.get(start_s=0.0, end_s=2.5)
        assert moment.preview_state == "ready" and moment.candidates.get().pooling == Pooling.objects.get()

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
        run = save_run(collection, [3, 4])
        with pytest.raises(CommandError, match=words):
            pool("xml", **options)
        assert not Pooling.objects.exclude(state="discarded").exists()
        _, counts = pool(run.uuid, depth=1, iou=1.0, split="val")
        assert counts["new"] == 1

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
    project = ProjectFactory(name="authors")
    first, other = (query.moments[0] for query in runs[0][:2])
    spans = {(m.video, m.start_s, m.end_s) for m in (first, other)}
    for video, start_s, end_s in sorted(spans):
        about = {
            "corpus": project.dataset.corpus,
            "name": video,
            "index": project.dataset.corpus.videos.count() + 30_000,
        }
        MomentFactory(video=VideoFactory(**about), start_s=start_s, end_s=end_s)
    for ranked in runs[0][:2]:
        query = QueryFactory(project=project, number=int(ranked.query_id), text=ranked.text)
        moment = MomentFactory(video__corpus=project.dataset.corpus, video__index=query.number)
        CandidateFactory(query=query, moment=moment)
        batch_create(query=query, number=1)
    lines, counts = pool(*files, project="authors", corpus=folder / "video_corpus.json", depth=40)
    assert "reloclnet_n40.val.json.gz: 498 queries are not among those pooled for" in lines
    top = {int(ranked.query_id) for ranked in runs[0][:2]}
    pooled = Candidate.objects.filter(source="pooled")
    assert counts["new"] == pooled.count() >= 2
    assert set(pooled.values_list("query__number", flat=True)) == top
    assert project.queries.count() == 2
    assert Moment.objects.filter(candidates__source="pooled").distinct().count() == len(spans)


Page = Callable[[str, object], str]


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> Growing:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        growing = Growing()
    growing.project.name = "growing"
    growing.project.save()
    return growing


@pytest.fixture
def collection(db: None, module_scenario: Growing) -> Growing:
    return deepcopy(module_scenario)


@pytest.fixture
def browser(client: Client, collection: Growing) -> Client:
    client.force_login(admin(collection.project))
    return client


def url(name: str, row: object) -> str:
    return reverse(f"pools:{name}", args=[row.uuid])  # type: ignore[attr-defined]


def form(*runs: object, **values: object) -> dict[str, object]:
    uuids = [run.uuid for run in runs]  # type: ignore[attr-defined]
    return {"runs": uuids, "depth": 20, "iou_min": "0.7", "which": "all", **values}


@pytest.fixture
def page(browser: Client) -> Callable[[str, object], str]:
    return lambda name, row: browser.get(url(name, row)).content.decode()


def test_from_the_choice_to_the_batches(browser: Client, page: Page, collection: Growing, messages: Messages) -> None:
    runs = [save_run(collection, [0, 3, 7], "xml"), save_run(collection, [7, 4], "conquer")]
    assert all(f"{run.system} on val, release 1" in page("pools", collection.project) for run in runs)
    with messages():
        answer = browser.post(url("pool-create", collection.project), form(*runs))
    pooling = Pooling.objects.get()
    assert answer.headers["Location"] == url("pool", pooling)
    assert "3 pairs of 1 query in 1 batch: at least 6 judgments" in page("pool", pooling)
    assert Batch.objects.count() == 1
    with messages():
        browser.post(url("pool-open", pooling))
    text = page("pool", pooling)
    assert "0 of 3" in text and "Open it?" not in text
    text = browser.get(reverse("judging:batch", args=[Batch.objects.get(number=3).uuid])).content.decode()
    assert '<span class="state">pooled</span>' in text
    assert "returned by conquer, release 1 at 1; xml, release 1 at 3" in text
    assert "not opened" not in page("pools", collection.project)
    answer = browser.post(url("pool-discard", pooling), follow=True)
    assert "its pairs are judged" in answer.content.decode()


@pytest.fixture
def pair(collection: Growing, tmp_path: Path) -> tuple[FeatureSet, FeatureSet]:
    """Features of alpha and of query 10, which asks for clips 20 to 26. Moment 3 has all of these, moment 4 one of its
    eight; nothing else has any, and beta has no features."""
    rows = {"video": {"alpha": [[0.0, 2.0]] * 20 + [[3.0, 0.0]] * 7 + [[0.0, 1.0]] * 7}, "query": {"10": [[5.0, 0.0]]}}
    return (save_features(collection, tmp_path, "video", rows), save_features(collection, tmp_path, "query", rows))


def save_features(collection: Growing, folder: Path, kind: str, rows: Any, **values: Any) -> FeatureSet:
    path = folder / f"{kind}-{FeatureSet.objects.count()}.h5"
    with FeatureWriter(path, width=2) as writer:
        for name, values_of_name in rows[kind].items():
            writer.add(name, np.array(values_of_name, np.float32))
    extractor = "image-model" if kind == "video" else "joint-text"
    facts = {"extractor": extractor, "model": "clip", "width": 2, "n_items": 1, "checksum": "x", "state": "done"}
    facts |= {"name": path.stem, "path": str(path), "finished_at": clock.now(), **values}
    return FeatureSet.objects.create(project=collection.project, kind=kind, **facts)


class TestFeatures:
    def test_moments_are_pooled_by_the_similarity_of_texts_and_videos(
        self, browser: Client, page: Page, collection: Growing, pair: tuple[FeatureSet, FeatureSet], messages: Messages
    ) -> None:
        videos, queries = pair
        assert f"{videos.name}, queries by {queries.name}" in page("pools", collection.project)
        with messages():
            browser.post(url("pool-create", collection.project), form(features=[videos.uuid], depth=2))
        pooling = Pooling.objects.get()
        ranks = PoolEntry.objects.order_by("rank").values_list("answer__source__name", "rank", "moment")
        source = f"similarity by {videos.name}"
        assert list(ranks) == [(source, 1, collection.moments[3].pk), (source, 2, collection.moments[4].pk)]
        assert source in page("pool", pooling)

    def test_beside_a_run_by_turns_and_by_the_command(
        self, collection: Growing, pair: tuple[FeatureSet, FeatureSet], tmp_path: Path
    ) -> None:
        file = write_run(collection, tmp_path / "conquer.json", [7, 8])
        _, counts = pool(file, features=[pair[0].name], depth=2, most=3, mixing="turns")
        assert (counts["new"], counts["pairs"]) == (4, 3)
        assert collection.indexes_of(Batch.objects.get(number=3)) == [7, 3, 8]
        with pytest.raises(CommandError, match="nothing are no features of videos"):
            pool(features=["nothing"])

    @pytest.mark.parametrize("values", [{"model": "siglip"}, {"state": "failed", "error": "x"}])
    def test_both_are_of_one_model_and_made(
        self, page: Page, collection: Growing, pair: tuple[FeatureSet, FeatureSet], values: dict[str, str]
    ) -> None:
        FeatureSet.objects.filter(pk=pair[1].pk).update(**values)
        text = page("pools", collection.project)
        assert pair[0].name not in text and "No run yet" in text

    def test_features_without_these_queries_say_so(
        self, browser: Client, page: Page, collection: Growing, pair: tuple[FeatureSet, FeatureSet], messages: Messages
    ) -> None:
        collection.query.number = 11
        collection.query.save()
        with messages():
            browser.post(url("pool-create", collection.project), form(features=[pair[0].uuid]))
        assert f"The features {pair[1].name} hold none of these queries" in page("pool", Pooling.objects.get())


def test_what_a_plan_says_until_it_is_discarded(page: Page, collection: Growing, browser: Client) -> None:
    collection.close()
    assert "1 of these queries is finished now" in page("pool", collection.plan(collection.rows("one", [3])))
    pooling = collection.plan(collection.rows("one", [0, 1]))
    text = page("pool", pooling)
    assert "nothing that is not a candidate already" in text and url("pool-open", pooling) not in text
    pooling = collection.plan(collection.rows("one", [3]))
    text = browser.post(url("pool-discard", pooling), follow=True).content.decode()
    assert "nothing was opened" in text and url("pool", pooling) not in text
    assert "discarded" in page("pool", pooling)
    answer = browser.post(url("pool-open", pooling))
    assert (answer.status_code, "no plan to open" in answer.content.decode()) == (409, True)


def test_empty_states(page: Page, collection: Growing) -> None:
    assert "No run yet" in page("pools", collection.project)
    collection.project.batches.all().first().pairs.all().delete()
    collection.project.batches.all().delete()
    assert "No query is being judged yet" in page("pools", collection.project)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"runs": []}, "Choose at least one run."),
        ({"runs": ["0b0f7f4e-0000-4000-8000-000000000000"]}, "One of the runs is gone."),
        ({"depth": 0}, "greater than or equal to 1"),
        ({"depth": 1001}, "less than or equal to 1000"),
        ({"iou_min": 1.5}, "less than or equal to 1"),
        ({"iou_min": "nan"}, "Enter a number."),
        ({"which": "set:nothing"}, "Choose which queries."),
    ],
)
def test_a_form_that_is_wrong(browser: Client, collection: Growing, values: dict[str, object], words: str) -> None:
    answer = browser.post(url("pool-create", collection.project), form(save_run(collection, [3]), **values))
    assert (answer.status_code, words in answer.content.decode()) == (422, True)
    assert not Pooling.objects.exists()


def test_a_run_that_cannot_be_read_and_a_split_without_a_batch_say_so(
    browser: Client, page: Page, collection: Growing, messages: Messages
) -> None:
    run = save_run(collection, [3])
    with messages():
        browser.post(url("pool-create", collection.project), form(run, which="split:test"))
    assert "has a batch yet" in page("pool", Pooling.objects.get())
    Pooling.objects.all().delete()
    with run.file.open("wb") as file:
        file.write(b"{}")
    with messages():
        browser.post(url("pool-create", collection.project), form(run))
    assert "xml on val: line 1 column 3: not JSON" in page("pool", Pooling.objects.get())


def test_an_opening_that_stopped_can_go_on(
    browser: Client, page: Page, collection: Growing, messages: Messages
) -> None:
    pooling = collection.plan(collection.rows("one", [3]))
    browser.post(url("pool-open", pooling))  # its message is lost
    Job.objects.update(state="failed", error="OSError: the disk is full")
    assert "the disk is full" in page("pool", pooling)
    with messages():
        browser.post(url("pool-open", pooling))
    assert "0 of 1" in page("pool", pooling)


def test_reports_as_csv(browser: Client, collection: Growing) -> None:
    collection.query.text = "=1+1"
    collection.query.save()
    pooling = collection.plan([*collection.rows("one", [0, 3]), *collection.rows("other", [3])])
    answer = browser.get(url("pool-csv", pooling))
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [(row["query_id"], row["query"], row["source"], row["moments"], row["new"]) for row in rows] == [
        *[("", "", "one", "2", "1"), ("", "", "other", "1", "1"), ("", "", "all runs", "2", "1")],
        *[("10", "'=1+1", "one", "2", "1"), ("10", "'=1+1", "other", "1", "1"), ("10", "'=1+1", "all runs", "2", "1")],
    ]
    answer = browser.get(url("pool-overlap-csv", pooling))
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [(row["source"], row["other"], row["both"]) for row in rows if row["source"] != row["other"]] == [
        *[("similarity", "one", "1"), ("similarity", "other", "0")],
        *[("one", "similarity", "1"), ("one", "other", "1")],
        *[("other", "similarity", "0"), ("other", "one", "1")],
    ]
