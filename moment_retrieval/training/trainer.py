"""From checkpoint to checkpoint: steps, evaluations, what is saved, and at the end what the best weights retrieve."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from moment_retrieval import formats
from moment_retrieval.baselines import BASELINES, model_of, optimiser_of
from moment_retrieval.checkpoints import BEST, LAST, CheckpointManager, Progress, progress_of, weights_are_finite
from moment_retrieval.checkpoints import load as load_checkpoint
from moment_retrieval.data import Split, TrainingDataset
from moment_retrieval.distributed import Precision, StopRequest, Team, TrainingStopped, look_between_layers, used_mb
from moment_retrieval.losses import RandomNegatives
from moment_retrieval.metrics.recall import Task
from moment_retrieval.optim import warmed_up
from moment_retrieval.settings import Settings
from moment_retrieval.training.evaluation import TRAIN, Cost, RetrievalTimer, Retriever, metrics_of
from moment_retrieval.training.events import Events, TensorBoardWriter
from moment_retrieval.training.plan import BadPlan, Plan
from moment_retrieval.training.sampled_videos import VideoSampler
from moment_retrieval.training.stepper import NotFinite, Stepper
from moment_retrieval.training.steps import Loader, Schedule, StepBatches, prefetched

REPORT_EVERY_S = 1.0
LOSS_BATCHES = 4  # of a validation loss: enough for a curve
DROPOUT, NEGATIVES, GPU = "torch", "negatives", "cuda"  # generators of random numbers, in a checkpoint


@dataclass(eq=False)
class Trainer:
    """Holds weights and optimiser; ``run`` trains to the end."""

    folder: Path
    plan: Plan
    settings: Settings
    dataset: TrainingDataset
    team: Team
    retriever: Retriever
    stop: StopRequest
    events: Events | None = None  # of the first process
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the last event: candidates
    samplers: Mapping[str, VideoSampler] = field(default_factory=dict)  # of CONQUER that samples videos, by split

    def __post_init__(self) -> None:
        self.schedule = Schedule(
            len(self.dataset.samples),
            self.settings.batch,
            self.plan.epochs,
            self.plan.seed,
            self.settings.whole_batches,
            self.plan.evaluations_per_epoch,
        )
        torch.manual_seed(self.plan.seed)
        self.model = model_of(self.plan.baseline, self.settings.config).to(self.team.device)
        if self.team.size == 1 and self.team.device.type == "cpu":
            look_between_layers(self.model, self.stop.look)  # of several processes, the others would wait in the step
        torch.manual_seed(self.plan.seed + self.team.rank)  # of dropout
        self.negatives = torch.Generator().manual_seed(self.plan.seed)
        self.optimiser = optimiser_of(
            self.plan.baseline, self.model, lr=self.plan.lr, total=self.schedule.steps, warm_up=self.plan.warmup
        )
        self.precision = Precision(self.plan.precision, self.team.device)
        self.loader = Loader(self.dataset.samples, self.team, self.samplers.get(TRAIN))
        self.stepper = Stepper(
            self.team.wrapped(self.model),
            self.optimiser,
            BASELINES[self.plan.baseline].loss,
            self.settings.objective,
            self.loader,
            self.precision,
            self.team,
            lambda text: self.record("notice", text=text),
        )
        self.checkpoints = CheckpointManager(self.folder, self.plan, self.settings, self.dataset.data)
        self.progress = self.saved = Progress()
        self.timer = StepTimer()
        self.evaluation_s = 0.0  # that the last one took, with what is saved after it
        self.cost = Cost()  # of retrieving in it
        self.step_s = 0.0
        self.curves: TensorBoardWriter | None = None

    def run(self) -> dict[str, dict[str, float]]:
        """Train, then evaluate the best weights on every split and write what they retrieve.

        Returns:
            metrics by split.

        Raises:
            TrainingStopped: it was asked to; ``last/`` is where it stood.
            NotFinite, OutOfMemory, ScoringError: as they say.
        """
        self._resume()
        with ExitStack() as stack:
            if self.team.first:
                self.curves = stack.enter_context(closing(TensorBoardWriter(self.folder, self.progress.step)))
            try:
                self._train()
            except TrainingStopped:
                self._save_last()
                raise
            return self._finish()

    def record(self, kind: str, **values: Any) -> None:
        """One event, from the first process."""
        if self.events is not None:
            self.events.record(kind, **values)

    def _resume(self) -> None:
        checkpoint = self.checkpoints.last()
        if checkpoint is not None:
            self.progress = self.saved = progress_of(checkpoint)
            self.stepper.parts, self.precision.state = self.progress.parts, self.progress.scaler
            own = {name: one for name, one in self._own_generators().items() if name in checkpoint.generators}
            checkpoint.restore(self.model, self.optimiser, {NEGATIVES: self.negatives, **own})
        self.record(
            "start",
            samples=self.schedule.samples,
            steps_per_epoch=self.schedule.per_epoch,
            steps=self.schedule.steps,
            device=_device_name(self.team),
            resumed_from_step=self.progress.step if checkpoint is not None else None,
        )
        if checkpoint is None:
            for text in self.dataset.notices:
                self.record("notice", text=text)

    def _train(self) -> None:
        self._evaluate_if_due()  # a stop may have come before
        self.model.train()
        self.timer.rest()
        saved = time.monotonic()
        first = self.progress.step
        with prefetched(self.loader, self.schedule.rows(first), self.stepper.parts, first) as batches:
            while not self._over():
                self._step(next(batches))
                self._evaluate_if_due()
                if self.team.any(self.stop.requested):
                    raise TrainingStopped
                if self.team.any(time.monotonic() - saved > self.plan.checkpoint_every_s):
                    self._save_last()
                    self.timer.rest()
                    saved = time.monotonic()

    def _over(self) -> bool:
        """No step is left, or the last evaluations were no better."""
        patience = self.plan.patience
        return self.progress.step >= self.schedule.steps or bool(patience and self.progress.without >= patience)

    def _step(self, work: StepBatches) -> None:
        step, epoch = self.progress.step + 1, self.schedule.epoch(self.progress.step)
        lr = self.plan.lr
        if self.settings.warms_up:
            lr *= warmed_up(self.progress.step, self.schedule.steps, self.plan.warmup)
        with self._drawn_again():
            terms = self.stepper.step(work, RandomNegatives(self.negatives, self.settings.objective.pool(epoch)), step)
        self.progress = replace(self.progress, step=step, parts=self.stepper.parts, scaler=self.precision.state)
        self.timer.add(terms)
        if self.timer.due() or step == self.schedule.steps:
            self._record_step(epoch, lr)

    @contextmanager
    def _drawn_again(self) -> Iterator[None]:
        """A step that is left before it changed a weight leaves the generators as it found them."""
        states = [(one, one.get_state()) for one in (self.negatives, *self._own_generators().values())]
        try:
            yield
        except TrainingStopped:
            for one, state in states:
                one.set_state(state)
            raise

    def _record_step(self, epoch: int, lr: float) -> None:
        if not self.team.first:
            return
        step = self.progress.step
        self.step_s, terms = self.timer.report()
        loss = terms.pop("loss")
        self.record(
            "step",
            step=step,
            epoch=epoch,
            loss=loss,
            terms=terms,
            lr=lr,
            seconds_per_step=round(self.step_s, 5),
            memory_mb=used_mb(self.team.device),
            eta_s=round(self._left_s(), 1),
        )
        if self.curves is not None:
            self.curves.step(step, loss, terms, lr)

    def _left_s(self) -> float:
        """Until the best weights are scored on every split."""
        step, schedule = self.progress.step, self.schedule
        steps, evaluations = schedule.steps - step, schedule.evaluations(step) - (self.progress.evaluated == step)
        if self._over():
            steps, evaluations = 0, int(self.progress.evaluated < step)
        last_s = self.cost.of(sum(len(split.answered) for split in self.dataset.splits.values()))
        return steps * self.step_s + evaluations * self.evaluation_s + last_s

    def _evaluate_if_due(self) -> None:
        step = self.progress.step
        if not self.schedule.evaluates(step) or self.progress.evaluated == step:
            return
        began = time.monotonic()
        metrics, loss = self.team.result_of_first(self._evaluation)
        if metrics is None:
            raise TrainingStopped
        before = self.progress
        if self.plan.selected_by not in metrics:
            names = ", ".join(sorted(metrics))
            raise BadPlan(f"selected_by must be a metric of an evaluation, one of {names}; got {self.plan.selected_by}")
        self.progress = before.after(metrics, metrics[self.plan.selected_by])
        best = self.progress.best_step == step
        if self.team.first:
            self._record_evaluation(metrics, loss, best, time.monotonic() - began)
            if best:
                self._check_weights()
                self.checkpoints.save(BEST, self.progress, self._epoch(), self.model)
                self.record("checkpoint", step=step, which="best")
        self._save_last()
        self.evaluation_s = time.monotonic() - began

    def _epoch(self) -> int:
        return self.schedule.epoch(max(0, self.progress.step - 1))

    def _evaluation(self) -> tuple[dict[str, float] | None, float | None]:
        """Metrics and loss on the validation split; None where a stop came first."""
        try:
            self.model.eval()
            val = self.dataset.splits["val"]
            timer = RetrievalTimer(self.stop.look)
            metrics = metrics_of(self.retriever(self.model, [val], timer)["val"], val)
            self.cost = timer.cost(val)
            return metrics, self._loss_on(val)
        except TrainingStopped:
            return None, None
        finally:
            self.model.train()
            self.timer.rest()

    def _loss_on(self, split: Split) -> float | None:
        """The loss of each query with its most relevant moment, always with the same negatives."""
        sampler = self.samplers.get(split.name)
        loader, size = Loader(split.samples, Team(self.team.device), sampler), self.settings.batch
        draw = RandomNegatives(torch.Generator().manual_seed(self.plan.seed))
        parts = torch.arange(len(split.samples)).split(size)[:LOSS_BATCHES]
        if self.settings.objective.needs_positives or not len(split.samples):
            return None  # which other videos suit these queries is not known in full
        if sampler is not None and not sampler.suffices(split.samples.query, split.samples.video):
            return None  # a list is too short
        total = 0.0
        for number, part in enumerate(parts):
            self.stop.look()
            batch = loader.load(part, step=number).batches[0].to(self.team.device)
            total += len(part) * self.stepper.evaluated(batch, draw).total.item()
        return total / sum(map(len, parts))

    def _record_evaluation(self, metrics: dict[str, float], loss: float | None, best: bool, took_s: float) -> None:
        """``took_s``: until now, without what is saved after it."""
        step, self.evaluation_s = self.progress.step, took_s
        values = {"metrics": metrics, "loss": loss, "best": best, "eta_s": round(self._left_s(), 1)}
        self.record("evaluation", step=step, epoch=self._epoch(), split="val", **values)
        if self.curves is not None:
            self.curves.evaluation(step, "val", metrics, loss)

    def _save_last(self) -> None:
        if self.saved == self.progress:
            return
        states, self.saved = self._states(), self.progress
        if self.team.first and self.progress.step:
            self._check_weights()
            self.checkpoints.save(LAST, self.progress, self._epoch(), self.model, self.optimiser, states)
            self.record("checkpoint", step=self.progress.step, which="last")

    def _check_weights(self) -> None:
        if not weights_are_finite(self.model):
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
        states = {name: state for part in self.team.all_gather(own) for name, state in part.items()}
        return {NEGATIVES: self.negatives.get_state(), **states}

    def _finish(self) -> dict[str, dict[str, float]]:
        """Score the best weights; the first process alone, no other waits."""
        if not self.team.first:
            return {}
        load_checkpoint(self.folder / BEST).restore(self.model)
        self.model.eval()
        splits = list(self.dataset.splits.values())
        results = self.retriever(self.model, splits, self.stop.look)
        metrics = {split.name: metrics_of(results[split.name], split) for split in splits}
        for name, tables in results.items() if self.plan.keep_predictions else ():
            formats.write_run(self.folder / f"predictions.{name}.json", tables[Task.VCMR])
        step, best = self.progress.step, self.progress.best_step
        self.record("done", step=step, best_step=best, metrics=metrics, **self.facts)
        return metrics


class StepTimer:
    """Measures the steps since the last report: their seconds, and the means of their losses."""

    def __init__(self) -> None:
        self.reported_at = self.before = time.monotonic()
        self.sums: dict[str, float] = {}
        self.count, self.spent = 0, 0.0

    def add(self, values: Mapping[str, float]) -> None:
        """One more step."""
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        now = time.monotonic()
        self.count, self.spent, self.before = self.count + 1, self.spent + now - self.before, now

    def rest(self) -> None:
        """Restart the clock before a step."""
        self.before = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for a report."""
        return time.monotonic() - self.reported_at >= REPORT_EVERY_S

    def report(self) -> tuple[float, dict[str, float]]:
        """Seconds of a step, and the means; both begin anew."""
        seconds = self.spent / self.count
        means = {name: total / self.count for name, total in self.sums.items()}
        self.reported_at, self.sums, self.count, self.spent = time.monotonic(), {}, 0, 0.0
        return seconds, means


def _device_name(team: Team) -> str:
    name = torch.cuda.get_device_name(team.device) if team.device.type == "cuda" else "cpu"
    return name if team.size == 1 else f"{team.size} x {name}"
