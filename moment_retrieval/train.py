"""Trains by a plan, from its first step or from where it was left, to its predictions.

From top to bottom: ``train`` leads from a folder to an exit status, ``Trainer`` runs from checkpoint to checkpoint,
``Schedule`` says which samples each step sees, ``prefetched`` makes their batches while the step before is computed,
``Stepper`` changes the weights once. A folder holds a plan first, then events, checkpoints and predictions
(docs/training.md).
"""

from __future__ import annotations

import fcntl
import os
import queue
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from moment_retrieval import formats
from moment_retrieval.baselines import BASELINES, model_of, optimiser_of
from moment_retrieval.batches import Batch
from moment_retrieval.checkpoints import BEST, LAST, CheckpointManager, Progress, progress_of, weights_are_finite
from moment_retrieval.checkpoints import load as load_checkpoint
from moment_retrieval.data import Samples, Split, TrainingDataset, read_dataset, resident
from moment_retrieval.distributed import (
    OutOfMemory,
    Precision,
    StopRequest,
    Team,
    TrainingStopped,
    assemble,
    dismiss,
    give_back,
    is_lost,
    is_out_of_memory,
    keep_freed,
    look_between_layers,
    used_mb,
)
from moment_retrieval.errors import ScoringError
from moment_retrieval.jsonfiles import is_out_of_room
from moment_retrieval.losses import DrawNegatives, Loss, RandomNegatives
from moment_retrieval.metrics.recall import Task
from moment_retrieval.optim import warmed_up
from moment_retrieval.settings import EVALUATIONS_PER_EPOCH, Objective, Settings
from moment_retrieval.training import feature_rows
from moment_retrieval.training.evaluation import (
    TRAIN,
    AmongCandidates,
    CandidateRequest,
    Cost,
    RetrievalTimer,
    Retriever,
    WholeCorpus,
    first_stage,
    metrics_of,
)
from moment_retrieval.training.events import LOG, Events, TensorBoardWriter
from moment_retrieval.training.feature_rows import FeatureCache
from moment_retrieval.training.plan import PLAN, BadPlan, Plan, settings_of
from moment_retrieval.training.sampled_videos import VideoSampler, list_length

DONE, LOST, BAD_PLAN, FAILED, STOPPED = 0, 1, 2, 3, 4
LOCK = ".lock"
RESIDENT = 0.3  # share of a GPU's free memory that features may take
REPORT_EVERY_S = 1.0
LOSS_BATCHES = 4  # of a validation loss: enough for a curve
DROPOUT, NEGATIVES, GPU = "torch", "negatives", "cuda"  # generators of random numbers, in a checkpoint
AHEAD = 2  # batches that wait
HALVES = 2


def train(folder: Path, stop: StopRequest | None = None) -> int:
    """Carry out the plan in a folder, from the beginning or from where it was left.

    Returns:
        DONE; FAILED, the reason being an event; STOPPED when asked to; LOST, of several processes, where another ended
        without a message.

    Raises:
        BadPlan: the plan cannot be carried out, or another process does.
        ScoringError: there is no plan, or it is not JSON.
    """
    try:
        plan = _plan(folder)
    except ScoringError as error:
        _refuse(folder, str(error))
        raise
    if plan.threads:
        torch.set_num_threads(plan.threads)
    team = assemble(plan.device)
    try:
        with ExitStack() as stack:
            request, events = stack.enter_context(stop or StopRequest()), None
            if team.first:
                stack.enter_context(_locked(folder))
                events = stack.enter_context(Events(folder))
            return _carry_out(folder, plan, team, request, events)
    finally:
        dismiss(team)


def program(folder: Path) -> int:
    """``train``, where the process does nothing else."""
    keep_freed()
    return train(folder)


def _plan(folder: Path) -> Plan:
    plan = Plan.read(folder)
    settings_of(plan)
    if plan.device == "cuda" and not torch.cuda.is_available():
        raise BadPlan("device is cuda, and there is no GPU")
    return plan


def _refuse(folder: Path, reason: str) -> None:
    """Record that it cannot begin, where the folder is a training's and no other process trains there."""
    if os.environ.get("RANK", "0") == "0" and (folder / PLAN).is_file():
        with suppress(BadPlan), _locked(folder), Events(folder) as events:
            events.record("failed", reason=reason)


def _carry_out(folder: Path, plan: Plan, team: Team, stop: StopRequest, events: Events | None) -> int:
    trainer: Trainer | None = None

    def end(status: int, kind: str, **values: Any) -> int:
        if events is not None:
            events.record(kind, **values, step=0 if trainer is None else trainer.progress.step)
        return status

    def fail(reason: str) -> int:
        print(f"error: {reason}", file=sys.stderr)
        if events is None:  # the first process will only see that this one is gone
            with Events(folder) as own:
                step = 0 if trainer is None else trainer.progress.step
                own.record("failed", reason=f"process {team.rank}: {reason}", step=step)
        return end(FAILED, "failed", reason=reason)

    try:
        trainer = _trainer(folder, plan, team, stop, events)
        trainer.run()
    except TrainingStopped:
        return end(STOPPED, "stopped")
    except BadPlan as error:
        end(BAD_PLAN, "failed", reason=str(error))
        raise
    except ScoringError as error:
        return fail(str(error))
    except Exception as error:
        if reason := _known(error):
            return fail(reason)
        if events is not None:
            traceback.print_exc(file=events.log)
        traceback.print_exc()
        if team.size > 1 and is_lost(error):
            return LOST  # its own process says why, if it can
        log_name = "standard error" if events is None else LOG
        return fail(f"{type(error).__name__}: {error}; {log_name} says where")
    if team.first:
        shutil.rmtree(folder / feature_rows.FOLDER, ignore_errors=True)
    return DONE


def _known(error: Exception) -> str:
    """Describe an error of the machine, not of the program; else return nothing."""
    if is_out_of_memory(error):
        return f"out of memory: {error}"
    if is_out_of_room(error):
        return f"the disk is full: {error}; make room, then resume"
    return ""


def _trainer(folder: Path, plan: Plan, team: Team, stop: StopRequest, events: Events | None) -> Trainer:
    located = plan.located(folder)
    feature_cache = FeatureCache(folder / feature_rows.FOLDER, stop.look)
    dataset = resident(_prepare_dataset(located, feature_cache, team), team.device, RESIDENT)
    settings = settings_of(plan, dataset.sizes)
    splits = list(dataset.splits.values())
    facts: dict[str, Any] = {}
    retriever: Retriever = WholeCorpus(dataset.clips, settings.decoding, team.device)
    lists: dict[str, Tensor] = {}
    if plan.candidates is not None and team.first:
        request = CandidateRequest(
            settings.decoding.videos,
            dataset.clips,
            splits,
            feature_cache,
            team.device,
            list_length(settings.objective),
            dataset.query_ids,
        )
        stage = first_stage(located, request)
        facts = {"candidates": {"name": stage.name, "recall": stage.recall}}
        shares = ", ".join(f"{share:.4f} of {name}" for name, share in stage.recall.items())
        dataset.notices.append(f"candidates: {stage.name}; they hold {shares} (share of relevant moments)")
        retriever, lists = AmongCandidates(dataset.clips, settings.decoding, team.device, stage.candidates), stage.lists
    samplers = _samplers(plan, settings, dataset, team.result_of_first(lambda: lists))
    return Trainer(folder, plan, settings, dataset, team, retriever, stop, events, facts, samplers)


def _samplers(
    plan: Plan, settings: Settings, dataset: TrainingDataset, lists: Mapping[str, Tensor]
) -> dict[str, VideoSampler]:
    """Make samplers of videos for the training and for splits' losses. Raises BadPlan where a list is too short."""
    objective = settings.objective
    samplers = {
        name: VideoSampler(one, objective.sampled_videos, objective.sampled_pool, plan.seed)
        for name, one in lists.items()
    }
    if TRAIN in samplers:
        samplers[TRAIN].check(dataset.samples.query, dataset.samples.video, dataset.query_ids)
    return samplers


def _prepare_dataset(plan: Plan, feature_cache: FeatureCache, team: Team) -> TrainingDataset:
    """The first process prepares the features, the others read what it wrote."""
    dataset = read_dataset(plan, feature_cache) if team.first else None
    team.result_of_first(lambda: None)
    return dataset or read_dataset(plan, feature_cache)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other process train in this folder. Raises BadPlan where one does."""
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadPlan(f"{folder}: another process trains in this folder") from error
        yield


def _device_name(team: Team) -> str:
    name = torch.cuda.get_device_name(team.device) if team.device.type == "cuda" else "cpu"
    return name if team.size == 1 else f"{team.size} x {name}"


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


@dataclass(frozen=True)
class Schedule:
    """Which samples each step sees; nothing but the numbers of this is needed to go on from any step."""

    samples: int
    batch: int
    epochs: int
    seed: int
    whole_batches: bool = False  # what is left over at the end of an epoch is left out, unless it is all there is
    evaluations_per_epoch: float = EVALUATIONS_PER_EPOCH[20]  # may be less than 1

    @property
    def per_epoch(self) -> int:
        whole, rest = divmod(self.samples, self.batch)
        return whole + (rest > 0 and not (self.whole_batches and whole))

    @property
    def steps(self) -> int:
        return self.per_epoch * self.epochs

    @property
    def interval(self) -> int:
        """Steps from one evaluation to the next, as released: 136 // 0.05 is 2,719, since 0.05 is a little more."""
        return max(1, int(self.per_epoch // self.evaluations_per_epoch))

    def epoch(self, step: int) -> int:
        """The epoch, from 0, in which the step of this number, from 0, lies."""
        return step // self.per_epoch

    def evaluates(self, step: int) -> bool:
        """Whether an evaluation follows when so many steps are made; one always follows the last."""
        return step > 0 and (step % self.interval == 0 or step == self.steps)

    def evaluations(self, step: int) -> int:
        """How many follow, that of ``step`` among them, when so many steps are made."""
        before = max(0, step - 1)
        return -(-self.steps // self.interval) - before // self.interval if before < self.steps else 0

    def rows(self, first: int) -> Iterator[Tensor]:
        """The samples of every step from ``first``, counted from 0, to the end."""
        for epoch in range(self.epoch(first), self.epochs):
            order = torch.from_numpy(np.random.default_rng([self.seed, 0, epoch]).permutation(self.samples))
            parts = order.split(self.batch)[: self.per_epoch]
            yield from parts[max(0, first - epoch * self.per_epoch) :]


@dataclass(frozen=True)
class StepBatches:
    """A step's samples, and its batches, one unless memory asks for more."""

    rows: Tensor
    batches: list[Batch]  # what this process encodes, with the labels of all that the loss is computed of
    step: int = 0  # its number, from 0


@dataclass(frozen=True, eq=False)
class Loader:
    """Makes batches of samples."""

    samples: Samples
    team: Team
    sampler: VideoSampler | None = None  # draws videos beside the own ones

    def load(self, rows: Tensor, parts: int = 1, step: int = 0) -> StepBatches:
        """The batches of some samples, in as many parts; the number of the step says which videos are sampled."""
        sampled = (
            None if self.sampler is None else self.sampler(self.samples.query[rows], self.samples.video[rows], step)
        )
        videos = [None] * parts if sampled is None else sampled.chunk(parts)
        batches = [self._batch(*part) for part in zip(rows.chunk(parts), videos, strict=False)]
        return StepBatches(rows, batches, step)

    def _batch(self, rows: Tensor, sampled: Tensor | None) -> Batch:
        share = self.team.share(torch.arange(len(rows)))
        own = self.samples.batch(
            rows[share], pinned=self.team.device.type == "cuda", sampled=None if sampled is None else sampled[share]
        )
        if self.team.size == 1:
            return own
        return replace(
            own,
            start=self.samples.start[rows],
            end=self.samples.end[rows],
            similarity=self.samples.similarity[rows],
            positives=self.samples.positives_among(rows),
        )


@contextmanager
def prefetched(loader: Loader, rows: Iterator[Tensor], parts: int, first: int = 0) -> Iterator[Iterator[StepBatches]]:
    """The batches of ``rows``, made in a thread of their own, ``AHEAD`` of who takes them."""
    waiting: queue.Queue[StepBatches | BaseException | None] = queue.Queue(AHEAD)
    stop = threading.Event()

    def put(what: StepBatches | BaseException | None) -> None:
        while not stop.is_set():
            try:
                return waiting.put(what, timeout=0.1)
            except queue.Full:
                continue

    def fill() -> None:
        try:
            for step, some in enumerate(rows, start=first):
                if stop.is_set():
                    return
                put(loader.load(some, parts, step))
            put(None)
        except BaseException as error:  # it belongs to who takes the batches
            put(error)

    def batches() -> Iterator[StepBatches]:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    thread = threading.Thread(target=fill, name="batches", daemon=True)
    thread.start()
    try:
        yield batches()
    finally:
        stop.set()
        thread.join()


class NotFinite(ScoringError):
    """A loss or a weight is no finite number; nothing was changed by it."""


@dataclass
class Stepper:
    trained: nn.Module  # the model, wrapped for several processes
    optimiser: Optimizer
    loss: Callable[..., Loss]  # of the baseline
    objective: Objective
    loader: Loader
    precision: Precision
    team: Team
    notice: Callable[[str], None]  # takes messages for people
    parts: int = 1  # into how many parts a batch is cut; their gradients are added up

    def step(self, work: StepBatches, draw: DrawNegatives, number: int) -> dict[str, float]:
        """Change the weights once; the loss as ``loss`` and its terms by name.

        Raises:
            NotFinite: the loss is NaN or infinite; the weights are as before.
            OutOfMemory: half a batch does not fit either.
        """
        try:
            return self._step(work, draw, number)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self._halve(number, work)
        return self.step(work, draw, number)

    def evaluated(self, batch: Batch, draw: DrawNegatives) -> Loss:
        """The loss of a batch, no gradients."""
        with torch.no_grad(), self.precision.narrow():
            model = self.trained if self.team.size == 1 else self.trained.module.model
            return self.loss(model(batch), batch, self.objective, draw)

    def _step(self, work: StepBatches, draw: DrawNegatives, number: int) -> dict[str, float]:
        self.optimiser.zero_grad(set_to_none=True)
        if len(work.batches) != min(self.parts, len(work.rows)):
            work = self.loader.load(work.rows, self.parts, work.step)
        terms: dict[str, float] = {}
        for batch in work.batches:
            share = len(batch) / len(work.rows)
            for name, value in self._backward(batch.to(self.team.device), draw, number, share).items():
                terms[name] = terms.get(name, 0.0) + share * value
        self.precision.step(self.optimiser)
        return terms

    def _backward(self, batch: Batch, draw: DrawNegatives, number: int, share: float) -> dict[str, float]:
        with self.precision.narrow():
            output = self.trained(batch)
        loss = self.loss(output, batch, self.objective, draw)
        values = torch.stack([loss.total, *loss.terms.values()]).tolist()
        terms = dict(zip(("loss", *loss.terms), values, strict=True))
        if not torch.isfinite(torch.tensor(values)).all():
            raise NotFinite(f"the loss is not finite at step {number}: {_shown(terms)}; the last checkpoint is good")
        self.precision.backward(loss.total * share)
        return terms

    def _halve(self, number: int, work: StepBatches) -> None:
        """Cut batches in two, once. A process of several cannot: the others wait for it in the middle of a step."""
        self.optimiser.zero_grad(set_to_none=True)
        give_back(self.team.device)
        size = len(work.rows)
        if self.team.size > 1:
            raise OutOfMemory(f"out of memory at step {number} with a batch of {size} on {self.team.size} processes")
        if self.parts >= HALVES or size < HALVES:
            raise OutOfMemory(f"out of memory at step {number}, with half a batch of {size} too: plan a smaller batch")
        self.parts = HALVES
        self.notice(
            f"out of memory at step {number}: batches are computed in {HALVES} halves from here on, and negatives are "
            "drawn from the half a sample is in"
        )


def _shown(terms: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in terms.items())
