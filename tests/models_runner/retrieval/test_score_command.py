"""``score`` from the shell and from Django: the same output, and 2 for what cannot be used."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from models_runner.management.commands.score import Command
from models_runner.retrieval.__main__ import main
from tests.models_runner.retrieval.shared_data import REPOSITORY

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
    """What ``manage.py score`` prints."""
    stdout = io.StringIO()
    command = Command(stdout=stdout, no_color=True)
    options = vars(command.create_parser("manage.py", "score").parse_args([str(argument) for argument in arguments]))
    command.handle(**options)
    return stdout.getvalue()


def test_both_doors_print_the_same_table(
    run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(run), "--ground-truth", str(ground_truth), "--corpus", str(corpus)]
    assert main(["score", *arguments]) == 0
    expected = TABLE.format(run=run, ground_truth=ground_truth)
    assert capsys.readouterr().out == expected
    assert django_output(*arguments) == expected


def test_another_program_may_call_the_command_with_plain_values(run: Path, ground_truth: Path, corpus: Path) -> None:
    stdout = io.StringIO()
    call_command(
        Command(stdout=stdout), str(run), ground_truth=str(ground_truth), corpus=str(corpus), k=[5], mu=[0.5], json=True
    )
    assert json.loads(stdout.getvalue())["scores"] == {"NDCG@5,IoU>=0.5": 0.5}


def test_json_is_one_object(run: Path, ground_truth: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--ground-truth", str(ground_truth), "--corpus", str(corpus), "--convention", "released"]
    assert main(["score", str(run), *arguments, "--gain", "linear", "--k", "1,5", "--mu", "0.4,0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": str(run),
        "ground_truth": str(ground_truth),
        "convention": "released",
        "gain": "linear",
        "queries": 1,
        "missing_queries": 1,
        "missing_query_ids": ["2"],
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
    expected = f"error: {run}: 1 of the run's 1 queries are not in the ground truth: 9\n"
    assert capsys.readouterr().err == expected


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
        "from models_runner.retrieval.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["score", str(run), "--ground-truth", str(ground_truth), "--corpus", str(corpus)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TABLE.format(run=run, ground_truth=ground_truth)
