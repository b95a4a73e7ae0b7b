"""One step of every baseline and of some options, by one process or by several.

    torchrun --standalone --nproc-per-node 2 -m tests.moment_retrieval.training.steps FOLDER

makes it on the collection in FOLDER and leaves what came of it in ``FOLDER/rank-N.safetensors``; then trains
``FOLDER/together``.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from moment_retrieval import train
from moment_retrieval.baselines import BASELINES
from moment_retrieval.data import read_dataset
from moment_retrieval.distributed import Precision, Team, assemble
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.training.feature_rows import FeatureCache
from moment_retrieval.training.plan import settings_of
from moment_retrieval.training.sampled_videos import VideoSampler
from moment_retrieval.training.stepper import Stepper
from moment_retrieval.training.steps import Loader
from tests.moment_retrieval.training.tiny import plan_of

SIZES = (15, 1)  # samples of a batch: one that two processes cannot share evenly, one too small to share
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {  # baseline, sizes and objective by name
    "xml": ("xml", {}, {}),
    "reloclnet": ("reloclnet", {}, {"mask_positives": True}),
    "conquer": ("conquer", {}, {}),
    "conquer among sampled videos": ("conquer", {"score_videos": True}, {"sampled_videos": 2}),
    "xml by windows": ("xml", {"encoder": "lstm", "streams": "video", "boundaries": "windows"}, {}),
    "xml without modules": ("xml", {"encoder": "cnn", "modular": False}, {}),
}


def losses_and_gradients(root: Path, case: str, size: int, team: Team, parts: int = 1) -> dict[str, torch.Tensor]:
    """Losses of a step and the gradients of all weights, by name."""
    baseline, sizes, objective = CASES[case]
    unread = {"source": "listed", "path": "../video_corpus.json"}  # no step looks at candidates
    lists = unread if baseline == "conquer" else None
    plan = plan_of(baseline, sizes={"dropout": 0.0, **sizes}, candidates=lists, objective=objective)
    folder = root / f"rank-{team.rank}"
    folder.mkdir(exist_ok=True)
    dataset = read_dataset(plan.located(folder), FeatureCache(folder))
    settings = settings_of(plan, dataset.sizes)
    ranked = torch.arange(12).expand(len(dataset.query_ids), -1)
    sampler = VideoSampler(ranked, count, 20, seed=1) if (count := settings.objective.sampled_videos) else None
    torch.manual_seed(7)
    model = BASELINES[baseline].model(settings.config)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    stepper = Stepper(
        team.wrapped(model),
        torch.optim.SGD(model.parameters(), lr=1.0),  # so that weights move by their gradients
        BASELINES[baseline].loss,
        settings.objective,
        Loader(dataset.samples, team, sampler),
        Precision("float32", team.device),
        team,
        print,
        parts,
    )
    draw = RandomNegatives(torch.Generator().manual_seed(3), settings.objective.pool(0))
    step_losses = stepper.step(stepper.loader.load(torch.arange(0, 6 * size, 6)), draw, 1)
    losses = {f"loss/{name}": torch.tensor(value) for name, value in step_losses.items()}
    return losses | {name: before[name] - value for name, value in model.state_dict().items()}


def main(root: Path) -> None:
    torch.set_num_threads(1)
    team = assemble("cpu")
    tensors = {
        f"{case}/{size}/{name}": value.contiguous()
        for case in CASES
        for size in SIZES
        for name, value in losses_and_gradients(root, case, size, team).items()
    }
    save_file(tensors, root / f"rank-{team.rank}.safetensors")
    train.assemble = lambda device: team  # type: ignore[assignment]  # processes meet once
    sys.exit(train.train(root / "together"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
