"""The training of one plan, from its first step or from where it was left, to its predictions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from moment_retrieval import formats
from moment_retrieval.baselines import BASELINES, optimiser_of
from moment_retrieval.batches import Batch
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.optim import warmed_up
from moment_retrieval.tables import RunTable
from moment_retrieval.training.board import Board
from moment_retrieval.training.epochs import Load, Loader, Schedule, ahead
from moment_retrieval.training.evaluation import SELECTED, Cost, Retriever, Watch, metrics_of
from moment_retrieval.training.events import Events
from moment_retrieval.training.material import Material, Split
from moment_retrieval.training.memory import used_mb
from moment_retrieval.training.plan import Plan
from moment_retrieval.training.precision import Precision
from moment_retrieval.training.progress import Keeper, Progress, is_finite, progress_of
from moment_retrieval.training.settings import Settings
from moment_retrieval.training.signals import Stopped, StopRequest, look_within
from moment_retrieval.training.stepping import NotFinite, Stepper
from moment_retrieval.training.team import Team

TOLD_EVERY_S = 1.0
LOSS_BATCHES = 4  # of a validation loss: enough for a curve
DROPOUT, NEGATIVES, GPU = "torch", "negatives", "cuda"


@dataclass(frozen=True, eq=False)
class Means:
    """What a trainer works with."""

    folder: Path
    plan: Plan
    settings: Settings
    material: Material
    team: Team
    retriever: Retriever
    stop: StopRequest
    events: Events | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the last event: candidates


class Trainer:
    """Holds weights and optimiser; ``run`` trains to the end."""

    def __init__(self, means: Means) -> None:
        self.means, self.plan, self.team = means, means.plan, means.team
        self.material, self.settings = means.material, means.settings
        way = BASELINES[self.plan.baseline]
        self.schedule = Schedule(
            len(self.material.samples),
            self.settings.batch,
            self.plan.epochs,
            self.plan.seed,
            way.whole_batches,
            self.plan.evaluations_per_epoch,
        )
        torch.manual_seed(self.plan.seed)
        self.model = self.settings.build(self.plan.baseline).to(self.team.device)
        if self.team.size == 1 and self.team.device.type == "cpu":
            look_within(self.model, means.stop.look)  # of several processes, the others would wait in the step
        torch.manual_seed(self.plan.seed + self.team.rank)  # of dropout
        self.negatives = torch.Generator().manual_seed(self.plan.seed)
        self.optimiser = optimiser_of(
            self.plan.baseline,
            self.model,
            lr=self.plan.lr,
            total=self.schedule.steps,
            warm_up=self.plan.warmup,
        )
        self.precision = Precision(self.plan.precision, self.team.device)
        self.loader = Loader(self.material.samples, self.team)
        self.stepper = Stepper(
            self.team.wrapped(self.model),
            self.optimiser,
            way.loss,
            self.settings.objective,
            self.loader,
            self.precision,
            self.team,
            lambda text: self.tell("notice", text=text),
        )
        self.keeper = Keeper(means.folder, self.plan, self.settings, self.material.data)
        self.progress = Progress()
        self.saved = self.progress
        self.pace = Pace()
        self.evaluation_s = 0.0  # that the last one took, with what is saved after it
        self.cost = Cost()  # of retrieving in it
        self.step_s = 0.0
        self.board: Board | None = None

    def run(self) -> dict[str, dict[str, float]]:
        """Train, then evaluate the best weights on every split and write what they retrieve.

        Returns:
            metrics by split.

        Raises:
            Stopped: it was asked to; ``last/`` is where it stood.
            NotFinite, OutOfMemory, ScoringError: as they say.
        """
        self._resume()
        with ExitStack() as stack:
            if self.team.first:
                self.board = stack.enter_context(Board(self.means.folder, self.progress.step))
            try:
                self._train()
            except Stopped:
                self._save_last()
                raise
            return self._finish()

    def tell(self, kind: str, **values: Any) -> None:
        """One event, from the first process."""
        if self.means.events is not None:
            self.means.events.tell(kind, **values)

    def _resume(self) -> None:
        found = self.keeper.last()
        if found is not None:
            self.progress = self.saved = progress_of(found)
            self.stepper.parts, self.precision.state = self.progress.parts, self.progress.scaler
            own = {name: one for name, one in self._own_generators().items() if name in found.generators}
            found.restore(self.model, self.optimiser, {NEGATIVES: self.negatives, **own})
        self.tell(
            "start",
            samples=self.schedule.samples,
            steps_per_epoch=self.schedule.per_epoch,
            steps=self.schedule.steps,
            device=_device_name(self.team),
            resumed_from_step=self.progress.step if found is not None else None,
        )
        if found is None:
            for text in self.material.notices:
                self.tell("notice", text=text)

    def _train(self) -> None:
        self._evaluate_if_due()  # a stop may have come before
        self.model.train()
        self.pace.rest()
        saved = time.monotonic()
        with ahead(self.loader, self.schedule.rows(self.progress.step), self.stepper.parts) as loads:
            while not self._over():
                self._step(next(loads))
                self._evaluate_if_due()
                if self.team.any(self.means.stop.asked):
                    raise Stopped
                if self.team.any(time.monotonic() - saved > self.plan.checkpoint_every_s):
                    self._save_last()
                    self.pace.rest()
                    saved = time.monotonic()

    def _over(self) -> bool:
        """No step is left, or the last evaluations brought nothing."""
        patience = self.plan.patience
        return self.progress.step >= self.schedule.steps or bool(patience and self.progress.without >= patience)

    def _step(self, load: Load) -> None:
        step, epoch = self.progress.step + 1, self.schedule.epoch(self.progress.step)
        lr = self._rate()
        with self._drawn_again():
            told = self.stepper.step(load, self.settings.objective.negatives(epoch, self.negatives), step)
        self.progress = replace(self.progress, step=step, parts=self.stepper.parts, scaler=self.precision.state)
        self.pace.add(told)
        if self.pace.due() or step == self.schedule.steps:
            self._tell_step(epoch, lr)

    @contextmanager
    def _drawn_again(self) -> Iterator[None]:
        """A step that is left before it changed a weight leaves the generators as it found them."""
        found = [(one, one.get_state()) for one in (self.negatives, *self._own_generators().values())]
        try:
            yield
        except Stopped:
            for one, state in found:
                one.set_state(state)
            raise

    def _rate(self) -> float:
        if self.plan.baseline == "conquer":
            return self.plan.lr
        return self.plan.lr * warmed_up(self.progress.step, self.schedule.steps, self.plan.warmup)

    def _tell_step(self, epoch: int, lr: float) -> None:
        if not self.team.first:
            return
        step = self.progress.step
        self.step_s, told = self.pace.taken()
        loss = told.pop("loss")
        self.tell(
            "step",
            step=step,
            epoch=epoch,
            loss=loss,
            terms=told,
            lr=lr,
            seconds_per_step=round(self.step_s, 5),
            memory_mb=used_mb(self.team.device),
            eta_s=round(self._left_s(), 1),
        )
        if self.board is not None:
            self.board.step(step, loss, told, lr)

    def _left_s(self) -> float:
        """Until the best weights are scored on every split."""
        step, schedule = self.progress.step, self.schedule
        steps, evaluations = schedule.steps - step, schedule.evaluations(step) - (self.progress.evaluated == step)
        if self._over():
            steps, evaluations = 0, int(self.progress.evaluated < step)
        last_s = self.cost.of(sum(len(split.answered) for split in self.material.splits.values()))
        return steps * self.step_s + evaluations * self.evaluation_s + last_s

    def _evaluate_if_due(self) -> None:
        step = self.progress.step
        if not self.schedule.evaluates(step) or self.progress.evaluated == step:
            return
        began = time.monotonic()
        metrics, loss = self.team.told_by_first(self._evaluation)
        if metrics is None:
            raise Stopped
        before = self.progress
        self.progress = before.after(metrics, metrics[SELECTED])
        best = self.progress.best_step == step
        if self.team.first:
            self._tell_evaluation(metrics, loss, best, time.monotonic() - began)
            if best:
                self._check_weights()
                self.keeper.save_best(self.progress, self._epoch(), self.model)
                self.tell("checkpoint", step=step, which="best")
        self._save_last()
        self.evaluation_s = time.monotonic() - began

    def _epoch(self) -> int:
        return self.schedule.epoch(max(0, self.progress.step - 1))

    def _evaluation(self) -> tuple[dict[str, float] | None, float | None]:
        """Metrics and loss on the validation split; None where a stop came first."""
        try:
            self.model.eval()
            val = self.material.splits["val"]
            watch = Watch(self.means.stop.look)
            metrics = metrics_of(self.means.retriever(self.model, [val], watch)["val"], val)
            self.cost = watch.cost(val)
            return metrics, self._loss_on(val)
        except Stopped:
            return None, None
        finally:
            self.model.train()
            self.pace.rest()

    def _loss_on(self, split: Split) -> float | None:
        """The loss of each query with its most relevant moment, always with the same negatives."""
        loader, size = Loader(split.samples, Team(self.team.device)), self.settings.batch
        draw = RandomNegatives(torch.Generator().manual_seed(self.plan.seed))
        parts = torch.arange(len(split.samples)).split(size)[:LOSS_BATCHES]
        if self.settings.objective.mask_positives or not len(split.samples):
            return None  # which other videos suit these queries is not known in full
        total = sum(len(part) * self._loss_of(loader.load(part).batches[0], draw) for part in parts)
        return total / sum(map(len, parts))

    def _loss_of(self, batch: Batch, draw: RandomNegatives) -> float:
        self.means.stop.look()
        loss: float = self.stepper.evaluated(batch.to(self.team.device), draw).total.item()
        return loss

    def _tell_evaluation(self, metrics: dict[str, float], loss: float | None, best: bool, took_s: float) -> None:
        """``took_s``: until now, without what is saved after it."""
        step, self.evaluation_s = self.progress.step, took_s
        values = {"metrics": metrics, "loss": loss, "best": best, "eta_s": round(self._left_s(), 1)}
        self.tell("evaluation", step=step, epoch=self._epoch(), split="val", **values)
        if self.board is not None:
            self.board.evaluation(step, "val", metrics, loss)

    def _save_last(self) -> None:
        if self.saved == self.progress:
            return
        states, self.saved = self._states(), self.progress
        if self.team.first and self.progress.step:
            self._check_weights()
            self.keeper.save_last(self.progress, self._epoch(), self.model, self.optimiser, states)
            self.tell("checkpoint", step=self.progress.step, which="last")

    def _check_weights(self) -> None:
        if not is_finite(self.model):
            raise NotFinite(f"a weight is not finite after step {self.progress.step}; the last checkpoint is good")

    def _own_generators(self) -> dict[str, torch.Generator]:
        """Those each process draws dropout from."""
        own = {DROPOUT: torch.default_generator}
        if self.team.device.type == "cuda":
            own[GPU] = torch.cuda.default_generators[self.team.device.index]
        suffix = f".{self.team.rank}" if self.team.rank else ""
        return {name + suffix: generator for name, generator in own.items()}

    def _states(self) -> dict[str, Tensor]:
        own = {name: generator.get_state() for name, generator in self._own_generators().items()}
        states = {name: state for part in self.team.everyones(own) for name, state in part.items()}
        return {NEGATIVES: self.negatives.get_state(), **states}

    def _finish(self) -> dict[str, dict[str, float]]:
        """Score the best weights; the first process alone, nobody waits."""
        if not self.team.first:
            return {}
        self.keeper.best().restore(self.model)
        self.model.eval()
        splits = list(self.material.splits.values())
        tables = self.means.retriever(self.model, splits, self.means.stop.look)
        metrics = {split.name: metrics_of(tables[split.name], split) for split in splits}
        if self.plan.keep_predictions:
            self._write(tables)
        step, best = self.progress.step, self.progress.best_step
        self.tell("done", step=step, best_step=best, metrics=metrics, **self.means.facts)
        return metrics

    def _write(self, tables: Mapping[str, RunTable]) -> None:
        for name, table in tables.items():
            formats.write_run(self.means.folder / f"predictions.{name}.json", table)


class Pace:
    """Seconds of the steps since something was last told, and the means of what they gave."""

    def __init__(self) -> None:
        self.told = self.before = time.monotonic()
        self.sums: dict[str, float] = {}
        self.count, self.spent = 0, 0.0

    def add(self, values: Mapping[str, float]) -> None:
        """One more step."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        now = time.monotonic()
        self.count, self.spent, self.before = self.count + 1, self.spent + now - self.before, now

    def rest(self) -> None:
        """What was done until now was no step."""
        self.before = time.monotonic()

    def due(self) -> bool:
        """Something may be told again."""
        return time.monotonic() - self.told >= TOLD_EVERY_S

    def taken(self) -> tuple[float, dict[str, float]]:
        """Seconds of a step, and the means; both begin anew."""
        seconds = self.spent / self.count
        means = {name: total / self.count for name, total in self.sums.items()}
        self.told, self.sums, self.count, self.spent = time.monotonic(), {}, 0, 0.0
        return seconds, means


def _device_name(team: Team) -> str:
    name = torch.cuda.get_device_name(team.device) if team.device.type == "cuda" else "cpu"
    return name if team.size == 1 else f"{team.size} x {name}"
