"""Ground truth of other forms: its values are those of the command, and what is wrong is told."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.storage import default_storage

from accounts.models import Membership
from core.exceptions import NotPossible
from models_runner.ground_truths import rules
from models_runner.ground_truths.selectors import run_families, truth_table_of
from models_runner.ground_truths.services import ground_truth_delete, ground_truth_work, truth_run_withdraw
from models_runner.leaderboard.services.participants import leaderboard_change
from models_runner.leaderboard.services.runs import UploadLimit
from models_runner.models import GroundTruth, TruthRun, TruthScore
from moment_retrieval.cli import main
from tests.conftest import Messages
from tests.factories import MembershipFactory, ProjectFactory
from tests.locks import locked_elsewhere
from tests.models_runner.ground_truths.acts import (
    CLIPS,
    FILES,
    RELEVANCE,
    SIMILARITY,
    SUBMISSION,
    lines,
    npy,
    npz,
    upload_run,
    upload_truth,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead() -> Membership:
    return MembershipFactory(project=ProjectFactory(), role="lead")  # type: ignore[no-any-return]


def printed(folder: Path, form: str, metric: str, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """Return the scores that ``moment-retrieval score`` prints of the same files: by type of query, "" of all."""
    for name, content in zip(("truth", "run"), FILES[form], strict=True):
        (folder / name).write_bytes(content)
    arguments = [str(folder / "run"), "--ground-truth", str(folder / "truth"), "--metric", metric, *more, "--json"]
    assert main(["score", *arguments]) == 0
    record = json.loads(capsys.readouterr().out)
    scores = {name: value for name, value in record["scores"].items() if value is not None}
    return {"": scores, **record.get("by_type", {})}


def scores_of(run: TruthRun, *families: str) -> dict[str, dict[str, float]]:
    """Return the scores by type of query, "" of all."""
    scores: dict[str, dict[str, float]] = {}
    for metric, setting, value in run.scores.filter(family__in=families).values_list("metric", "setting", "value"):
        scores.setdefault(rules.setting_parts(setting)[1], {})[metric] = value
    return scores


@pytest.mark.parametrize(
    ("form", "families", "options", "command"),
    [
        ("tvr", ["vcmr"], {}, ["recall"]),
        ("tvr", ["svmr"], {"nms": 0.3, "cutoffs": [1, 2]}, ["recall", "--task", "SVMR", "--nms", "0.3", "--k", "1,2"]),
        ("tvr", ["vr"], {}, ["recall", "--task", "VR"]),
        (
            "tvr",
            ["vcmr"],
            {"nms": 0.9, "cutoffs": [3], "convention": "released"},
            "recall --k 3 --nms 0.9 --convention released",
        ),
        ("qvhighlights", ["windows", "saliency"], {}, ["highlights"]),
        ("mvmr", ["rank"], {}, ["pool-rank"]),
        ("mvmr", ["rank"], {"cutoffs": [2], "thresholds": [0.3], "nms": 0.4}, "pool-rank --k 2 --mu 0.3 --nms 0.4"),
        ("matrix", ["semantic", "instance"], {}, ["matrix"]),
        ("matrix", ["semantic", "instance"], {"gain": "linear"}, ["matrix", "--gain", "linear"]),
    ],
)
def test_values_are_those_of_the_command(
    form: str,
    families: list[str],
    options: dict[str, Any],
    command: list[str] | str,
    lead: Membership,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    truth = upload_truth(lead.project, form)
    assert (truth.state, truth.form, truth.error) == ("ready", form, "")
    run = upload_run(lead, truth, measures=families, options=options)
    assert (run.state, run.error) == ("scored", "")
    metric, *more = command.split() if isinstance(command, str) else command
    assert scores_of(run, *families) == printed(tmp_path, form, metric, capsys, *more)
    assert set(run.scores.values_list("family", flat=True)) == set(families)


def test_only_measures_that_the_labels_have_are_offered(lead: Membership) -> None:
    without_owners = upload_truth(lead.project, npz(relevance=RELEVANCE), name="no owners")
    square = upload_truth(lead.project, npy(np.eye(2)), name="square")
    without_saliency = {**CLIPS, "relevant_clip_ids": [], "saliency_scores": []}
    windows = upload_truth(lead.project, lines(without_saliency), name="windows")
    assert [truth.measures for truth in (without_owners, square, windows)] == [
        ["semantic"],
        ["semantic", "instance"],
        ["windows"],
    ]
    with pytest.raises(NotPossible, match="has the measures Semantic nDCG: choose among these"):
        upload_run(lead, without_owners, npy(SIMILARITY), measures=["instance"])


def test_one_direction_leaves_out_the_other_and_the_mean(lead: Membership) -> None:
    run = upload_run(lead, upload_truth(lead.project, "matrix"), measures=["semantic"], options={"directions": ["t2v"]})
    assert set(scores_of(run, "semantic")[""]) == {"nDCG-t2v"}


@pytest.mark.parametrize(
    ("measures", "directions", "n_queries", "items"),
    [
        (["semantic"], ["v2t", "t2v"], 3, "1 video and 1 caption"),
        (["semantic"], ["t2v"], 2, "1 caption"),
        (["semantic", "instance"], ["v2t", "t2v"], 5, "1 video and 1 caption"),
        (["instance"], ["v2t", "t2v"], 5, None),
    ],
)
def test_what_nothing_is_relevant_to_is_left_out_of_the_count_with_a_warning(
    measures: list[str], directions: list[str], n_queries: int, items: str | None, lead: Membership
) -> None:
    relevance = np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    truth = upload_truth(lead.project, npz(relevance=relevance, owners=np.array([0, 1, 0])))
    run = upload_run(lead, truth, npy(SIMILARITY), measures=measures, options={"directions": directions})
    sentence = f"the semantic nDCG leaves out {items}, to which nothing is relevant"
    assert (run.n_queries, run.warnings) == (n_queries, [sentence] if items else [])


def test_settings_say_how_equal_scores_stand_and_the_leaderboard_is_over_all_queries(lead: Membership) -> None:
    truth = upload_truth(lead.project)
    upload_run(lead, truth, options={"nms": 0.9})
    run = upload_run(lead, truth, options={"nms": 0.9, "convention": "released"}, system="released")
    columns = {column.setting for column, _ in truth_table_of(truth, lead, {}).columns}
    assert columns == {"nms 0.9", "nms 0.9, ties released"}
    settings_of_run = {"nms 0.9, ties released", "nms 0.9, ties released, type v", "nms 0.9, ties released, type t"}
    assert set(run.scores.filter(family="vcmr").values_list("setting", flat=True)) == settings_of_run
    family = next(family for family in run_families(run) if family.label == "VR")
    assert family.types == ["v", "t"]
    row = family.rows[0]
    assert (row.metric, row.setting, row.value, row.by_type) == ("R@1", "", 0.5, [0.0, 1.0])


def test_whoever_ends_sends_for_the_upload_that_waits_longest(
    lead: Membership, settings: Any, messages: Messages
) -> None:
    truth = upload_truth(lead.project)
    settings.UPLOADS_AT_ONCE = 0
    first, second = (upload_truth(lead.project, name=name) for name in ("first", "second"))
    assert (first.state, second.state) == ("reading", "reading")
    settings.UPLOADS_AT_ONCE = 1
    with locked_elsewhere("ground-truth", first.pk), messages():
        upload_run(lead, truth)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ("reading", "ready")  # another worker has the first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "line 1"),
        (b'{"vid_name": "a", "ts": [0, 1]}\n', "line 1: no key desc_id"),
        (FILES["tvr"][1], "this looks like a run in the form tvr; ground truth is needed"),
        (b"1 0 b:0.0-1.0 1\n", "this looks like the form trec; ground truth is taken here in the forms tvr, qv"),
        (npz(relevance=np.zeros((2, 2))), "nothing is relevant"),
        (npz(relevance=RELEVANCE, owners=np.array([0, 0, 0])), "video 1 has no caption"),
        (npz(similarity=SIMILARITY), "the array similarity is a system's and no ground truth; upload or name it as a"),
        (npy(RELEVANCE * 1.5), "row 1, column 1: relevance must be from 0 to 1, got 1.5; divide the labels by"),
        (npy(np.zeros(3)), "relevance must be a matrix [videos, captions], got an array of shape (3,)"),
        (npy(np.array([[1.0, np.nan]])), "row 1, column 2: relevance must be finite"),
        (b"\x93NUMPY\x01\x00v\x00broken", "not a file of numpy"),
    ],
)
def test_a_broken_ground_truth_says_where(content: bytes, message: str, lead: Membership) -> None:
    truth = upload_truth(lead.project, content)
    assert truth.state == "failed" and message in truth.error
    with pytest.raises(NotPossible, match="is not ready"):
        upload_run(lead, truth, b"[]", measures=["vcmr"])


UNKNOWN = {**SUBMISSION, "VCMR": [{"desc_id": 7, "predictions": [[1, 0, 9, 1]]}]}


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ("tvr", json.dumps(UNKNOWN).encode(), "line 1: 1 of the run's 1 queries are not in the ground truth: 7"),
        ("tvr", FILES["tvr"][0], "this looks like ground truth in the form tvr; a run is needed"),
        ("mvmr", b'{"a": {"predictions": [[[1, 0, 6, 1]]]}}', "a video is an index; name the videos as the ground"),
        ("matrix", npy(SIMILARITY.T), "expected two matrices of one shape, got (3, 2) and (2, 3)"),
        ("matrix", npy(np.zeros(3)), "similarity must be a matrix [videos, captions]"),
    ],
)
def test_a_broken_run_says_where_and_its_file_goes(form: str, content: bytes, message: str, lead: Membership) -> None:
    truth = upload_truth(lead.project, form)
    run = upload_run(lead, truth, content, measures=truth.measures[:1])
    assert run.state == "failed" and message in run.error
    assert not run.file and not run.scores.exists()


def test_a_matrix_of_another_shape_or_too_large_is_refused_before_it_is_cast(
    lead: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = upload_truth(lead.project, "matrix")
    run = upload_run(lead, truth, npy(np.full((2, 4), np.nan)))  # of its numbers nothing is said
    assert run.error == "expected two matrices of one shape, got (2, 4) and (2, 3)"
    monkeypatch.setattr(rules, "MOST_CELLS", 5)
    assert upload_truth(lead.project, "matrix", name="large").error == "relevance has 6 cells, more than 5"


def test_what_is_missing_in_a_run_is_a_warning_unless_nothing_remains(lead: Membership) -> None:
    submission = {name: value for name, value in SUBMISSION.items() if name != "SVMR"}
    run = upload_run(lead, truth := upload_truth(lead.project), json.dumps(submission).encode())
    assert "the submission has no list of the task SVMR" in run.warnings
    assert set(run.scores.values_list("family", flat=True)) == {"vcmr", "vr"}
    run = upload_run(lead, truth, json.dumps(submission).encode(), measures=["svmr"], system="other")
    assert run.error == "the submission has no list of the task SVMR"
    windows = lines({"qid": 1, "vid": "a", "pred_relevant_windows": [[0, 8, 1]]})
    highlight_truth = upload_truth(lead.project, "qvhighlights", name="highlights")
    run = upload_run(lead, highlight_truth, windows, measures=["saliency"])
    assert run.state == "failed" and "the run predicts no saliency" in run.error


def test_the_leaderboard_sorts_ranks_low_first_and_keeps_settings_apart(lead: Membership) -> None:
    truth = upload_truth(lead.project, "matrix")
    poor, good = upload_run(lead, truth), upload_run(lead, truth, npy(RELEVANCE), system="good")
    linear = upload_run(lead, truth, measures=["semantic"], options={"gain": "linear"}, system="linear")
    for query in ({"show": "instance", "sort": "MedR-v2t"}, {"show": "semantic", "sort": "nDCG, gain exponential"}):
        table = truth_table_of(truth, lead, query)
        assert [row.run for row in table.rows][:2] == [good, poor]
        assert [row.rank for row in table.rows][:2] == [1, 2]
    assert (table.rows[2].run, table.rows[2].rank) == (linear, None)
    truth_run_withdraw(run=good, actor=lead.user, reason="A mistake.")
    assert [row.run for row in truth_table_of(truth, lead, {}).rows] == [poor, linear]


def test_qvhighlights_is_ranked_by_the_mean_over_all_lengths(lead: Membership) -> None:
    upload_run(lead, truth := upload_truth(lead.project, "qvhighlights"))
    table = truth_table_of(truth, lead, {})
    first = [column.metric for column, _ in table.columns[:5]]
    assert first == ["MR-full-mAP", "MR-full-mAP@0.5", "MR-full-mAP@0.75", "MR-full-R1@0.5", "MR-full-R1@0.7"]
    assert table.sort == table.columns[0][0] and len(table.columns) > 20  # the others stand behind


def test_a_ground_truth_goes_once_no_run_stands_on_it(
    lead: Membership, django_capture_on_commit_callbacks: Any
) -> None:
    truth = upload_truth(lead.project, work=False)
    with pytest.raises(NotPossible, match="labels is still being read; delete it once that is done"):
        ground_truth_delete(truth=truth, actor=lead.user)
    ground_truth_work(truth_id=truth.pk)
    truth.refresh_from_db()
    run = upload_run(lead, truth)
    with pytest.raises(NotPossible, match="1 run stands on the leaderboard of labels; withdraw it first"):
        ground_truth_delete(truth=truth, actor=lead.user)
    truth_run_withdraw(run=run, actor=lead.user, reason="A mistake.")
    with django_capture_on_commit_callbacks(execute=True):
        ground_truth_delete(truth=truth, actor=lead.user)
    assert not GroundTruth.objects.exists() and not TruthScore.objects.exists()
    assert not any(map(default_storage.exists, (str(truth.file.name), str(run.file.name))))


def test_names_uploads_at_once_and_a_day_are_limited(lead: Membership) -> None:
    truth = upload_truth(lead.project, is_public=True)
    with pytest.raises(NotPossible, match="There is a ground truth named 'labels' already"):
        upload_truth(lead.project)
    upload_run(lead, truth)
    with pytest.raises(NotPossible, match="You have a run of 'ours' on labels already"):
        upload_run(lead, truth)
    upload_run(lead, truth, system="second", work=False)
    with pytest.raises(NotPossible, match="An upload of yours to labels is still being scored"):
        upload_run(lead, truth, system="third")
    leaderboard_change(project=lead.project, actor=None, uploads_per_day=1)
    team = MembershipFactory(project=lead.project, role="participant")
    upload_run(team, truth)
    with pytest.raises(UploadLimit, match="You have uploaded 1 run to ground truths within a day"):
        upload_run(team, truth, system="second")
