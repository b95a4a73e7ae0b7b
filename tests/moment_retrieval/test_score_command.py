"""``score`` from the shell and from Django: the same output, and 2 for what cannot be used."""

import io
import json
import subprocess
import sys
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


TRUTH = {"relevant_moment": [{"video_name": "a", "timestamp": [0, 10], "relevance": 4}], "query": "q"}


class Files:
    """Two queries with a relevant moment each; a run by index that answers the first with an IoU of 0.5; a corpus."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.run, self.truth, corpus = (folder / name for name in ("run.json", "val.json", "video_corpus.json"))
        self.truth.write_text(json.dumps([{"query_id": number, **TRUTH} for number in (1, 2)]))
        self.run.write_text(json.dumps([{"query_id": 1, "query": "q", "predictions": [[3, 0, 5, 1.0]]}]))
        corpus.write_text('{"a": [20, 3]}')
        self.options = ["--ground-truth", str(self.truth), "--corpus", str(corpus)]

    def score(self, *arguments: object, status: int = 0) -> str:
        """Return what is printed, or, if it fails, the errors."""
        assert main(["score", *map(str, arguments)]) == status
        printed = self.capsys.readouterr()
        return printed.err if status else printed.out


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, capsys)


def django_output(*arguments: object) -> str:
    stdout = io.StringIO()
    command = Command(stdout=stdout, no_color=True)
    options = vars(command.create_parser("manage.py", "score").parse_args([str(argument) for argument in arguments]))
    command.handle(**options)
    return stdout.getvalue()


def test_both_commands_print_the_same_table_and_json_is_one_object(files: Files) -> None:
    table = TABLE.format(run=files.run, ground_truth=files.truth)
    assert files.score(files.run, *files.options) == django_output(files.run, *files.options) == table
    stdout, options = io.StringIO(), {"ground_truth": str(files.truth), "corpus": files.options[-1]}
    call_command(Command(stdout=stdout), str(files.run), k=[5], mu=[0.5], output="json", **options)
    assert json.loads(stdout.getvalue())["scores"] == {"NDCG@5,IoU>=0.5": 0.5}
    how = ["--convention", "released", "--gain", "linear", "--k", "1,5", "--mu", "0.4,0.5", "--json"]
    assert json.loads(files.score(files.run, *files.options, *how)) == {
        "run": str(files.run),
        "ground_truth": str(files.truth),
        **{"metric": "ndcg-iou", "convention": "released", "gain": "linear"},
        **{"queries": 1, "missing_queries": 1, "missing_query_ids": ["2"], "remarks": []},
        "scores": {f"NDCG@{k},IoU>={mu}": value for k in (1, 5) for mu, value in ((0.4, 1.0), (0.5, 0.0))},
    }


def test_a_run_by_index_without_corpus_or_of_other_queries_ends_with_two(files: Files) -> None:
    without_corpus = [files.run, "--ground-truth", files.truth]
    problem = f"error: {files.run}: line 1: entry 1: query 1: prediction 1: video 3 is an index"
    assert files.score(*without_corpus, status=2).startswith(problem)
    with pytest.raises(CommandError, match="video 3 is an index") as raised:
        django_output(*without_corpus)
    assert raised.value.returncode == 2
    files.run.write_text(files.run.read_text().replace('"query_id": 1', '"query_id": 9'))
    message = f"error: {files.run}: line 1: 1 of the run's 1 queries are not in the ground truth: 9\n"
    assert files.score(files.run, *files.options, status=2) == message


def test_several_runs_stand_side_by_side_and_a_bad_one_does_not_disturb_the_others(files: Files) -> None:
    better, bad = files.run.with_name("better.json"), files.run.with_name("bad.json")
    predictions = [[3, 0, 10, 1], [3, 0, 10, 0.5]]
    better.write_text(json.dumps([{"query_id": 1, "predictions": predictions}, {"query_id": 2, "predictions": []}]))
    bad.write_text('[{"query_id": 1,\n"predictions": [["a", NaN, 1, 1]]}]')
    options = [*files.options, "--k", "10", "--mu", "0.3,0.7"]
    assert main(["score", str(files.run), str(bad), str(better), *options]) == 2
    printed, problem = files.capsys.readouterr(), "start must be a finite number"
    assert printed.err == f"error: {bad}: line 2: entry 1: query 1: prediction 1: {problem}, got nan\n"
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
    with pytest.raises(CommandError, match=problem) as raised:
        django_output(files.run, bad, *options)
    assert raised.value.returncode == 2


def test_values_of_every_query_as_table_json_and_csv(files: Files) -> None:
    one_measure = [*files.options, "--k", "5", "--mu", "0.5"]
    outputs = {
        kind: files.score(files.run, *one_measure, "--per-query", "--output", kind) for kind in ("table", "json", "csv")
    }
    assert outputs["table"].endswith("query  NDCG@5,IoU>=0.5\n1               1.0000\n2               0.0000\n")
    assert json.loads(outputs["json"])["per_query"] == {"1": {"NDCG@5,IoU>=0.5": 1.0}, "2": {"NDCG@5,IoU>=0.5": 0.0}}
    assert outputs["csv"] == f'run,query_id,"NDCG@5,IoU>=0.5"\n{files.run},1,1.0\n{files.run},2,0.0\n'
    head, *lines = files.score(files.run, files.run, *one_measure, "--output", "csv").splitlines()
    assert (head, lines) == ('run,queries,missing_queries,"NDCG@5,IoU>=0.5"', [f"{files.run},2,1,0.5"] * 2)


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


def test_matrices_and_formulas_in_csv(files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(files.run.parent)
    files.run.rename(files.run.parent / "=cmd.json")
    scored = ["=cmd.json", *files.options, "--output", "csv"]
    out = files.score(*scored) + files.score(*scored, "--per-query")
    lines = [line for line in out.splitlines() if "cmd" in line]
    assert len(lines) == 3 and all(line.startswith("'=cmd.json,") for line in lines)
    np.save(tmp_path / "system.npy", np.eye(3))
    np.savez(tmp_path / "truth.npz", relevance=np.eye(3), owners=np.arange(3))
    arguments = [tmp_path / "system.npy", "--ground-truth", tmp_path / "truth.npz", "--metric", "matrix"]
    printed = json.loads(files.score(*arguments, "--json", "--per-query"))
    assert {"nDCG": 1.0, "R@1-t2v": 1.0, "MedR-v2t": 1.0}.items() <= printed["scores"].items()
    assert printed["per_query"]["caption 2"] == {"nDCG-v2t": None, "nDCG-t2v": 1.0}
    np.save(tmp_path / "system.npy", np.array([{}]), allow_pickle=True)
    assert "system.npy: not a file of numpy: Object arrays cannot be loaded" in files.score(*arguments, status=2)


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
def test_every_metric_has_its_files(metric: str, files: Files) -> None:
    run, truth, more, correct = METRICS[metric]
    files.run.write_text(run)
    files.truth.write_text(truth)
    arguments = [files.run, "--ground-truth", files.truth, "--metric", metric, *more]
    assert correct.items() <= json.loads(files.score(*arguments, "--json"))["scores"].items()
    printed = files.score(*arguments)
    assert f"metric           {metric}\n" in printed
    if metric == "recall":
        assert "predictions that end before they start, which overlap nothing: 1, first in line 1" in printed
        assert printed.splitlines()[-3:] == [
            "                       all        v       vt",  # types of queries have columns
            "R@1,IoU>=0.5        0.0000   0.0000   0.0000",
            "R@5,IoU>=0.5        0.5000   1.0000   0.0000",
        ]


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
def test_wrong_arguments_end_with_two(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["score", "run.json", "--ground-truth", "val.json", option, value])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_empty_answers_count_one_in_ndcg_alone(files: Files) -> None:
    error = files.score(files.run, *files.options, "--metric", "estimates", "--empty", "one", status=2)
    assert "--empty one is of ndcg-iou alone; the metric is estimates" in error


def test_the_module_runs_without_django(files: Files) -> None:
    code = (
        "import sys; sys.modules['django'] = None; sys.modules['torch'] = None\n"
        "from moment_retrieval.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "score", str(files.run), *files.options]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == TABLE.format(run=files.run, ground_truth=files.truth)
