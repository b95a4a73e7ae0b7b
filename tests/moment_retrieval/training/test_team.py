"""Several processes compute what one computes."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from moment_retrieval import train as moment_retrieval_train
from moment_retrieval.distributed import Team
from moment_retrieval.training.events import read_events
from tests.moment_retrieval.training import steps
from tests.moment_retrieval.training.test_train import last, train
from tests.moment_retrieval.training.tiny import experiment

pytestmark = pytest.mark.slow
CHANGES = {"sizes": {"dropout": 0.0}, "batch": 15, "epochs": 2}  # 96 samples: seven steps, the last of 6


@pytest.fixture(scope="module")
def output_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("two")
    experiment(root, name="together", **CHANGES)
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", steps.__name__, str(root)]
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr
    return root


@pytest.mark.parametrize("size", steps.SIZES)
@pytest.mark.parametrize("case", steps.CASES)
def test_losses_and_gradients_of_two_processes_are_those_of_one(case: str, size: int, output_folder: Path) -> None:
    alone = steps.losses_and_gradients(output_folder, case, size, Team(torch.device("cpu")))
    for rank in (0, 1):
        together = load_file(output_folder / f"rank-{rank}.safetensors")
        for name, value in alone.items():
            gradient = together[f"{case}/{size}/{name}"]
            torch.testing.assert_close(gradient, value, rtol=1e-5, atol=2e-7, msg=f"{name} of process {rank}")


def test_a_training_of_two_processes_is_that_of_one(output_folder: Path) -> None:
    alone = experiment(output_folder, name="alone", **CHANGES)
    assert train(alone) == moment_retrieval_train.DONE
    together = output_folder / "together"
    for name, value in load_file(alone / "last" / "weights.safetensors").items():
        weight = load_file(together / "last" / "weights.safetensors")[name]
        torch.testing.assert_close(weight, value, rtol=1e-3, atol=1e-4, msg=name)
    scores = [last(folder, "done")["metrics"]["val"]["ndcg@20_0.5"] for folder in (alone, together)]
    assert scores[1] == pytest.approx(scores[0], abs=0.02)
    assert last(together, "start")["device"] == "2 x cpu"
    assert sum(event["kind"] == "start" for event in read_events(together)) == 1  # one of them tells
