"""``compare-published``: the runs of TVR-Ranking's authors against what their repository records."""

import json
import re
from pathlib import Path

import pytest

from moment_retrieval.cli import compare, main
from tests.moment_retrieval.shared_data import CORPUS, RUNS, TVR_RANKING, needs_shared, oracle

TRUTH = {"relevant_moment": [{"video_name": "a", "timestamp": [0, 10], "relevance": 4}], "query": "q"}
needs_truth = pytest.mark.skipif(
    not TVR_RANKING or not (Path(TVR_RANKING) / "val.json").is_file(),
    reason="TVR-Ranking's val.json is not here; set MOMENTJUDGE_TVR_RANKING to the folder that holds it",
)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A ground truth of two queries, and a run that answers the first of them rightly."""
    (tmp_path / "val.json").write_text(json.dumps([{"query_id": number, **TRUTH} for number in (1, 2)]))
    answers = [{"query_id": 1, "query": "q", "predictions": [[3, 0, 10, 1.0]]}]
    (tmp_path / "xml_n1.val.json").write_text(json.dumps(answers))
    (tmp_path / "corpus.json").write_text('{"a": [20, 3]}')
    return [str(tmp_path), "--ground-truth", f"{tmp_path}/val.json", "--corpus", f"{tmp_path}/corpus.json"]


def test_equal_values_are_called_equal(
    files: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the released convention the query that the run misses does not count."""
    monkeypatch.setitem(compare.RECORDED["values"], "xml_n1", [1.0, 1.0, 1.0])
    assert main(["compare-published", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["xml_n1", "0.3", "1.0000", "1.0000", "equal"]
    assert lines[-1].startswith("not in the folder: conquer_n1, ")


def test_other_values_end_with_an_error(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare-published", *files]) == 2
    out, err = capsys.readouterr()
    assert "+0.8950" in out and "3 of 3 values differ" in err  # 1 instead of .1050


def test_a_run_without_queries_is_named_once(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "xml_n1.val.json").write_text("[]")
    assert main(["compare-published", *files]) == 2
    assert capsys.readouterr().err.count("xml_n1.val.json") == 1


def test_a_folder_without_runs_is_refused(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "xml_n1.val.json").unlink()
    assert main(["compare-published", *files]) == 2
    assert "holds none of the authors' runs" in capsys.readouterr().err


@needs_shared
def test_what_is_recorded_is_what_the_repository_of_the_authors_says() -> None:
    """By the runs' names there: XML_top01_..., ReLoCLNet_top40_...."""
    recorded = {}
    for name, splits in oracle("acceptance_val_march2024.json")["runs"].items():
        system, n = re.fullmatch(r"(\w+?)_top_?(\d+)_.*", name.lower()).groups()  # type: ignore[union-attr]
        recorded[f"{system}_n{int(n)}"] = [round(value, 4) for value in splits["val"]["20"].values()]
    assert recorded == compare.RECORDED["values"]


@needs_shared
@needs_truth
def test_the_runs_of_the_authors_score_as_they_record(capsys: pytest.CaptureFixture[str]) -> None:
    truth = ["--ground-truth", f"{TVR_RANKING}/val.json", "--corpus", str(CORPUS)]
    assert main(["compare-published", str(RUNS), *truth]) == 0
    assert capsys.readouterr().out.count("equal") == 27
