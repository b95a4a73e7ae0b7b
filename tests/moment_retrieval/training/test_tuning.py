"""A search over settings: what is tried, what is stopped early, what is told, and that it goes on where it was."""

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from moment_retrieval import tuning
from moment_retrieval.cli import main
from moment_retrieval.training.plan import BadPlan
from moment_retrieval.training.trials import EARLY, FAILED, FINISHED, Tuning
from moment_retrieval.tuning import tune
from tests.moment_retrieval.training.tiny import Collection, plan_of

LR = {"low": 1e-5, "high": 1e-2, "log": True}


def search(folder: Path, **changes: Any) -> Path:
    """A folder with a search, and the collection beside it."""
    if not (folder / "video_corpus.json").exists():
        Collection().write(folder)
    target = folder / "search"
    target.mkdir(exist_ok=True)
    plan = {**asdict(plan_of(epochs=2)), "evaluations_per_epoch": 3}
    values = {"plan": plan, "space": {"lr": [1e-3, 3e-3]}, "runs": 2, "how": "grid", **changes}
    (target / "tuning.json").write_text(json.dumps(values))
    return target


def quiet(trial: object) -> None:
    """Nobody listens."""


def test_settings_of_a_grid_and_of_a_random_search() -> None:
    space = {"lr": [1, 2], "objective.margin": [0.1, 0.2]}
    settings = Tuning(plan={}, space=space, runs=3, how="grid").settings()
    assert [tuple(one.values()) for one in settings] == [(1, 0.1), (1, 0.2), (2, 0.1)]
    settings = Tuning(plan={}, space={"lr": LR, "batch": [8, 16]}, runs=50, seed=3).settings()
    assert settings == Tuning(plan={}, space={"lr": LR, "batch": [8, 16]}, runs=60, seed=3).settings()[:50]
    rates = sorted(one["lr"] for one in settings)
    assert 1e-5 <= rates[0] < 1e-4 and 1e-3 < rates[-1] <= 1e-2  # over all powers of ten
    assert {one["batch"] for one in settings} == {8, 16}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"space": {}}, "names no setting"),
        ({"space": {"lr": []}}, "list of choices"),
        ({"space": {"lr": LR}}, "list of choices"),  # of a grid there are no ranges
        ({"space": {"lr": {"low": 1, "high": 0}}, "how": "random"}, "a range"),
        ({"space": {"lr": {"low": 0, "high": 1, "log": True}}, "how": "random"}, "above 0"),
        ({"runs": 0}, "1 or more"),
        ({"how": "clever"}, "random or grid"),
        ({"space": {"speed": [1]}}, "nothing is known of speed"),
        ({"space": {"lr": [-1]}}, "lr must be"),
        ({"space": {"weights.margin": [1]}}, "a plan has the parts"),
        ({"budget": 3}, "no search"),
    ],
)
def test_what_cannot_be_searched_says_so_before_anything_is_trained(
    tmp_path: Path, changes: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = search(tmp_path, **changes)
    assert main(["tune", str(folder)]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["tuning.json"]


def test_every_setting_is_trained_and_the_table_has_the_best_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = search(tmp_path, space={"lr": [1e-9, 3e-3]})
    assert main(["tune", str(folder)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("trial 1: finished, ") and out[0].endswith("; lr 1e-09") and out[2] == "Best: trial 2."
    rows = list(csv.DictReader((folder / "trials.csv").read_text().splitlines()))
    assert [(row["trial"], row["lr"], row["state"]) for row in rows] == [
        ("2", "0.003", FINISHED),
        ("1", "1e-09", FINISHED),
    ]
    assert float(rows[0]["ndcg@20_0.5"]) > float(rows[1]["ndcg@20_0.5"])


def test_the_best_is_what_the_plan_selects_by(tmp_path: Path) -> None:
    plan = {**asdict(plan_of(epochs=1)), "selected_by": "released_ndcg@40_0.3"}
    folder = search(tmp_path, plan=plan, space={"lr": [1e-9, 3e-3]})
    first, second = tune(folder, report=quiet)
    assert first.best is not None and second.best is not None and first.best >= second.best
    rows = list(csv.DictReader((folder / "trials.csv").read_text().splitlines()))
    assert [float(row["released_ndcg@40_0.3"]) for row in rows] == pytest.approx([first.best, second.best], abs=1e-6)


def test_it_goes_on_where_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, trained = search(tmp_path, runs=1), []
    real = tuning.train

    def count(own: Path, *arguments: Any) -> int:
        trained.append(own.name)
        return real(own, *arguments)

    monkeypatch.setattr(tuning, "train", count)
    (first,) = tune(folder, report=quiet)
    search(tmp_path, runs=2)  # more of the same
    trials = tune(folder, report=quiet)
    assert trained == ["trial-001", "trial-002"] and first in trials and len(trials) == 2
    for changes in ({"space": {"lr": [5e-3]}}, {"plan": {**asdict(plan_of(epochs=3)), "evaluations_per_epoch": 3}}):
        search(tmp_path, **changes)
        with pytest.raises(BadPlan, match="another search"):
            tune(folder, report=quiet)


def test_a_training_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the disk was full."""
    folder = search(tmp_path, runs=1)
    monkeypatch.setattr(tuning, "train", lambda folder, request: 3)
    assert [trial.state for trial in tune(folder, report=quiet)] == [FAILED]
    monkeypatch.undo()
    assert [trial.state for trial in tune(folder, report=quiet)] == [FINISHED]


def test_a_search_that_is_stopped_keeps_its_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C within the first training: no trial has ended, and the next call goes on with it."""
    folder = search(tmp_path, runs=1)
    monkeypatch.setattr(tuning.StopWhenWorse, "look", lambda self: (self.ask(), super(type(self), self).look())[1])
    assert tune(folder, report=quiet) == []
    monkeypatch.undo()
    assert [trial.state for trial in tune(folder, report=quiet)] == [FINISHED]


def test_a_bad_setting_is_stopped_early(tmp_path: Path) -> None:
    rates = [3e-3, 2e-3, 1e-3, 1e-9]
    folder = search(tmp_path, space={"lr": rates}, runs=4)
    by_rate = {trial.settings["lr"]: trial for trial in tune(folder, report=quiet)}
    assert [by_rate[rate].state for rate in rates] == [FINISHED, FINISHED, FINISHED, EARLY]
    assert len(by_rate[1e-9].curve) < len(by_rate[1e-3].curve)


def test_the_median_rule_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    finished = [[0.1, 0.2], [0.1, 0.3], [0.1, 0.4, 0.5]]

    def is_worse(curve: list[float], others: list[list[float]] = finished) -> bool:
        monkeypatch.setattr(tuning, "curve_of", lambda folder: curve)
        request = tuning.StopWhenWorse(tmp_path, others)
        try:
            request.look()
        except Exception:
            assert request.is_worse
        return request.is_worse

    assert is_worse([0.1, 0.29]) and not is_worse([0.1, 0.3])
    assert not is_worse([0.0])  # too early to tell
    assert not is_worse([0.0, 0.0], finished[:2])  # too few to compare with
    assert not is_worse([0.0, 0.0, 0.0])  # only one got so far
