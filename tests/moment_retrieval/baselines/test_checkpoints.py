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
    about = training.about(
        code="1.2", data={"train": "sha256:ab"}, seeds={"all": 7}, step=3, epoch=1, metrics={"NDCG@20,IoU>=0.5": 0.25}
    )
    checkpoints.save(tmp_path / "best", about, training.model)
    checkpoint = checkpoints.load(tmp_path / "best")
    assert checkpoint.about == about
    assert config_from("xml", checkpoint.about.config) == training.model.config


def test_a_checkpoint_replaces_the_one_before_and_leaves_nothing_beside(tmp_path: Path) -> None:
    training = Training("xml")
    training.save(tmp_path / "last")
    training.steps(0)
    training.save(tmp_path / "last")
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    weight = checkpoints.load(tmp_path / "last").weights["query_split.weight"]
    assert torch.equal(weight, training.model.query_split.weight)


def test_a_crash_while_it_is_replaced_leaves_the_old_one(tmp_path: Path) -> None:
    training = Training("xml")
    training.save(tmp_path / "last")
    (tmp_path / "last").rename(tmp_path / ".last.old")
    assert checkpoints.load(tmp_path / "last").about.step == 2


def test_a_checkpoint_is_on_the_disk_before_the_old_one_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training("xml")
    training.save(tmp_path / "last")
    events = watched(monkeypatch)
    training.save(tmp_path / "last")
    assert events == [
        *(("fsync", name) for name in ("meta.json", "optimiser.safetensors", "weights.safetensors", ".last.new")),
        ("move", "last > .last.old"),
        ("move", ".last.new > last"),
        ("fsync", tmp_path.name),
        ("remove", ".last.old"),
    ]


def test_weights_alone_score_but_do_not_train_on(tmp_path: Path) -> None:
    training = Training("xml")
    checkpoints.save(tmp_path / "best", training.about(), training.model)
    checkpoint = checkpoints.load(tmp_path / "best")
    checkpoint.restore(training.model)
    with pytest.raises(BrokenCheckpoint, match="only the weights were kept"):
        checkpoint.restore(training.model, training.optimiser)
    with pytest.raises(BrokenCheckpoint, match="no state of the generator 'negatives'"):
        checkpoint.restore(training.model, generators={"negatives": training.negatives})


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    training = Training("xml")
    training.save(tmp_path / "last")
    with pytest.raises(BrokenCheckpoint, match="the weights are not this model's"):
        checkpoints.load(tmp_path / "last").restore(model_of("xml", hidden=32))


@pytest.mark.parametrize("damage", ["missing", WEIGHTS, OPTIMISER, META, "form"])
def test_damage_is_reported_with_its_path(damage: str, tmp_path: Path) -> None:
    training = Training("xml")
    training.steps(0)
    training.save(tmp_path / "last")
    if damage == "form":
        (tmp_path / "last" / META).write_text('{"form": 2}')
    elif damage != "missing":
        file = tmp_path / "last" / damage
        file.write_bytes(file.read_bytes()[:20])
    folder = tmp_path / ("nowhere" if damage == "missing" else "last")
    with pytest.raises(BrokenCheckpoint, match=rf"{folder.name}: its form is 2|{folder.name}: it cannot be read"):
        checkpoints.load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        [],
        None,
        {"form": 1},
        {"baseline": None},
        {"config": 7},
        {"step": "many"},
        {"step": 1.5},
        {"data": {"train": 4}},
        {"metrics": {"NDCG": "high"}},
        {"progress": None},
        {"groups": {}},
        {"groups": [4]},
        {"generators": None},
        {"generators": {"torch": 4}},
        {"generators": {"torch": "!"}},
        {"generators": {"torch": ""}},
    ],
)
def test_what_a_damaged_meta_says_is_reported_in_words(changes: Any, tmp_path: Path) -> None:
    training = Training("xml")
    training.save(tmp_path / "last")
    meta = tmp_path / "last" / META
    is_part = isinstance(changes, dict) and changes != {"form": 1}
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **changes} if is_part else changes))
    with pytest.raises(BrokenCheckpoint, match=r"last: (its form is|meta\.json tells no)"):
        checkpoints.load(tmp_path / "last")


@pytest.mark.parametrize("damage", [b"\xff", b"[" * 100_000])
def test_a_meta_that_is_no_json_is_reported(damage: bytes, tmp_path: Path) -> None:
    Training("xml").save(tmp_path / "last")
    (tmp_path / "last" / META).write_bytes(damage)
    with pytest.raises(BrokenCheckpoint, match="last: it cannot be read"):
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
