"""A checkpoint in the published layout is scored as the training it was made of."""

import json
from pathlib import Path

import pytest
import torch

from moment_retrieval.checkpoints import open_trained
from moment_retrieval.cli import main
from moment_retrieval.metrics.ndcg_iou import Measure
from tests.moment_retrieval.baselines.test_published import published_weights
from tests.moment_retrieval.threads import one_thread
from tests.moment_retrieval.training.tiny import experiment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """XML trained, and a CONQUER that looks at its best videos; both saved as the released code would."""
    folder = tmp_path_factory.mktemp("published")
    first = {"source": "checkpoint", "path": "../xml"}
    for baseline, more in (("xml", {}), ("conquer", {"candidates": first})):
        experiment_folder = experiment(folder, baseline, epochs=1, padding="official", **more)
        with one_thread():
            assert main(["train", str(experiment_folder)]) == 0
        weights = published_weights(baseline, open_trained(experiment_folder).model.state_dict())
        options = {"n_heads": 2, "bert_config": {"num_attention_heads": 2}}
        torch.save({"model": weights, "model_cfg": options, "epoch": 1}, folder / f"{baseline}.ckpt")
    return folder


def scored(folder: Path, baseline: str, *more: str) -> int:
    arguments = [str(folder / f"{baseline}.ckpt"), "--to", str(folder / "found.json"), "--device", "cpu", *more]
    return main(["score-checkpoint", *arguments])


def file_options(folder: Path, split: str = "val") -> list[str]:
    files = {"ground-truth": f"{split}.json", "corpus": "video_corpus.json"}
    files |= {kind: f"{kind}.h5" for kind in ("video", "subtitle", "query")}
    return [part for name, file in files.items() for part in (f"--{name}", str(folder / file))]


def final_metrics(folder: Path, baseline: str) -> dict[str, float]:
    events = [json.loads(line) for line in (folder / baseline / "events.jsonl").read_text().splitlines()]
    return dict(events[-1]["metrics"])


@pytest.mark.parametrize(("baseline", "split"), [("xml", "val"), ("xml", "test"), ("conquer", "val")])
def test_a_published_checkpoint_retrieves_what_its_training_did(
    baseline: str, split: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scored(folder, baseline, "--plan", str(folder / baseline), "--split", split, "--json") == 0
    payload = json.loads(capsys.readouterr().out)
    value = final_metrics(folder, baseline)[split]["ndcg@20_0.5"]
    assert payload["scores"][str(Measure(20, 0.5))] == pytest.approx(value)
    assert moments(folder / "found.json") == moments(folder / baseline / f"predictions.{split}.json")


def moments(path: Path) -> dict[int, list[list[object]]]:
    return {row["query_id"]: [moment[:3] for moment in row["predictions"]] for row in json.loads(path.read_text())}


def test_files_do_without_a_plan_but_conquer_needs_candidates(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert scored(folder, "xml", *file_options(folder), "--work", str(tmp_path / "work")) == 0
        assert "NDCG@K,IoU>=mu" in capsys.readouterr().out
        assert moments(folder / "found.json") == moments(folder / "xml" / "predictions.val.json")
    assert len(list((tmp_path / "work" / "prepared").glob("*.npz"))) == 3  # where they are wanted
    assert scored(folder, "conquer", *file_options(folder), "--candidates", str(folder / "xml")) == 0
    assert "candidates: xml, top 10; they hold" in capsys.readouterr().err
    assert scored(folder, "conquer", *file_options(folder)) == 2
    assert "candidates are named for conquer" in capsys.readouterr().err


def test_what_is_wrong_is_reported(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swapped = [str(folder / "subtitle.h5") if part.endswith("video.h5") else part for part in file_options(folder)]
    wrong = {
        "name a plan, or --ground-truth, --corpus, --video, --query": [],
        "the plan is for conquer, and the checkpoint of xml": ["--plan", str(folder / "conquer")],
        "video: the model reads 18 numbers of a row, and the features give 12": swapped,
        "no such file": [*file_options(folder), "--query", str(tmp_path / "gone.h5")],
    }
    for words, options in wrong.items():
        assert scored(folder, "xml", *options) == 2
        assert words in capsys.readouterr().err
