"""Every task waits in a queue that was chosen for it, and what people who judge wait for is alone in its own."""

from datetime import timedelta
from typing import Any

import pytest
from celery.beat import ScheduleEntry

from config.celery_app import QUEUES, app

JUDGING = {"batch_advance", "batch_extend", "batches_extend", "reviews_decide", "assignments_sweep", "batches_sweep"}


@pytest.fixture
def tasks() -> set[str]:
    """The names of all tasks of ours, as a worker registers them."""
    app.loader.import_default_modules()
    return {name for name in app.tasks if not name.startswith("celery.")}


def test_the_table_names_every_task_once_and_its_messages_go_there(tasks: set[str]) -> None:
    assert sorted(task for names in QUEUES.values() for task in names) == sorted(tasks)
    queues = {task: app.amqp.router.route({}, task)["queue"].name for task in tasks}
    assert queues == {task: queue for queue, names in QUEUES.items() for task in names}


def test_judging_shares_its_queue_with_nothing_and_a_worker_that_is_given_no_queue_does_not_take_it() -> None:
    assert set(QUEUES["judging"]) == {f"judging.tasks.{name}" for name in JUDGING}
    assert {queue.name for queue in app.conf.task_queues} == {"celery", "uploads"}


def test_beat_sends_the_sweeps_of_judging_to_its_queue(tasks: set[str]) -> None:
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert scheduled <= tasks
    assert scheduled & set(QUEUES["judging"]) == {"judging.tasks.assignments_sweep", "judging.tasks.batches_sweep"}


SCHEDULE = app.conf.beat_schedule


@pytest.mark.parametrize("name", SCHEDULE)
def test_a_planned_message_expires_a_little_before_the_next(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []
    entry = ScheduleEntry(name=name, app=app, **SCHEDULE[name])
    monkeypatch.setattr(app, "send_task", lambda *task, **options: calls.append(options))
    monkeypatch.setattr(app.tasks[entry.task], "apply_async", lambda *words, **options: calls.append(options))
    app.Beat(quiet=True).Service(app).get_scheduler(lazy=True).apply_async(entry, advance=False)
    (options,) = calls
    assert entry.schedule.run_every * 0.8 < timedelta(seconds=options["expires"]) < entry.schedule.run_every
