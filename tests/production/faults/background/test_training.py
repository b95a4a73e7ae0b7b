"""kill -9 while a baseline is trained: it goes on from its last checkpoint, nobody else writes, the page says so."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from django.db.models import F
from django.urls import reverse

from models_runner.experiments.progress import EventsFile
from models_runner.experiments.services import experiment_create
from models_runner.models import Run, Training
from tests.models_runner.benchmarks import features_drawn, features_of, trainable
from tests.production.faults.background.acts import admin_of, sweep, when
from tests.production.faults.disks import SmallDisk, small_disk
from tests.production.topology import Person, Site
from tests.production.topology.project import Scenario
from tests.production.topology.server import descendants
from tests.production.topology.site import eventually

SWEEP = "models_runner.tasks.trainings_sweep"
EPOCHS = 250
OPTIONS = {
    "epochs": EPOCHS,
    "evaluations_per_epoch": 0.01,
    "patience": 0,
    "padding": "compact",
    "sizes": {"hidden": 16, "heads": 2, "clips": 20, "words": 8},
    "checkpoint_every_s": 0.3,
}


@pytest.fixture
def disk(site: Site) -> Iterator[SmallDisk]:
    """Experiments lie on a small disk of their own; asked for before ``training``."""
    with small_disk(site.shared / "experiments", megabytes=16) as mount:
        yield mount


@pytest.fixture
def training(site: Site, tmp_path: Path) -> Iterator[Training]:
    """One that has written a checkpoint, and whose program is paused: what comes next is for the test to say."""
    scenario = Scenario.make(annotators=0)
    release = trainable(scenario.project)
    features = features_of(scenario.project, tmp_path)
    features_drawn(scenario.project, tmp_path)
    experiment = experiment_create(
        release=release, baseline="xml", top_n=1, seeds=1, features=features, options=OPTIONS, actor=None
    )
    new_training = experiment.trainings.get()
    checkpoint = folder_of(site, new_training) / "last" / "meta.json"
    try:
        when(lambda: checkpoint.is_file() and reload_training(new_training).step > 0)
        pause(site, new_training)
        yield new_training
    finally:
        go_on(site, new_training)
        Training.objects.filter(pk=new_training.pk, state="waiting").update(state="cancelled", ended_at=F("created_at"))


def reload_training(training: Training) -> Training:
    row = Training.objects.get(pk=training.pk)
    assert row.state != "failed", row.error
    return row


def folder_of(site: Site, training: Training) -> Path:
    """Where the site's workers train."""
    return site.shared / "experiments" / str(training.experiment.uuid) / f"seed-{training.seed}"


def programs(site: Site, training: Training) -> list[int]:
    """Living processes that train in this folder."""
    folder = str(folder_of(site, training))
    return [process.pid for process in psutil.process_iter(["cmdline"]) if folder in (process.info["cmdline"] or ())]


def pause(site: Site, training: Training) -> None:
    (program,) = programs(site, training)
    os.kill(program, signal.SIGSTOP)


def go_on(site: Site, training: Training) -> None:
    for program in programs(site, training):
        with suppress(ProcessLookupError):
            os.kill(program, signal.SIGCONT)


def starts(site: Site, training: Training) -> list[int]:
    """The steps at which the program began."""
    events = EventsFile(folder_of(site, training) / "events.jsonl").new()
    return [event["resumed_from_step"] or 0 for event in events if event["kind"] == "start"]


def steps_since_start(site: Site, training: Training) -> list[int]:
    """Steps that the last attempt told of."""
    steps: list[int] = []
    for event in EventsFile(folder_of(site, training) / "events.jsonl").new():
        if event["kind"] == "start":
            steps = []
        if event["kind"] == "step":
            steps.append(event["step"])
    return steps


def stamp(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of all files that a program writes; a worker's lock is none of them."""
    files = [path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def silent(training: Training) -> None:
    """As if nobody had heard of it for half a minute."""
    at_work = Training.objects.filter(pk=training.pk, state__in=Training.AT_WORK)
    at_work.update(heartbeat=F("heartbeat") - timedelta(minutes=1))


def check_trained_once(site: Site, training: Training, *, attempts: int, crashes: int) -> None:
    """It is done, it went on from a checkpoint, its runs are there once and scored, and no program is left."""
    eventually(lambda: reload_training(training).state == "done")
    current = reload_training(training)
    assert (current.attempts, current.crashes, current.error, current.step) == (attempts, 0, "", current.steps)
    logs = [worker.log_output() for worker in (*site.workers, site.gpu)]
    assert sum(one.count(f"training {training.pk} crashed (") for one in logs) == crashes
    first, *later = starts(site, training)
    assert first == 0 and len(later) == attempts - 1 and all(0 < step < current.steps for step in later)
    steps = steps_since_start(site, training)
    assert steps == sorted(set(steps)) and steps[0] > later[-1]
    eventually(lambda: not programs(site, training))
    runs = Run.objects.filter(project=training.experiment.project, source="baseline")
    eventually(lambda: set(runs.values_list("state", flat=True)) == {"scored"})
    assert sorted(runs.values_list("split", flat=True)) == ["test", "val"]
    assert {current.val_run_id, current.test_run_id} == set(runs.values_list("pk", flat=True))


def page_of(person: Person, training: Training) -> str:
    """Return the experiment's current page."""
    answer = person.get(f"/runs/experiment/{training.experiment.uuid}/")
    assert answer.status_code == 200
    return answer.text


def test_a_killed_worker_leaves_a_checkpoint_to_go_on_from(site: Site, training: Training) -> None:
    """The worker dies at once; the kernel tells its program, which writes a checkpoint and ends."""
    program = programs(site, training)
    assert len(program) == 1
    family = [site.gpu.pid, *descendants(site.gpu.pid)]
    for pid in set(family) - set(program):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not site.gpu.alive())
    go_on(site, training)
    eventually(lambda: not programs(site, training))
    before, person = stamp(folder_of(site, training)), admin_of(site, training.experiment.project)
    silent(training)
    sweep(SWEEP)
    eventually(lambda: reload_training(training).state == "waiting")
    text = page_of(person, training)
    assert "It goes on from its last checkpoint when a worker of the queue <code>gpu</code> takes it." in text
    assert '<span class="state waiting">waiting</span>' in text
    assert stamp(folder_of(site, training)) == before
    site.gpu.start()
    sweep(SWEEP)
    check_trained_once(site, training, attempts=2, crashes=0)
    assert '<span class="state done">done</span>' in page_of(person, training)


def test_a_killed_program_is_begun_again(site: Site, training: Training) -> None:
    """The worker lives and sees it: a crash, counted and told, and another attempt."""
    (program,) = programs(site, training)
    os.kill(program, signal.SIGKILL)
    check_trained_once(site, training, attempts=2, crashes=1)


def test_a_killed_host_is_missed_and_its_training_goes_on(site: Site, training: Training) -> None:
    """Worker and program die together."""
    site.kill("gpu")
    assert programs(site, training) == []
    site.bring_back("gpu")
    silent(training)
    sweep(SWEEP)
    check_trained_once(site, training, attempts=2, crashes=1)


def test_a_database_that_is_killed_stops_it_at_a_checkpoint(site: Site, training: Training) -> None:
    site.kill("postgres")
    go_on(site, training)
    eventually(lambda: not programs(site, training))
    site.bring_back("postgres")
    silent(training)
    sweep(SWEEP)
    check_trained_once(site, training, attempts=2, crashes=0)


def test_a_broker_that_is_killed_does_not_disturb_it(site: Site, training: Training) -> None:
    site.kill("redis")
    assert len(programs(site, training)) == 1
    step = reload_training(training).step
    go_on(site, training)
    eventually(lambda: reload_training(training).step > step)
    site.bring_back("redis")
    sweep(SWEEP)
    eventually(lambda: reload_training(training).state == "done")
    assert reload_training(training).attempts == 1
    assert starts(site, training) == [0]
    assert Run.objects.filter(project=training.experiment.project, source="baseline").count() == 2


def test_a_full_disk_is_reported_and_with_room_it_goes_on_from_its_last_checkpoint(
    disk: SmallDisk, site: Site, training: Training
) -> None:
    person = admin_of(site, training.experiment.project)
    disk.fill()
    go_on(site, training)
    eventually(lambda: Training.objects.get(pk=training.pk).state == "failed")
    assert "disk" in Training.objects.get(pk=training.pk).error
    assert "is full" in page_of(person, training)
    assert not programs(site, training)
    disk.make_room()
    answer = person.post(reverse("models_runner:training-resume", args=[training.uuid]))
    assert answer.status_code == 200
    check_trained_once(site, training, attempts=2, crashes=0)
