"""Every task of the site: a repeat, a row that is gone, and a message that comes too late leave all as it is.

A message that was lost is sent again.
"""

from typing import Any

import pytest
from django.utils import timezone

from config.celery_app import app
from core import jobs
from core.jobs import SWEEPS, JobKind
from tests.conftest import Messages
from tests.tasks_twice.digest import differences, digest
from tests.tasks_twice.scenarios import GONE, TASK_SCENARIOS, Ground, demo, moved, nothing, searched

ALL = sorted(name for name, scenario in TASK_SCENARIOS.items() if scenario is not demo)
KINDS = {kind.task: kind for sweep in SWEEPS if isinstance(kind := getattr(sweep, "__self__", None), JobKind)}
WITH_ROWS = [name for name in ALL if TASK_SCENARIOS[name] not in (nothing, searched, moved)]


def run(task: str, args: tuple[Any, ...], messages: Messages) -> None:
    """The task, and all that it sends."""
    with messages():
        app.tasks[task].apply(args, throw=True)


def test_every_task_has_its_scenario() -> None:
    ours = {name for name in app.tasks if not name.startswith("celery.")}
    assert ours == set(TASK_SCENARIOS)


@pytest.mark.parametrize("task", ALL)
def test_a_repeat_changes_nothing(task: str, ground: Ground, messages: Messages) -> None:
    """Nor does a message for a row that is gone."""
    scenario = TASK_SCENARIOS[task](ground)
    if task in WITH_ROWS:
        before = digest()
        run(task, (GONE, *scenario.args[1:]), messages)
        assert differences(before, digest()) == []
    run(task, scenario.args, messages)
    once = digest()
    run(task, scenario.args, messages)
    assert differences(once, digest()) == []


@pytest.mark.parametrize("task", WITH_ROWS)
def test_work_that_is_over_is_left_alone(task: str, ground: Ground, messages: Messages) -> None:
    scenario = TASK_SCENARIOS[task](ground)
    if scenario.over is None:
        pytest.skip("nothing can end it but itself")
    begin = digest()
    with messages():
        scenario.over()
    before = digest()
    assert before.dangling <= begin.dangling
    run(task, scenario.args, messages)
    after = differences(before, digest())
    assert [line for line in after if not scenario.error_table or scenario.error_table not in line.split()] == []


@pytest.mark.parametrize("task", sorted(KINDS.keys() - {"judging.tasks.training_draw"}))  # which fails: draw again
def test_a_lost_message_is_sent_again_when_it_is_late(
    task: str, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing moves a row meanwhile: the message that a scenario sends reaches nobody."""
    kind, key, calls = KINDS[task], TASK_SCENARIOS[task](ground).args[0], list[tuple[object, ...]]()
    monkeypatch.setattr(jobs, "send_on_commit", lambda *message: calls.append(message))
    now = timezone.now()
    kind.sweep(now)
    assert not kind.moved or (task, key) not in calls
    kind.sweep(now + 2 * kind.late)
    assert (task, key) in calls
