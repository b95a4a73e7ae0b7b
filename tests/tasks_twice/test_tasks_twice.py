"""Every task of the site: a repeat, a row that is gone, and a message that comes too late leave all as it is."""

from typing import Any

import pytest

from config.celery_app import app
from tests.conftest import Messages
from tests.tasks_twice.digest import differences, digest
from tests.tasks_twice.scenes import GONE, SCENES, Ground, demo, moved, nothing, searched

ALL = sorted(name for name, scene in SCENES.items() if scene is not demo)
WITH_ROWS = [name for name in ALL if SCENES[name] not in (nothing, searched, moved)]


def run(task: str, args: tuple[Any, ...], messages: Messages) -> None:
    """The task, and all that it sends."""
    with messages():
        app.tasks[task].apply(args, throw=True)


def test_every_task_has_its_scene() -> None:
    ours = {name for name in app.tasks if not name.startswith("celery.")}
    assert ours == set(SCENES)


@pytest.mark.parametrize("task", ALL)
def test_a_repeat_changes_nothing(task: str, ground: Ground, messages: Messages) -> None:
    """Nor does a message for a row that is gone."""
    scene = SCENES[task](ground)
    if task in WITH_ROWS:
        before = digest()
        run(task, (GONE, *scene.args[1:]), messages)
        assert differences(before, digest()) == []
    run(task, scene.args, messages)
    once = digest()
    run(task, scene.args, messages)
    assert differences(once, digest()) == []


@pytest.mark.parametrize("task", WITH_ROWS)
def test_work_that_is_over_is_left_alone(task: str, ground: Ground, messages: Messages) -> None:
    scene = SCENES[task](ground)
    if scene.over is None:
        pytest.skip("nothing can end it but itself")
    begin = digest()
    with messages():
        scene.over()
    before = digest()
    assert before.dangling <= begin.dangling
    run(task, scene.args, messages)
    after = differences(before, digest())
    assert [said for said in after if not scene.told_in or scene.told_in not in said.split()] == []
