"""The three baselines by name: model, loss, optimiser, how features are read and moments are found.

The released settings stand here (specification: TVR-Ranking, arXiv:2407.06597, its options of July 2024); every one may
be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from torch import nn
from torch.optim import Optimizer

from moment_retrieval.decoding import Decoding
from moment_retrieval.models.conquer import Conquer, ConquerConfig, conquer_loss
from moment_retrieval.models.reloclnet import Reloclnet, ReloclnetConfig, reloclnet_loss
from moment_retrieval.models.xml import Xml, XmlConfig, xml_loss
from moment_retrieval.objective import Loss, Objective
from moment_retrieval.optim import WARM_UP, BertAdam, CorrectedAdam, parameter_groups
from moment_retrieval.preprocessing import CLIP_S, Boundary
from moment_retrieval.ragged import Padding

LEARNING_RATE = 1e-4


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How features become rows: the arguments of ``clip_rows``, ``word_rows`` and ``boundary_clips``."""

    endpoints: bool
    sample: bool = True
    normalise_words: bool = True
    boundary: Boundary = Boundary.AFTER


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """One of the three.

    Attributes:
        config, model: class of its sizes; class that takes them.
        loss: of (output, batch, objective, how negatives are drawn).
        objective, reading, decoding: as released.
        batch: samples of a step, as released.
        whole_batches: what is left over at the end of an epoch is not trained on.
    """

    config: Callable[..., Any]
    model: Callable[[Any], Any]
    loss: Callable[..., Loss]
    reading: Reading
    decoding: Decoding
    batch: int
    whole_batches: bool = False
    objective: Objective = field(default_factory=Objective)

    def build(self, **changes: Any) -> Any:
        """A fresh model; ``changes`` to the released sizes by name."""
        return self.model(self.config(**changes))


BASELINES: Mapping[str, Baseline] = {
    "xml": Baseline(
        config=XmlConfig,
        model=Xml,
        loss=xml_loss,
        reading=Reading(endpoints=True),
        decoding=Decoding(alpha=20.0, end_offset_s=CLIP_S),
        batch=128,
    ),
    "reloclnet": Baseline(
        config=ReloclnetConfig,
        model=Reloclnet,
        loss=reloclnet_loss,
        reading=Reading(endpoints=False),
        decoding=Decoding(alpha=30.0),
        batch=512,
    ),
    "conquer": Baseline(
        config=ConquerConfig,
        model=Conquer,
        loss=conquer_loss,
        reading=Reading(endpoints=False, sample=False, normalise_words=False, boundary=Boundary.LAST),
        decoding=Decoding(alpha=0.0, shortest=0, longest=24, videos=10, end_offset_s=CLIP_S),
        batch=196,
        whole_batches=True,
    ),
}


def optimiser_of(
    baseline: str, model: nn.Module, *, lr: float = LEARNING_RATE, total: int = -1, warm_up: float = WARM_UP
) -> Optimizer:
    """The released optimiser of a baseline; ``total`` steps are planned (CONQUER's rate does not ask)."""
    exempt = [name for name, _ in model.named_parameters() if model.undecayed(name)]
    groups = parameter_groups(model, exempt=exempt)
    if baseline == "conquer":
        return CorrectedAdam(groups, lr=lr)
    return BertAdam(groups, lr=lr, total=total, warm_up=warm_up)


def config_from(baseline: str, values: Mapping[str, Any]) -> Any:
    """Sizes as ``dataclasses.asdict`` wrote them, from JSON; names of other things are left aside."""
    config = BASELINES[baseline].config
    known = {one.name for one in fields(config)}  # type: ignore[arg-type]
    given = {name: value for name, value in values.items() if name in known}
    if "padding" in given:
        given["padding"] = Padding(given["padding"])
    return config(**given)
