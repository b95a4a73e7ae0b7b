"""``score`` from the shell and from Django: the same output, and 2 for what cannot be used."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from models_runner.management.commands.score import Command
from moment_retrieval.cli import main
from moment_retrieval.cli.output import short_names
from tests.moment_retrieval.shared_data import REPOSITORY

TABLE = """\
run              {run}
ground truth     {ground_truth}
convention       paper (IoU >= mu; mean over the ground truth's queries, missing ones count 0)
gain             exponential
queries          2
missing queries  1

NDCG@K,IoU>=mu       0.3      0.5      0.7
K = 10            0.5000   0.5000   0.0000
K = 20            0.5000   0.5000   0.0000
K = 40            0.5000   0.5000   0.0000
"""


@pytest.fixture
def ground_truth(tmp_path: Path) -> Path:
    """Two queries with one relevant moment each."""
    moment = {"video_name": "a", "timestamp": [0, 10], "relevance": 4}
    path = tmp_path / "val.json"
    path.write_text(json.dumps([{"query_id": i, "query": "q", "relevant_moment": [moment]} for i in (1, 2)]))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """An answer to the first query only, with an IoU of 0.5, the video by index."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps([{"query_id": 1, "query": "q", "predictions": [[3, 0, 5, 1.0]]}]))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "video_corpus.json"
    path.write_text('{"a": [20, 3]}')
    return path


def django_output(*arguments: object) -> str:
    """Return ``manage.py score`` output."""
    stdout = io.StringIO()
    command = Command(stdout=stdout, no_color=True)
    options = vars(command.create_parser("manage.py", "score").parse_args([str(argument) for argument in arguments]))
    command.handle(**options)
    return stdout.getvalue()


def test_both_commands_print_the_same_table(
    run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(run), "--ground-truth", str(ground_truth), "--corpus", str(corpus)]
    assert main(["score", *arguments]) == 0
    table = TABLE.format(run=run, ground_truth=ground_truth)
    assert capsys.readouterr().out == table
    assert django_output(*arguments) == table


def test_another_program_may_call_the_command_with_plain_values(run: Path, ground_truth: Path, corpus: Path) -> None:
    stdout = io.StringIO()
    call_command(
        Command(stdout=stdout),
        str(run),
        ground_truth=str(ground_truth),
        corpus=str(corpus),
        k=[5],
        mu=[0.5],
        output="json",
    )
    assert json.loads(stdout.getvalue())["scores"] == {"NDCG@5,IoU>=0.5": 0.5}


def test_json_is_one_object(run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--ground-truth", str(ground_truth), "--corpus", str(corpus), "--convention", "released"]
    assert main(["score", str(run), *arguments, "--gain", "linear", "--k", "1,5", "--mu", "0.4,0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": str(run),
        "ground_truth": str(ground_truth),
        "metric": "ndcg-iou",
        "convention": "released",
        "gain": "linear",
        "queries": 1,
        "missing_queries": 1,
        "missing_query_ids": ["2"],
        "remarks": [],
        "scores": {
            "NDCG@1,IoU>=0.4": 1.0,
            "NDCG@1,IoU>=0.5": 0.0,
            "NDCG@5,IoU>=0.4": 1.0,
            "NDCG@5,IoU>=0.5": 0.0,
        },
    }


def test_a_run_by_index_without_corpus_ends_with_two(
    run: Path, ground_truth: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(run), "--ground-truth", str(ground_truth)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {run}: line 1: entry 1: query 1: prediction 1: video 3 is an index")
    with pytest.raises(CommandError, match="video 3 is an index") as raised:
        django_output(run, "--ground-truth", ground_truth)
    assert raised.value.returncode == 2


def test_a_run_of_other_queries_is_named(
    run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.write_text(run.read_text().replace('"query_id": 1', '"query_id": 9'))
    assert main(["score", str(run), "--ground-truth", str(ground_truth), "--corpus", str(corpus)]) == 2
    message = f"error: {run}: line 1: 1 of the run's 1 queries are not in the ground truth: 9\n"
    assert capsys.readouterr().err == message


def test_several_runs_stand_side_by_side_and_a_bad_one_does_not_disturb_the_others(
    run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    better, bad = run.with_name("better.json"), run.with_name("bad.json")
    predictions = [[3, 0, 10, 1], [3, 0, 10, 0.5]]
    better.write_text(json.dumps([{"query_id": 1, "predictions": predictions}, {"query_id": 2, "predictions": []}]))
    bad.write_text('[{"query_id": 1,\n"predictions": [["a", NaN, 1, 1]]}]')
    arguments = ["--ground-truth", str(ground_truth), "--corpus", str(corpus), "--k", "10", "--mu", "0.3,0.7"]
    assert main(["score", str(run), str(bad), str(better), *arguments]) == 2
    printed = capsys.readouterr()
    assert (
        printed.err == f"error: {bad}: line 2: entry 1: query 1: prediction 1: start must be a finite number, got nan\n"
    )
    assert printed.out.split("\n\n")[1:] == [
        """\
                   run.json  better.json
queries                   2            2
missing queries           1            0
NDCG@10,IoU>=0.3     0.5000       0.5000
NDCG@10,IoU>=0.7     0.0000       0.5000""",
        "better.json: repeated predictions, which find their moment claimed: 1, first in line 1, query 1, "
        "prediction 2\n",
    ]
    with pytest.raises(CommandError, match="start must be a finite number") as raised:
        django_output(run, bad, *arguments)
    assert raised.value.returncode == 2


def test_values_of_every_query_as_table_json_and_csv(
    run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["score", str(run), "--ground-truth", str(ground_truth), "--corpus", str(corpus), "--per-query"]
    outputs = {}
    for kind in ("table", "json", "csv"):
        assert main([*arguments, "--k", "5", "--mu", "0.5", "--output", kind]) == 0
        outputs[kind] = capsys.readouterr().out
    assert outputs["table"].endswith("query  NDCG@5,IoU>=0.5\n1               1.0000\n2               0.0000\n")
    assert json.loads(outputs["json"])["per_query"] == {"1": {"NDCG@5,IoU>=0.5": 1.0}, "2": {"NDCG@5,IoU>=0.5": 0.0}}
    assert outputs["csv"] == f'run,query_id,"NDCG@5,IoU>=0.5"\n{run},1,1.0\n{run},2,0.0\n'


def test_csv_has_a_line_for_each_run(
    run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--ground-truth", str(ground_truth), "--corpus", str(corpus), "--k", "5", "--mu", "0.5"]
    assert main(["score", str(run), str(run), *arguments, "--output", "csv"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == 'run,queries,missing_queries,"NDCG@5,IoU>=0.5"'
    assert lines == [f"{run},2,1,0.5"] * 2


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/a/runs/one.json", "/a/runs/two.json"], ["one.json", "two.json"]),
        (["/a/xml/test/run.json", "/a/conquer/test/run.json"], ["xml", "conquer"]),
        (["/a/x/1.json", "/a/y/2.json"], ["x/1.json", "y/2.json"]),
        (["/a/run.json", "/a/b/run.json"], ["/a/run.json", "b"]),
        (["/a/run.json"], ["run.json"]),
        (["/a/run.json"] * 2, ["run.json"] * 2),
    ],
)
def test_paths_are_shown_without_what_all_share(paths: list[str], names: list[str]) -> None:
    assert short_names(paths) == names


def test_csv_holds_no_formula(run: Path, ground_truth: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent)
    run.rename(run.parent / "=cmd.json")
    scored, out = ["score", "=cmd.json", "--ground-truth", str(ground_truth), "--corpus", str(corpus)], io.StringIO()
    for more in ([], ["--per-query"]):
        with redirect_stdout(out):
            assert main([*scored, "--output", "csv", *more]) == 0
    lines = [line for line in out.getvalue().splitlines() if "cmd" in line]
    assert len(lines) == 3
    assert all(line.startswith("'=cmd.json,") for line in lines)


TVR_LINE = '{{"desc_id": {}, "desc": "q", "type": "{}", "vid_name": "a", "ts": [0, 10]}}'
METRICS = {
    "recall": (
        """{"video2idx": {"a": 1}, "VCMR": [{"desc_id": 1, "predictions": [[1, 9, 8, 1], [1, 0, 9, 1]]}]}""",
        TVR_LINE.format(1, "v") + "\n" + TVR_LINE.format(2, "vt"),
        ["--lenient", "--k", "1,5", "--mu", "0.5"],
        {"R@1,IoU>=0.5": 0.0, "R@5,IoU>=0.5": 0.5},
    ),
    "pool-rank": (
        """{"a": {"predictions": [[["a", 0, 6, 1]]]}}""",
        """{"a": {"duration": 9, "timestamps": [[0, 9]], "sentences": ["s"], "pos_moments": [[]],
        "retrieval_pool": [["a"]]}}""",
        ["--k", "1"],
        {"Rank1@0.5": 1.0, "Rank1@0.7": 0.0},
    ),
    "highlights": (
        """{"qid": 1, "vid": "a", "pred_relevant_windows": [[0, 8, 1]], "pred_saliency_scores": [0, 1]}""",
        """{"qid": 1, "vid": "a", "duration": 4, "relevant_windows": [[0, 10]], "relevant_clip_ids": [1],
        "saliency_scores": [[4]]}""".replace("\n", ""),
        [],
        {"MR-full-mAP@0.8": 1.0, "MR-full-mAP@0.85": 0.0, "MR-long-mAP": None, "HL-min-VeryGood-Hit1": 1.0},
    ),
    "plain": (
        "1 Q0 a:0-1 1 2.5 x\n1 Q0 b:0-1 2 1.5 x\n",
        "1 0 b:0.0-1.0 1\n",
        ["--measures", "AP,P@1"],
        {"AP": 0.5, "P@1": 0.0},
    ),
}


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_its_files(metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, truth, arguments, correct = METRICS[metric]
    (tmp_path / "run").write_text(run)
    (tmp_path / "truth").write_text(truth)
    files = [str(tmp_path / "run"), "--ground-truth", str(tmp_path / "truth")]
    assert main(["score", *files, "--metric", metric, *arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert correct.items() <= printed["scores"].items()
    assert main(["score", *files, "--metric", metric, *arguments]) == 0
    assert f"metric           {metric}\n" in capsys.readouterr().out


def test_types_of_queries_have_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, truth, arguments, _ = METRICS["recall"]
    (tmp_path / "run").write_text(run)
    (tmp_path / "truth").write_text(truth)
    files = [str(tmp_path / "run"), "--ground-truth", str(tmp_path / "truth")]
    assert main(["score", *files, "--metric", "recall", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("predictions that end before they start, which overlap nothing: 1, first in line 1" in x for x in lines)
    assert lines[-3:] == [
        "                       all        v       vt",
        "R@1,IoU>=0.5        0.0000   0.0000   0.0000",
        "R@5,IoU>=0.5        0.5000   1.0000   0.0000",
    ]


def test_matrices_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "system.npy", np.eye(3))
    np.savez(tmp_path / "truth.npz", relevance=np.eye(3), owners=np.arange(3))
    files = [str(tmp_path / "system.npy"), "--ground-truth", str(tmp_path / "truth.npz")]
    assert main(["score", *files, "--metric", "matrix", "--json", "--per-query"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"nDCG": 1.0, "R@1-t2v": 1.0, "MedR-v2t": 1.0}.items() <= printed["scores"].items()
    assert printed["per_query"]["caption 2"] == {"nDCG-v2t": None, "nDCG-t2v": 1.0}
    np.save(tmp_path / "system.npy", np.array([{}]), allow_pickle=True)
    assert main(["score", *files, "--metric", "matrix"]) == 2
    assert "system.npy: not a file of numpy: Object arrays cannot be loaded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--k", "0", "must be a whole number, 1 or more, got 0"),
        ("--k", "10;20", "expected whole numbers with commas between"),
        ("--mu", "1.5", "must lie in (0, 1], got 1.5"),
        ("--mu", "nan", "must lie in (0, 1], got nan"),
        ("--mu", "half", "expected numbers with commas between"),
        ("--gain", "square", "invalid choice"),
    ],
)
def test_arguments_that_cannot_be_used_end_with_two(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["score", "run.json", "--ground-truth", "val.json", option, value])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_the_module_runs_without_django(run: Path, ground_truth: Path, corpus: Path) -> None:
    code = (
        "import sys; sys.modules['django'] = None; sys.modules['torch'] = None\n"
        "from moment_retrieval.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["score", str(run), "--ground-truth", str(ground_truth), "--corpus", str(corpus)]
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == TABLE.format(run=run, ground_truth=ground_truth)
