import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from moment_retrieval import checkpoints
from moment_retrieval.baselines import BASELINES, optimiser_of
from moment_retrieval.checkpoints import META, OPTIMISER, WEIGHTS, About, BrokenCheckpoint
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.settings import config_from
from tests.moment_retrieval.baselines.small import batch_of, model_of
from tests.moment_retrieval.durability import watched


class Training:
    """A training of a few steps with dropout and drawn negatives, all its randomness in two generators."""

    def __init__(self, baseline: str) -> None:
        self.baseline = baseline
        self.model = model_of(baseline).train()
        self.optimiser = optimiser_of(baseline, self.model, lr=0.01, total=20)
        self.negatives = torch.Generator().manual_seed(9)
        torch.manual_seed(11)

    @property
    def generators(self) -> dict[str, torch.Generator]:
        return {"torch": torch.default_generator, "negatives": self.negatives}

    def steps(self, *numbers: int) -> None:
        baseline = BASELINES[self.baseline]
        for number in numbers:
            batch = batch_of(seed=number)
            self.optimiser.zero_grad()
            draw = RandomNegatives(self.negatives)
            baseline.loss(self.model(batch), batch, baseline.released.objective, draw).total.backward()
            self.optimiser.step()

    def about(self, **more: Any) -> About:
        return About(baseline=self.baseline, config=asdict(self.model.config), **more)

    def save(self, folder: Path) -> None:
        checkpoints.save(folder, self.about(step=2), self.model, self.optimiser, self.generators)


@pytest.mark.parametrize("baseline", BASELINES)
def test_training_goes_on_from_a_checkpoint_as_if_it_had_never_stopped(baseline: str, tmp_path: Path) -> None:
    whole = Training(baseline)
    whole.steps(0, 1, 2, 3)
    first = Training(baseline)
    first.steps(0, 1)
    first.save(tmp_path / "last")
    second = Training(baseline)
    torch.manual_seed(999)  # whatever happened in between
    second.negatives.manual_seed(999)
    checkpoint = checkpoints.load(tmp_path / "last")
    checkpoint.restore(second.model, second.optimiser, second.generators)
    second.steps(2, 3)
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(second.model.state_dict()[name], weight), name


def test_a_checkpoint_says_what_it_is(tmp_path: Path) -> None:
    training = Training("xml")
    data, metrics = {"train": "sha256:ab"}, {"NDCG@20,IoU>=0.5": 0.25}
    about = training.about(code="1.2", data=data, seeds={"all": 7}, step=3, epoch=1, metrics=metrics)
    checkpoints.save(tmp_path / "best", about, training.model)
    checkpoint = checkpoints.load(tmp_path / "best")
    assert checkpoint.about == about
    assert config_from("xml", checkpoint.about.config) == training.model.config


def test_a_checkpoint_is_on_the_disk_before_the_old_one_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training("xml")
    training.save(tmp_path / "last")
    training.steps(0)
    events = watched(monkeypatch)
    training.save(tmp_path / "last")
    assert events == [
        *(("fsync", name) for name in ("meta.json", "optimiser.safetensors", "weights.safetensors", ".last.new")),
        ("move", "last > .last.old"),
        ("move", ".last.new > last"),
        ("fsync", tmp_path.name),
        ("remove", ".last.old"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    weight = checkpoints.load(tmp_path / "last").weights["query_split.weight"]
    assert torch.equal(weight, training.model.query_split.weight)
    (tmp_path / "last").rename(tmp_path / ".last.old")  # a crash while it is replaced
    assert checkpoints.load(tmp_path / "last").about.step == 2


def test_weights_alone_score_but_do_not_train_on(tmp_path: Path) -> None:
    training = Training("xml")
    checkpoints.save(tmp_path / "best", training.about(), training.model)
    checkpoint = checkpoints.load(tmp_path / "best")
    checkpoint.restore(training.model)
    with pytest.raises(BrokenCheckpoint, match="only the weights were kept"):
        checkpoint.restore(training.model, training.optimiser)
    with pytest.raises(BrokenCheckpoint, match="no state of the generator 'negatives'"):
        checkpoint.restore(training.model, generators={"negatives": training.negatives})
    with pytest.raises(BrokenCheckpoint, match="the weights are not this model's"):
        checkpoint.restore(model_of("xml", hidden=32))


def test_damage_is_reported_with_its_path(tmp_path: Path) -> None:
    training, folder = Training("xml"), tmp_path / "last"
    training.steps(0)
    with pytest.raises(BrokenCheckpoint, match="last: it cannot be read"):
        checkpoints.load(folder)
    for name in (WEIGHTS, OPTIMISER, META):
        training.save(folder)
        (folder / name).write_bytes((folder / name).read_bytes()[:20])
        with pytest.raises(BrokenCheckpoint, match="last: it cannot be read"):
            checkpoints.load(folder)
    training.save(folder)
    for content in (b"\xff", b"[" * 100_000, b'{"form": 2}', b'{"form": 1}', b"[]", b"null"):
        (folder / META).write_bytes(content)
        with pytest.raises(BrokenCheckpoint, match=r"last: (it cannot be read|its form is|meta\.json tells no)"):
            checkpoints.load(folder)


WRONG_PARTS: dict[str, list[Any]] = {
    **{"baseline": [None], "config": [7], "step": ["many", 1.5], "data": [{"train": 4}], "progress": [None]},
    **{"metrics": [{"NDCG": "high"}], "groups": [{}, [4]]},
    "generators": [None, {"torch": 4}, {"torch": "!"}, {"torch": ""}],
}


def test_what_a_damaged_meta_says_is_reported_in_words(tmp_path: Path) -> None:
    Training("xml").save(tmp_path / "last")
    meta = tmp_path / "last" / META
    content = json.loads(meta.read_text())
    for name, value in ((name, value) for name, values in WRONG_PARTS.items() for value in values):
        meta.write_text(json.dumps({**content, name: value}))
        with pytest.raises(BrokenCheckpoint, match=r"last: meta\.json tells no"):
            checkpoints.load(tmp_path / "last")


def test_states_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    training = Training("xml")
    training.steps(0)
    training.save(tmp_path / "last")
    meta = tmp_path / "last" / META
    content = json.loads(meta.read_text())
    for wrong in ({"groups": [{}] * 99}, {"generators": {"torch": "AAAA", "negatives": "AAAA"}}):
        meta.write_text(json.dumps(content | wrong))
        with pytest.raises(BrokenCheckpoint, match="the optimiser|the generator"):
            checkpoints.load(tmp_path / "last").restore(training.model, training.optimiser, training.generators)
