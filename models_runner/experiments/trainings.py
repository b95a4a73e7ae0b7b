"""Trainings at work: a child process that trains, watched by the task; safe to repeat after any crash.

No ``JobKind``: a training waits for a device, not for a message; one that lost its worker may have stopped by itself; a
cancelled one is at work until its program has ended.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q

from core import clock
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible, StorageUnavailable
from core.jobs import durable
from core.messages import send_on_commit
from core.sql import only_one, wait_for_turn
from judging.webhooks.models import Event
from judging.webhooks.services import event_record
from models_runner.experiments import files
from models_runner.experiments.child import TrainingChild, folder_lock, status_words
from models_runner.experiments.deletion import deleted_files_sweep
from models_runner.experiments.devices import devices_named, devices_shown, devices_used
from models_runner.experiments.progress import EventsFile, Progress
from models_runner.experiments.selectors import state_of
from models_runner.leaderboard.services.runs import baseline_runs_make
from models_runner.models import SettingsSearch, Training
from moment_retrieval.errors import ScoringError
from moment_retrieval.training.events import Events

logger = logging.getLogger(__name__)
TASK, SEARCH_TASK = "models_runner.tasks.training_work", "models_runner.tasks.settings_search_work"
LOOK_S = 0.2  # between looks at the child
PROGRESS_EVERY_S = 1.0  # between writes; a cancel is seen then
LATE = timedelta(seconds=20)  # a training at work that was not looked at for so long has lost its worker
SWEEP_S = 10.0  # between sweeps, as config.celery_app plans them
CRASHES = 3
DONE, BAD_PLAN, FAILED, STOPPED = 0, 2, 3, 4  # status of the program
FULL = "The disk of experiments is full. Make room, then resume it: it goes on from its last checkpoint."
State = Training.State


@durable("models_runner.tasks.training_work", acks_late=False)
def training_work(*, training_id: int) -> None:
    """Train what waits, to its end; a repeat finds it at work or done. A device that is taken, here or by another
    worker, refuses: who ends sends the next in line."""
    devices, training = devices_used(settings.TRAIN_DEVICE, settings.TRAIN_GPUS), None
    device = devices_named(devices)
    try:
        with devices_lock(devices) as free, only_one("training", training_id) as alone:
            if free and alone:
                trainings_mark_failed(Q(device=device))
                deleted_files_sweep()  # sweeps may run where the disk of experiments is not
                training = training_claim(training_id=training_id, device=device)
            if training is not None and not _train(training):
                training = None  # no other is sent at once
    finally:
        if training is not None:
            next_send()


@contextmanager
def devices_lock(devices: Sequence[str]) -> Iterator[bool]:
    """Whether a training has all of them for itself; else it keeps none."""
    with ExitStack() as stack:
        free = all(stack.enter_context(only_one(f"device {device}")) for device in devices)
        if not free:
            stack.close()
        yield free


def training_claim(*, training_id: int, device: str) -> Training | None:
    """Take a waiting training; None where another worker did, or it does not wait."""
    now = clock.now()
    n_updated = Training.objects.filter(pk=training_id, state=State.WAITING).update(
        state=State.RUNNING, device=device, heartbeat=now, started_at=now, attempts=F("attempts") + 1
    )
    if not n_updated:
        return None
    trainings = Training.objects.select_related(
        "experiment__release", "experiment__project", "experiment__candidates__experiment"
    )
    return trainings.get(pk=training_id)


@contextmanager
def not_trainable(why: str) -> Iterator[None]:
    """Turn what is wrong with the training itself into NotPossible; storage that does not answer is waited for."""
    try:
        yield
    except StorageUnavailable:
        raise
    except (MomentJudgeError, ScoringError, OSError) as error:
        raise NotPossible(f"{why}: {error}") from error


def _train(training: Training) -> bool:
    """Run the program in the training's folder, and keep what comes of it. Returns whether it could be trained; where
    the storage does not answer it waits for a sweep, before its begin or its end."""
    try:
        with not_trainable("The training could not be prepared"):
            folder = files.plan_write(training)
        with folder_lock(folder) as lock_fd:
            if lock_fd is None:
                raise NotPossible("Another program still works in the folder of this training.")
            progress, status, words = _run(training, folder, lock_fd)
        _conclude(training, folder, progress, status, words)
    except StorageUnavailable as error:
        logger.warning("training %s waits for the storage: %s", training.pk, error.reason)
        training_stop_at_work(training, State.WAITING)
        return False
    except NotPossible as error:
        training_end(training, State.FAILED, str(error))
    except (OperationalError, InterfaceError):
        raise  # nothing can be written down; a sweep finds it
    except Exception as error:
        training_end(training, State.FAILED, f"{type(error).__name__}: {error}")
        raise
    return True


def _run(training: Training, folder: Path, lock_fd: int) -> tuple[Progress, int, str]:
    """Start the program and follow it to its end: its progress, its status, the end of its output."""
    progress, events = Progress(), EventsFile(folder / "events.jsonl")
    _take(progress, events)
    progress.begin()
    devices = devices_shown(settings.TRAIN_DEVICE, settings.TRAIN_GPUS)
    child = TrainingChild(settings.TRAIN_COMMAND, folder, lock_fd=lock_fd, cwd=settings.BASE_DIR, devices=devices)
    try:
        written_at = 0.0
        while not child.wait(LOOK_S):
            _take(progress, events)
            if time.monotonic() - written_at >= PROGRESS_EVERY_S:
                written_at = time.monotonic()
                if training_report(training, progress) != State.RUNNING:
                    break
    except BaseException:  # the database does not answer, or the worker has to end
        if child.end() < 0:  # killed, it could not say that it did not crash
            with suppress(OSError), Events(folder) as log:
                log.record("stopped", step=progress.step)
        raise
    status = child.end()
    _take(progress, events)
    training_report(training, progress)
    return progress, status, child.last_words()


def _take(progress: Progress, events: EventsFile) -> None:
    for event in events.new():
        progress.take(event)


def training_report(training: Training, progress: Progress) -> str:
    """Write down how far it is; returns the state, which may have changed."""
    at_work = Training.objects.filter(pk=training.pk, state__in=Training.AT_WORK)
    at_work.update(heartbeat=clock.now(), **progress.row())
    return Training.objects.values_list("state", flat=True).get(pk=training.pk)


def _conclude(training: Training, folder: Path, progress: Progress, status: int, words: str) -> None:
    """Act on how training ended."""
    training.refresh_from_db(fields=["state", "crashes"])
    if training.state == State.CANCELLING:
        training_stop_at_work(training, State.CANCELLED)
    elif status == DONE:
        with not_trainable("It was trained, but its answers could not be kept"):
            runs = baseline_runs_make(training=training, folder=folder)
        training_end(training, State.DONE, runs=runs)
    elif status in (BAD_PLAN, FAILED) or progress.ended == "failed":  # torchrun has a status of its own
        last = words.splitlines()[-1] if words else ""
        training_end(training, State.FAILED, progress.reason or last or f"It ended with {status_words(status)}.")
    elif status == STOPPED or progress.ended == "stopped":
        training_stop_at_work(training, State.WAITING)
    elif files.disk_is_full(folder):
        training_end(training, State.FAILED, FULL)
    else:
        training_crash(training, f"It ended with {status_words(status)} at step {progress.step:,}.", words)


@transaction.atomic
def training_end(
    training: Training, state: Training.State, error: str = "", *, runs: Mapping[str, Any] | None = None
) -> None:
    """The training is over, done or failed; a cancel that came meanwhile comes too late."""
    changed = Training.objects.filter(pk=training.pk, state__in=Training.AT_WORK).update(
        state=state, error=error[:2000], ended_at=clock.now(), eta_s=None, **(runs or {})
    )
    if not changed:
        return
    files.prepared_remove(training)
    of, best = training.experiment, Training.objects.values_list("best", flat=True).get(pk=training.pk)
    details = {"name": of.name, "seed": training.seed, "state": str(state), "best": best and round(best, 4)}
    audit_record(project=of.project, actor=None, action="experiment.finish", subject=of.uuid, **details)
    logger.info("training %s %s%s", training.pk, state, f": {error}" if error else "")
    _end_record(training)


def _end_record(training: Training) -> None:
    """Record the event that a benchmark run has ended, with the last of its seeds; in the transaction of that."""
    wait_for_turn("experiment-end", training.experiment_id)  # of two seeds that end at once, one sees both
    trainings = list(Training.objects.filter(experiment=training.experiment_id))
    if any(row.state in (State.WAITING, *Training.AT_WORK) for row in trainings):
        return
    experiment = training.experiment
    about = {"experiment": experiment.uuid, "state": state_of(trainings)}
    event_record(project_id=experiment.project_id, event=Event.EXPERIMENT_ENDED, **about)


def training_stop(training: Training, state: Training.State) -> None:
    """Not at work any more, and not over for good: cancelled, or waiting again."""
    ended = clock.now() if state == State.CANCELLED else None
    Training.objects.filter(pk=training.pk).update(state=state, ended_at=ended, eta_s=None)
    training.state, training.ended_at = state, ended
    if state == State.CANCELLED:
        files.prepared_remove(training)  # before the commit: who resumes it waits until they are gone
        _end_record(training)


@transaction.atomic
def training_stop_at_work(training: Training, state: Training.State) -> None:
    """``training_stop`` for one at work; a cancel goes first."""
    row = Training.objects.select_for_update().filter(pk=training.pk, state__in=Training.AT_WORK).first()
    if row is not None:
        training_stop(row, State.CANCELLED if row.state == State.CANCELLING else state)


def training_crash(training: Training, how: str, words: str = "") -> None:
    """Count an attempt that ended without a word; it goes on from its last checkpoint, but not from one for ever."""
    crashes = training.crashes + 1
    Training.objects.filter(pk=training.pk).update(crashes=crashes)
    logger.warning("training %s crashed (%s of %s): %s", training.pk, crashes, CRASHES, how)
    if crashes < CRASHES:
        training_stop_at_work(training, State.WAITING)
    else:
        last = f" The end of what it printed: {words[-1000:]}" if words else ""
        training_end(training, State.FAILED, f"It crashed {CRASHES} times without a newer checkpoint. {how}{last}")


def trainings_mark_failed(which: Q) -> int:
    """Put right what workers left that were killed; call it for trainings that no worker can be at. The program
    was asked to end by the kernel; where it said that it stopped, that was no crash."""
    trainings = Training.objects.select_related("experiment__project").filter(which, state__in=Training.AT_WORK)
    for training in trainings:
        progress = Progress()
        _take(progress, EventsFile(files.folder_of(training) / "events.jsonl"))
        if training.state == State.CANCELLING or progress.ended == "stopped":
            training_stop_at_work(training, State.WAITING)
        else:
            training_crash(training, f"Its worker ended at step {progress.step:,}.")
    return len(trainings)


def next_send(*, expires_s: float | None = None) -> None:
    """Wake the training, or the search over settings, that has waited longest."""
    line = []
    for model, task in ((Training, TASK), (SettingsSearch, SEARCH_TASK)):
        waiting = model.objects.filter(state=State.WAITING).order_by("created_at", "pk")
        line += [(created_at, task, pk) for created_at, pk in waiting.values_list("created_at", "pk")[:1]]
    if line:
        _, task, pk = min(line)
        send_on_commit(task, pk, expires_s=expires_s)


@shared_task(name="models_runner.tasks.trainings_sweep")
def trainings_sweep(now: datetime | None = None) -> None:
    """Put right what lost its worker; wake who has waited longest: its message may have been lost; clear what was
    deleted. While all devices are at work no worker takes it, and it expires when the next sweep comes."""
    now = now or clock.now()
    stale = Training.objects.filter(state__in=Training.AT_WORK, heartbeat__lte=now - LATE)
    for pk in stale.values_list("pk", flat=True):
        with only_one("training", pk) as alone:
            if alone:
                trainings_mark_failed(Q(pk=pk, heartbeat__lte=now - LATE))
    next_send(expires_s=SWEEP_S)
    deleted_files_sweep()
