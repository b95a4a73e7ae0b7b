"""Searches over settings at work: a child process that trains one trial after the other, watched by the task.

The folder of a search holds all of its state: whoever repeats the task goes on there. As a training, a search waits for
a device and takes it for itself (``models_runner.experiments.trainings``).
"""

import logging
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q

from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible, StorageUnavailable
from core.jobs import durable, swept
from core.messages import send_on_commit
from core.sql import only_one
from models_runner.experiments import files
from models_runner.experiments.child import TrainingChild, folder_lock, status_words
from models_runner.experiments.deletion import deleted_files_sweep
from models_runner.experiments.devices import devices_named, devices_shown, devices_used
from models_runner.experiments.progress import EventsFile, Progress
from models_runner.experiments.trainings import (
    BAD_PLAN,
    CRASHES,
    FULL,
    LATE,
    SEARCH_TASK,
    devices_lock,
    next_send,
    not_trainable,
    trainings_mark_failed,
)
from models_runner.models import SettingsSearch, Training
from moment_retrieval.errors import ScoringError
from moment_retrieval.training.events import EVENTS, Events
from moment_retrieval.training.trials import (
    FAILED,
    RUNNING,
    TRIAL,
    WAITING,
    Trial,
    Tuning,
    trial_at,
    trial_folder,
)

logger = logging.getLogger(__name__)
LOOK_S = 0.2  # between looks at the child
PROGRESS_EVERY_S = 1.0  # between writes; a cancel is seen then
SWEEP_S = 60.0  # between sweeps
ONE_GPU = 1  # of a search, however many a training takes
WORKED_THROUGH = (0, 1)  # status of a program that tried all settings, 1 where some trials failed
State = Training.State


@durable(SEARCH_TASK, acks_late=False)
def settings_search_work(*, search_id: int) -> None:
    """Go on with a search that waits, to its end; a repeat finds it at work or done. A device that is taken refuses:
    who ends sends the next in line."""
    devices, search = devices_used(settings.TRAIN_DEVICE, ONE_GPU), None
    device = devices_named(devices)
    try:
        with devices_lock(devices) as free, only_one("settings search", search_id) as alone:
            if free and alone:
                trainings_mark_failed(Q(device=device))
                searches_mark_failed(Q(device=device))
                deleted_files_sweep()
                search = search_claim(search_id=search_id, device=device)
            if search is not None and not _search(search):
                search = None  # no other is sent at once
    finally:
        if search is not None:
            next_send()


def search_claim(*, search_id: int, device: str) -> SettingsSearch | None:
    """Take a waiting search; None where another worker did, or it does not wait."""
    now = clock.now()
    n_updated = SettingsSearch.objects.filter(pk=search_id, state=State.WAITING).update(
        state=State.RUNNING, device=device, heartbeat=now, started_at=now, attempts=F("attempts") + 1
    )
    searches = SettingsSearch.objects.select_related("release", "project", "candidates__experiment")
    return searches.get(pk=search_id) if n_updated else None


@dataclass
class Watch:
    """The trials of a search as they lie in its folder; one that has ended is read once."""

    folder: Path
    tuning: Tuning
    ended: dict[int, Trial] = field(default_factory=dict)
    events: dict[int, tuple[EventsFile, Progress]] = field(default_factory=dict)

    def look(self) -> dict[str, Any]:
        """Return the row of the table of searches. Raises ScoringError."""
        trials, current = [], dict[str, Any]()
        for number, setting in enumerate(self.tuning.settings(), start=1):
            trial = self.ended.get(number) or trial_at(self.folder, number, setting)
            if (trial_folder(self.folder, number) / TRIAL).is_file():
                self.ended[number] = trial
            if trial.state == RUNNING:
                current = self._current(number)
            trials.append({name: value for name, value in asdict(trial).items() if name != "number"})
        n_done = sum(trial["state"] not in (WAITING, RUNNING) for trial in trials)
        return {"trials": trials, "n_done": n_done, "current": current}

    def begin(self) -> None:
        """Forget how an earlier attempt ended, as the program starts. Raises ScoringError."""
        self.look()
        for _, progress in self.events.values():
            progress.begin()

    def _current(self, number: int) -> dict[str, Any]:
        file = EventsFile(trial_folder(self.folder, number) / EVENTS)
        events, progress = self.events.setdefault(number, (file, Progress()))
        for event in events.new():
            progress.take(event)
        names = ("step", "steps", "epoch", "loss", "eta_s", "ended", "has_checkpoint")
        return {"number": number, **{name: getattr(progress, name) for name in names}}


def _search(search: SettingsSearch) -> bool:
    """Run the program in the search's folder, and keep what comes of it. Returns whether it could be run; where the
    storage does not answer it waits for a sweep."""
    try:
        with not_trainable("The search could not be prepared"):
            folder = files.tuning_write(search)
            watch = Watch(folder, Tuning.read(folder))
        with folder_lock(folder) as lock_fd:
            if lock_fd is None:
                raise NotPossible("Another program still works in the folder of this search.")
            status, output = _run(search, watch, lock_fd)
        _conclude(search, watch, status, output)
    except StorageUnavailable as error:
        logger.warning("search %s waits for the storage: %s", search.pk, error.reason)
        search_stop_at_work(search, State.WAITING)
        return False
    except (NotPossible, ScoringError) as error:
        search_end(search, State.FAILED, str(error))
    except (OperationalError, InterfaceError):
        raise  # nothing can be written down; a sweep finds it
    except Exception as error:
        search_end(search, State.FAILED, f"{type(error).__name__}: {error}")
        raise
    return True


def _run(search: SettingsSearch, watch: Watch, lock_fd: int) -> tuple[int, str]:
    """Start the program and follow it to its end: its status, the end of its output."""
    watch.begin()
    devices = devices_shown(settings.TRAIN_DEVICE, ONE_GPU)
    child = TrainingChild(settings.TUNE_COMMAND, watch.folder, lock_fd=lock_fd, cwd=settings.BASE_DIR, devices=devices)
    try:
        written_at = 0.0
        while not child.wait(LOOK_S):
            if time.monotonic() - written_at >= PROGRESS_EVERY_S:
                written_at = time.monotonic()
                if search_report(search, watch) != State.RUNNING:
                    break
    except BaseException:  # the database does not answer, or the worker has to end
        if child.end() < 0:  # killed, it could not say that it did not crash
            _note_stop(watch)
        raise
    status = child.end()
    search_report(search, watch)
    return status, child.last_words()


def _note_stop(watch: Watch) -> None:
    with suppress(OSError, ScoringError):
        if current := watch.look()["current"]:
            with Events(trial_folder(watch.folder, current["number"])) as log:
                log.record("stopped", step=current["step"])


def search_report(search: SettingsSearch, watch: Watch) -> str:
    """Write down how far it is; returns the state, which may have changed. A trial more, or a checkpoint, forgives
    crashes."""
    row = watch.look()
    went_on = row["n_done"] > search.n_done or row["current"].get("has_checkpoint")
    forgiven = {"crashes": 0} if went_on else {}
    at_work = SettingsSearch.objects.filter(pk=search.pk, state__in=SettingsSearch.AT_WORK)
    at_work.update(heartbeat=clock.now(), **row, **forgiven)
    return SettingsSearch.objects.values_list("state", flat=True).get(pk=search.pk)


def _conclude(search: SettingsSearch, watch: Watch, status: int, output: str) -> None:
    """Act on how the search ended."""
    search.refresh_from_db(fields=["state", "crashes"])
    row, last = watch.look(), (output.splitlines() or [""])[-1]
    if search.state == State.CANCELLING:
        search_stop_at_work(search, State.CANCELLED)
    elif row["n_done"] == search.n_runs and status in WORKED_THROUGH:
        reasons = [trial["reason"] for trial in row["trials"] if trial["state"] == FAILED]
        if len(reasons) == search.n_runs:
            search_end(search, State.FAILED, f"Every trial failed, the first one so: {reasons[0] or last}")
        else:
            search_end(search, State.DONE)
    elif status == BAD_PLAN:
        search_end(search, State.FAILED, last or f"It ended with {status_words(status)}.")
    elif status in (0, -signal.SIGTERM) or _is_stopped(row):  # the last between two trials
        search_stop_at_work(search, State.WAITING)
    elif files.disk_is_full(watch.folder):
        search_end(search, State.FAILED, FULL)
    else:
        search_crash(search, f"It ended with {status_words(status)}, {row['n_done']} trials being over.", output)


def _is_stopped(row: Mapping[str, Any]) -> bool:
    """Return whether the program reported that it stopped in a trial."""
    return bool(row["current"].get("ended") == "stopped")


@transaction.atomic
def search_end(search: SettingsSearch, state: Training.State, error: str = "") -> None:
    """The search is over, done or failed; a cancel that came meanwhile comes too late."""
    changed = SettingsSearch.objects.filter(pk=search.pk, state__in=SettingsSearch.AT_WORK).update(
        state=state, error=error[:2000], ended_at=clock.now()
    )
    if not changed:
        return
    files.trials_prepared_remove(search)
    row = SettingsSearch.objects.get(pk=search.pk)
    details = {"name": row.name, "state": str(state), "done": row.n_done, "best": row.best and round(row.best, 4)}
    audit_record(project=search.project, actor=None, action="settings_search.finish", subject=row.uuid, **details)
    logger.info("search %s %s%s", search.pk, state, f": {error}" if error else "")


def search_stop(search: SettingsSearch, state: Training.State) -> None:
    """Set a search to cancelled, or to waiting: it can go on."""
    search.state, search.ended_at = state, clock.now() if state == State.CANCELLED else None
    search.save(update_fields=["state", "ended_at"])
    if state == State.CANCELLED:
        files.trials_prepared_remove(search)  # before the commit: who resumes it waits until they are gone


@transaction.atomic
def search_stop_at_work(search: SettingsSearch, state: Training.State) -> None:
    """``search_stop`` for one at work; a cancel goes first."""
    rows = SettingsSearch.objects.select_for_update()
    row = rows.filter(pk=search.pk, state__in=SettingsSearch.AT_WORK).first()
    if row is not None:
        search_stop(row, State.CANCELLED if row.state == State.CANCELLING else state)


def search_crash(search: SettingsSearch, how: str, output: str = "") -> None:
    """Count a crash; the search goes on from its last checkpoint, and fails after several crashes without a new one."""
    crashes = search.crashes + 1
    SettingsSearch.objects.filter(pk=search.pk).update(crashes=crashes)
    logger.warning("search %s crashed (%s of %s): %s", search.pk, crashes, CRASHES, how)
    if crashes < CRASHES:
        search_stop_at_work(search, State.WAITING)
    else:
        last = f" The end of what it printed: {output[-1000:]}" if output else ""
        search_end(search, State.FAILED, f"It crashed {CRASHES} times without a newer checkpoint. {how}{last}")


def searches_mark_failed(which: Q) -> None:
    """Put right what workers left that were killed; call it for searches that no worker can be at."""
    searches = SettingsSearch.objects.select_related("project").filter(which, state__in=SettingsSearch.AT_WORK)
    for search in searches:
        if search.state == State.CANCELLING or _has_stopped(search):
            search_stop_at_work(search, State.WAITING)
        else:
            search_crash(search, f"Its worker ended, {search.n_done} trials being over.")


def _has_stopped(search: SettingsSearch) -> bool:
    folder = files.search_folder(search)
    try:
        return _is_stopped(Watch(folder, Tuning.read(folder)).look())
    except (ScoringError, OSError):
        return False


@swept
def searches_sweep(now: datetime) -> None:
    """Put right what lost its worker, and wake who has waited longest: its message may have been lost."""
    stale = SettingsSearch.objects.filter(state__in=SettingsSearch.AT_WORK, heartbeat__lte=now - LATE)
    for pk in stale.values_list("pk", flat=True):
        with only_one("settings search", pk) as alone:
            if alone:
                searches_mark_failed(Q(pk=pk, heartbeat__lte=now - LATE))
    waiting = SettingsSearch.objects.filter(state=State.WAITING).order_by("created_at", "pk")
    if (first := waiting.first()) is not None:
        send_on_commit(SEARCH_TASK, first.pk, expires_s=SWEEP_S)
