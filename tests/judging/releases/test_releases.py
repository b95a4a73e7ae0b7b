"""The files of a release: exact contents, and that nothing unfinished or personal is in them."""

import json
from copy import deepcopy
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Project
from annotation.models import Caption, Moment, Query, Video
from annotation.pools.services.candidates import candidates_rank
from annotation.queries.services import queries_draw
from judging.exceptions import NotPossibleNow
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from judging.projects.services import query_set_change, query_set_create
from judging.releases import files
from judging.releases.documents import counts_of, manifest_facts
from judging.releases.selectors import described_in_train, finished_queries, scope_of
from judging.releases.services import release_build, release_create
from moment_retrieval import formats, records, tables
from moment_retrieval.formats import trec
from tests.conftest import Messages
from tests.factories import (
    NOW,
    BatchFactory,
    CandidateFactory,
    CaptionFactory,
    CorpusFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    triggers_asleep,
)
from tests.judging.growing import Growing
from tests.judging.play import judge_round
from tests.judging.scenario import HandMade

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> HandMade:
    return HandMade()


@pytest.fixture
def hand_made(db: None, module_scenario: HandMade) -> HandMade:
    return deepcopy(module_scenario)


@pytest.fixture
def folder(hand_made: HandMade, tmp_path: Path) -> Path:
    """The files of the hand-made project's first release."""
    files_of(Release.objects.create(project=hand_made.project, version=1), tmp_path / "out")
    return tmp_path / "out"


def files_of(release: Release, folder: Path) -> dict[str, Any]:
    return files.write_files(release, scope_of(release), folder)


def facts_of(release: Release) -> dict[str, Any]:
    scope = scope_of(release)
    return manifest_facts(release, scope, counts_of(scope))


def pair_ids(scenario: HandMade, number: int) -> list[int]:
    pairs = Pair.objects.filter(batch__query__project=scenario.project, batch__query__number=number)
    return list(pairs.order_by("candidate__rank").values_list("pk", flat=True))


def test_judged_queries(folder: Path, hand_made: HandMade) -> None:
    one, two, _ = pair_ids(hand_made, 10)
    names = ("pair_id", "video_name", "timestamp", "duration", "caption", "similarity", "relevance")
    rows = [
        (one, "alpha", [1.0, 2.5], 60.5, "caption 0", 0.99, 4),
        (two, "alpha", [10.0, 20.25], 60.5, "caption 1", 0.98, 2),
    ]
    moments = [dict(zip(names, row, strict=True)) for row in rows]
    assert json.loads((folder / "val.json").read_text()) == [
        {"query_id": 10, "query": "a person sings", "relevant_moment": moments},
        {"query_id": 11, "query": "a person sings", "relevant_moment": moments},  # its twin shares them
    ]
    (query,) = json.loads((folder / "test.json").read_text())
    assert (query["query_id"], query["query"]) == (20, "a dog barks")
    assert [(m["video_name"], m["timestamp"], m["similarity"], m["relevance"]) for m in query["relevant_moment"]] == [
        ("beta", [3.0, 30.0], 0.99, 1),
        ("alpha", [1.0, 2.5], 0.79, 0),
    ]


def test_a_caption_in_review_is_in_no_file(hand_made: HandMade, tmp_path: Path) -> None:
    moment = Pair.objects.get(pk=pair_ids(hand_made, 10)[0]).candidate.moment
    doubtful = moment.captions.order_by("pk").first()
    Caption.objects.filter(pk=doubtful.pk).update(state=Caption.State.IN_REVIEW, failed=[Caption.Check.NAME])
    files_of(Release.objects.create(project=hand_made.project, version=1), tmp_path)
    [*_, first] = [m for query in json.loads((tmp_path / "val.json").read_text()) for m in query["relevant_moment"][:1]]
    assert first["caption"] == "a later caption"


def test_two_videos_never_have_one_name_in_qrels() -> None:
    names = ["a b", "a_b", "a%20b", "a\u2028b", "é:1-2"]
    moments = [Moment(video=Video(name=name), start_s=1.0, end_s=2.5) for name in names]
    moment_names = [files.moment_name(moment) for moment in moments]
    assert moment_names[:3] == ["a%20b:1.0-2.5", "a_b:1.0-2.5", "a%2520b:1.0-2.5"]
    assert all(len(name.split()) == 1 for name in moment_names)
    assert [trec.parsed(name) for name in moment_names] == [(name, 1.0, 2.5) for name in names]


POOL_LINES = [  # 11 is a twin of 10; a pair that was dropped has no relevance
    *(
        f"{number} 0 {line}"
        for number in (10, 11)
        for line in ("alpha:1.0-2.5 batch-1 4", "alpha:10.0-20.25 batch-1 2", "beta:0.0-3.0 batch-1 -1")
    ),
    *("20 0 beta:3.0-30.0 batch-1 1", "20 0 alpha:1.0-2.5 batch-2 0"),
]


def test_pairs_qrels_and_grades(folder: Path, hand_made: HandMade) -> None:
    one, two, three = pair_ids(hand_made, 10)
    first, second = pair_ids(hand_made, 20)
    assert (folder / "pairs.csv").read_text().splitlines() == [
        "pair_id,query_id,query,video_name,start,end,rank,similarity,batch,state,relevance,reason,source,returned_by",
        f"{one},10,a person sings,alpha,1.0,2.5,1,0.99,1,settled,4,,similarity,",
        f"{two},10,a person sings,alpha,10.0,20.25,2,0.98,1,settled,2,,similarity,",
        f"{three},10,a person sings,beta,0.0,3.0,3,0.97,1,dropped,,no_consensus,similarity,",
        f"{first},20,a dog barks,beta,3.0,30.0,1,0.99,1,settled,1,,similarity,",
        f"{second},20,a dog barks,alpha,1.0,2.5,21,0.79,2,settled,0,,similarity,",
    ]
    assert (folder / "qrels.txt").read_text().splitlines() == [
        *("10 0 alpha:1.0-2.5 4", "10 0 alpha:10.0-20.25 2", "20 0 beta:3.0-30.0 1", "20 0 alpha:1.0-2.5 0")
    ]
    assert (folder / "pool.txt").read_text().splitlines() == POOL_LINES
    assert (folder / "raw_annotation.csv").read_text().splitlines() == [
        "pair_id,worker,relevance",
        *(f"{one},101,4", f"{one},102,3"),
        *(f"{two},101,0", f"{two},102,2", f"{two},103,3", f"{two},104,2"),
        *(f"{three},101,0", f"{three},102,4", f"{three},103,4", f"{three},104,0"),
        *(f"{first},101,1", f"{first},102,1", f"{second},103,0", f"{second},104,0"),
    ]


def test_files_by_name_and_no_name_of_anybody_in_them(folder: Path, hand_made: HandMade) -> None:
    contents = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(contents) == {
        *("README.md", "SHA256SUMS", "batches.csv", "candidates.csv", "croissant.json", "datasheet.md"),
        *("guideline-v1.md", "judgments.csv", "manifest.json", "missing.csv", "moments.jsonl", "pairs.csv"),
        *(
            "pool_answers.csv",
            "pool_entries.csv",
            "pool.txt",
            "qrels.txt",
            "queries.csv",
            "raw_annotation.csv",
            "settings.json",
        ),
        *("test.json", "train_top01.json", "train_top20.json", "train_top40.json", "val.json"),
        *("video_corpus.json", "videos.csv"),
    }
    for user in [*hand_made.people, hand_made.lead]:
        assert not any(user.username in text or str(user.uuid) in text for text in contents.values())
    assert json.loads(contents["video_corpus.json"]) == {"alpha": [60.5, 5], "beta": [30.0, 2]}
    assert records.read_corpus(folder / "video_corpus.json").name_of(2) == "beta"
    val = formats.read_ground_truth(folder / "val.json")  # as the scorer does
    assert {query: [m.relevance for m in moments] for query, moments in val.items()} == {"10": [4, 2], "11": [4, 2]}
    test = tables.queries_of(formats.read_ground_truth(folder / "test.json"))
    moments = [(m.video, m.start_s, m.end_s, m.relevance) for m in test[0].moments]
    assert moments == [("beta", 3.0, 30.0, 1), ("alpha", 1.0, 2.5, 0)]


def test_training_sets(folder: Path) -> None:
    """Each training query's own caption is its best moment; a set of depth N is the head of a deeper one."""
    texts = {n: (folder / f"train_top{n:02d}.json").read_text() for n in (1, 20, 40)}
    sets = {n: json.loads(text) for n, text in texts.items()}
    for n, queries in sets.items():
        assert texts[n] == json.dumps(queries, ensure_ascii=False, indent=1) + "\n"  # as all other files
        assert [query["query_id"] for query in queries] == [40, 41]
        assert [len(query["relevant_moment"]) for query in queries] == [min(n, 4)] * 2
    best = [query["relevant_moment"][0] for query in sets[1]]
    assert [(m["video_name"], m["timestamp"], m["similarity"]) for m in best] == [
        ("alpha", [1.0, 2.5], 1.0),
        ("alpha", [10.0, 20.25], 1.0),
    ]
    assert "relevance" not in best[0]
    ids = [m["pair_id"] for query in sets[40] for m in query["relevant_moment"]]
    assert len(set(ids)) == len(ids)
    judged = [int(line.split(",")[0]) for line in (folder / "pairs.csv").read_text().splitlines()[1:]]
    assert min(ids) > max(judged)
    assert [q["relevant_moment"][:1] for q in sets[40]] == [q["relevant_moment"] for q in sets[1]]


def test_training_sets_hold_captions_and_never_descriptions(tmp_path: Path) -> None:
    """Queries are drawn from captions, too; what a caption failed to say without names serves nowhere."""
    project = ProjectFactory(corpus=CorpusFactory())
    for index in range(3):
        moment = MomentFactory(video__corpus=project.dataset.corpus)
        CaptionFactory(moment=moment, provider="rules", description__text=f"Ross reads letter {index} to Rachel.")
    CaptionFactory(
        moment=moment, provider="rules", state="in_review", failed=["name"], text="Ross reads it.",
        description__text="Ross reads the last letter to Rachel.",
    )  # fmt: skip
    queries_draw(project=project, sizes={"val": 1}, seed=1)
    files_of(Release.objects.create(project=project, version=1), tmp_path)
    for n in (1, 20, 40):
        text = (tmp_path / f"train_top{n:02d}.json").read_text()
        assert text.count('"query"') == 2 and "A man reads letter" in text
        assert "Ross" not in text and "Rachel" not in text


def test_a_query_drawn_before_its_caption_was_rewritten_stays_a_description() -> None:
    query = QueryFactory(split="train", caption=CaptionFactory(text="Rachel sings", provider="as-described"))
    caption, project = query.caption, query.project
    query.text = caption.description.text = caption.text
    caption.description.save()
    query.save()
    assert described_in_train(project)["train_queries_as_described"] == 1
    caption.text, caption.provider = "a woman sings", "rules"
    caption.save()
    assert described_in_train(project)["train_queries_as_described"] == 1
    query.text = caption.text
    query.save()
    assert described_in_train(project)["train_queries_as_described"] == 0


def test_training_sets_of_a_project_without_moments_are_empty(tmp_path: Path) -> None:
    release = Release.objects.create(project=QueryFactory(split="train").project, version=1)
    files_of(release, tmp_path)
    assert (tmp_path / "train_top20.json").read_text() == "[]\n"


def test_grades_of_an_open_assignment_are_left_out(hand_made: HandMade, tmp_path: Path) -> None:
    """Even where a query counts as finished, a grade that may still change is not published."""
    last = Assignment.objects.filter(batch=hand_made.first, round=2, annotator=hand_made.people[3])
    with triggers_asleep():
        last.update(state="open", ended_at=None)
    release = Release.objects.create(project=hand_made.project, version=1)
    files_of(release, tmp_path)
    lines = (tmp_path / "raw_annotation.csv").read_text().splitlines()
    _, two, three = pair_ids(hand_made, 10)
    assert f"{two},103,3" in lines
    assert f"{two},104,2" not in lines
    assert f"{three},104,0" not in lines
    assert facts_of(release)["counts"]["judgments"] == 12


class TestPools:
    @pytest.fixture
    def grown(self) -> Growing:
        """Query 10 is closed with two pairs of relevance 2; a run brought one pair of relevance 3."""
        scenario = Growing()
        scenario.close()
        (batch,) = scenario.open(scenario.plan(scenario.rows("xml", [1, 3]), depth=5))
        judge_round(batch, [3], [3])
        return scenario

    def test_a_pooled_pair_has_no_similarity_and_names_its_runs(self, grown: Growing, tmp_path: Path) -> None:
        release = Release.objects.create(project=grown.project, version=1)
        files_of(release, tmp_path)
        query = tables.queries_of(formats.read_ground_truth(tmp_path / "val.json"))[0]
        assert [(m.start_s, m.similarity, m.relevance) for m in query.moments] == [
            *[(0.0, 0.977654, 2), (10.0, 0.967654, 2)],
            (30.0, None, 3),
        ]
        rows = [line.split(",")[6:] for line in (tmp_path / "pairs.csv").read_text().splitlines()[1:]]
        assert rows == [
            ["1", "0.977654", "1", "settled", "2", "", "similarity", ""],
            ["2", "0.967654", "1", "settled", "2", "", "similarity", "xml: 1"],
            ["3", "", "3", "settled", "3", "", "pooled", "xml: 2"],
        ]
        (pool,) = facts_of(release)["pools"]
        assert pool.pop("opened_at")
        assert pool == {"sources": ["xml"], "depth": 5, "iou_min": 0.7, "pairs": 1}

    def test_a_query_with_an_open_pooled_batch_is_left_out_and_counted(self, grown: Growing) -> None:
        grown.open(grown.plan(grown.rows("other", [4])))
        facts = facts_of(Release.objects.create(project=grown.project, version=1))
        assert facts["pools"] == []
        assert (facts["counts"]["queries"], facts["counts"]["queries_unfinished"]) == (0, 1)


def test_the_manifest_counts_captions_edited_since(hand_made: HandMade, encoder: object) -> None:
    """Of released queries: a caption that two candidates were ranked by, and the caption of the query's twin."""
    spare = QueryFactory(project=hand_made.project, number=50, split="val")
    candidates_rank(project_id=hand_made.project.pk)
    ranked = spare.candidates.get(moment=hand_made.moments[0])
    with triggers_asleep():
        hand_made.val.candidates.update(wordings=ranked.wordings)
    own = CaptionFactory(text="a person sings")
    Query.objects.filter(number=11).update(caption=own)
    release = Release.objects.create(project=hand_made.project, version=1)
    assert edited(release) == (0, 0)
    Caption.objects.filter(pk=own.pk).update(text="somebody sings")
    Caption.objects.filter(text="a later caption").update(text="an edited caption")
    assert edited(release) == (1, 1)


def edited(release: Release) -> tuple[int, int]:
    counts = facts_of(release)["counts"]
    return counts["captions_edited"], counts["query_captions_edited"]


def test_a_query_is_finished_when_nothing_that_can_be_shown_is_left(hand_made: HandMade) -> None:
    numbers = finished_queries(hand_made.project.pk).distinct().values_list("number", flat=True)
    assert sorted(numbers) == [10, 20]
    batch = BatchFactory()
    query = batch.query

    def is_finished() -> bool:
        return list(finished_queries(batch.project_id).distinct()) == [query]

    assert not is_finished()
    Batch.objects.filter(pk=batch.pk).update(state="done", done_at=NOW)
    review(batch, "extend")
    assert is_finished()  # nothing is beyond the first batch
    moment = MomentFactory(preview_state="failed", preview="", preview_error="black")
    candidate = CandidateFactory(query=query, rank=22, moment=moment)
    assert is_finished()
    Moment.objects.filter(pk=moment.pk).update(preview_state="missing", preview_error="")
    assert not is_finished()
    with triggers_asleep():
        candidate.delete()
    assert is_finished()
    CandidateFactory(query=query, rank=21)
    assert not is_finished()
    first = BatchFactory(state="done")
    BatchFactory(query=first.query, number=2)
    review(first, "extend")
    assert not finished_queries(first.project_id).exists()


def review(batch: Batch, decision: str) -> None:
    BatchReview.objects.create(batch=batch, decision=decision, suggestion=decision)


class TestBuild:
    def test_archive_and_manifest(self, hand_made: HandMade, messages: Messages) -> None:
        with messages():
            versions = [release_create(project=hand_made.project, actor=hand_made.lead).version for _ in range(2)]
        events = hand_made.project.audit_events.filter(action="release.create")
        assert [(event.actor, event.data["version"]) for event in events] == [(hand_made.lead, 2), (hand_made.lead, 1)]
        release = Release.objects.latest("version")
        assert (versions, release.state) == ([1, 2], Release.State.READY)
        assert release_build(release_id=release.pk).archive.name == release.archive.name
        with release.archive.open("rb") as source, ZipFile(BytesIO(source.read())) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            for name, file in manifest["files"].items():
                content = archive.read(name)
                assert (len(content), sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
            assert archive.namelist() == sorted({*manifest["files"], "manifest.json", "SHA256SUMS"})
        assert manifest == release.manifest
        assert manifest["project"] == "hand made"
        assert not {"release", "created_at", "state_at"} & set(manifest)
        assert manifest["counts"] == {
            **{"queries": 2, "twins": 1, "queries_unfinished": 2, "queries_pilot": 0},
            "missing": {"being_judged": 1, "awaits_decision": 1},
            "pairs": {"settled": 4, "dropped": 1},
            "relevance": {"0": 1, "1": 1, "2": 1, "4": 1},
            **{"judgments": 14, "simulated_judgments": 0, "annotators": 4, "videos": 2, "moments": 4},
            **{"captions_edited": 0, "query_captions_edited": 0, "captions_as_described": 5},
            "train_queries_as_described": 0,
        }

    @pytest.mark.parametrize(("included", "queries_counted"), [(False, (1, 1, 2)), (True, (2, 2, 0))])
    def test_pilot_queries_are_in_it_only_when_chosen(
        self, hand_made: HandMade, tmp_path: Path, included: bool, queries_counted: tuple[int, int, int]
    ) -> None:
        """A finished query of val with its twin, and an unfinished one, are of a pilot set."""
        tried = hand_made.project.queries.filter(number__in=[10, 11, 31])
        query_set = query_set_create(project=hand_made.project, name="try-out", queries=tried, actor=hand_made.lead)
        with pytest.raises(NotPossibleNow, match="before it begins"):
            query_set_change(query_set=query_set, actor=hand_made.lead, is_pilot=True)
        type(query_set).objects.filter(pk=query_set.pk).update(is_pilot=True)
        Batch.objects.filter(query__in=tried).update(is_pilot=True)
        release = release_create(project=hand_made.project, actor=hand_made.lead, includes_pilot=included)
        manifest = release_build(release_id=release.pk, folder=tmp_path).manifest
        val = [row["query_id"] for row in json.loads((tmp_path / "val.json").read_text())]
        assert val == ([10, 11] if included else [])
        counts, raw = manifest["counts"], (tmp_path / "raw_annotation.csv").read_text().splitlines()
        assert len(raw) == 1 + counts["judgments"] == 1 + (14 if included else 4)
        assert manifest["includes_pilot"] == included
        assert (counts["queries"], counts["queries_unfinished"], counts["queries_pilot"]) == queries_counted


def test_the_command_exports_into_an_empty_folder(hand_made: HandMade, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    for path in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(CommandError, match="not an empty folder"):
            call_command("export_release", path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
    assert not Release.objects.exists()
    out = StringIO()
    call_command("export_release", tmp_path / "out", stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["judgments"] == 14
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert Release.objects.get().state == "ready"
    other: Project = ProjectFactory(name="other")
    for arguments in ({}, {"project": "unknown"}):
        with pytest.raises(CommandError, match="'hand made', 'other'"):
            call_command("export_release", tmp_path / "again", **arguments)
    call_command("export_release", tmp_path / "again", project="other", stdout=StringIO())
    assert Release.objects.get(project=other)


def test_only_finished_queries_of_the_project(hand_made: HandMade, tmp_path: Path) -> None:
    """Another project with the same numbers leaves no trace."""
    other = BatchFactory(query=QueryFactory(number=10, text="elsewhere"))
    judge_round(other, [1, 1], [1, 1])
    review(other, "close")
    files_of(Release.objects.create(project=hand_made.project, version=1), tmp_path)
    assert "elsewhere" not in "".join(path.read_text() for path in tmp_path.iterdir())
    assert len((tmp_path / "raw_annotation.csv").read_text().splitlines()) == 1 + 14
    assert Judgment.objects.count() > 14
