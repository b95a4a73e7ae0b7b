"""Waking a task: after commit, and without a broker no more than a warning."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from celery import Celery, current_app
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import ResponseError
from structlog.contextvars import bound_contextvars, get_contextvars

from core import messages as sending
from core.messages import send_on_commit
from judging.demo.services import VIDEO_TASK
from judging.projects import services as projects
from judging.releases import services as releases
from judging.work.services import batches
from models_runner.leaderboard.services.releases import READY_RELEASES
from tests.conftest import Messages

TASK = "judging.tasks.batch_advance"


@pytest.fixture
def sent_messages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Provide broker messages, as in production."""
    calls: list[tuple[object, ...]] = []
    pretend(monkeypatch, lambda *message, **options: calls.append(message))
    return calls


def pretend(monkeypatch: pytest.MonkeyPatch, send_task: Callable[..., object]) -> None:
    """Let messages go through ``send_task`` instead of being done in place."""
    app = SimpleNamespace(conf=SimpleNamespace(task_always_eager=False), send_task=send_task)
    monkeypatch.setattr(sending, "current_app", app)
    monkeypatch.setattr(sending, "_unavailable_until", 0.0)


@pytest.mark.django_db
def test_only_after_commit_and_never_when_undone(sent_messages: list[object], messages: Messages) -> None:
    with messages(), transaction.atomic():
        send_on_commit(TASK, 5)
        assert sent_messages == []
    with messages(), transaction.atomic():
        send_on_commit(TASK, 6)
        transaction.set_rollback(True)
    assert sent_messages == [(TASK, (5,))]


@pytest.mark.parametrize(
    "error", [OperationalError("no broker"), ConnectionRefusedError("no broker"), ResponseError("MISCONF")]
)
def test_no_broker(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    pretend(monkeypatch, Mock(side_effect=error))
    with caplog.at_level(logging.WARNING, logger="core.messages"):
        sending._send(TASK, (5,))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"the broker is away ({error}); judging.tasks.batch_advance(5,)" in record.getMessage()


def test_an_unavailable_broker_is_not_tried_again_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    send_task, start, pause = Mock(side_effect=OperationalError("no broker")), time.monotonic(), sending.UNAVAILABLE_S
    pretend(monkeypatch, send_task)
    for seconds, tried in ((0, 1), (1, 1), (pause - 1, 1), (pause, 2), (pause + 1, 2)):
        monkeypatch.setattr(sending, "time", SimpleNamespace(monotonic=lambda now=start + seconds: now))
        sending._send(TASK, (5,))
        assert send_task.call_count == tried, seconds


@pytest.fixture
def aside(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadPoolExecutor]:
    """Messages are sent as in a web process; all of them have been once this is shut down."""
    monkeypatch.setattr(sending, "_aside", None)
    sending.send_aside()
    assert sending._aside is not None
    yield sending._aside
    sending._aside.shutdown()


@pytest.mark.django_db
def test_a_page_waits_for_no_broker(
    monkeypatch: pytest.MonkeyPatch, messages: Messages, aside: ThreadPoolExecutor
) -> None:
    hangs, calls = threading.Event(), []

    def send_task(*message: object, **options: object) -> None:
        assert hangs.wait(30)
        calls.append((*message, get_contextvars()["request_id"]))

    pretend(monkeypatch, send_task)
    with bound_contextvars(request_id="r-1"), messages(), transaction.atomic():
        send_on_commit(TASK, 5)
        send_on_commit(TASK, 6)
    assert calls == []  # the block has ended, the broker has not answered
    hangs.set()
    aside.shutdown()
    assert calls == [(TASK, (5,), "r-1"), (TASK, (6,), "r-1")]


@pytest.mark.django_db
def test_a_process_that_ends_sends_itself(
    sent_messages: list[object], messages: Messages, aside: ThreadPoolExecutor
) -> None:
    aside.shutdown()
    with messages(), transaction.atomic():
        send_on_commit(TASK, 5)
    assert sent_messages == [(TASK, (5,))]


@pytest.mark.django_db
def test_a_bug_is_raised_and_met_aside_it_is_logged(
    monkeypatch: pytest.MonkeyPatch, messages: Messages, aside: ThreadPoolExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    pretend(monkeypatch, Mock(side_effect=TypeError("a bug")))
    with pytest.raises(TypeError, match="a bug"):
        sending._send(TASK, (5,))
    with messages(), transaction.atomic():
        send_on_commit(TASK, 5)
    aside.shutdown()
    assert "judging.tasks.batch_advance(5,) was not sent" in caplog.text
    assert "TypeError: a bug" in caplog.text


@pytest.mark.filterwarnings("ignore:task_always_eager")
def test_a_broker_that_hangs_is_tried_once(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Each further try would let whoever waits for ``send_now`` wait as long again."""
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, "socket_timeout": 0.05}
    with socket.create_server(("127.0.0.1", 0)) as mute:
        app = Celery(broker=f"redis://127.0.0.1:{mute.getsockname()[1]}/0", set_as_current=False)
        app.conf.update(broker_transport_options=options, task_publish_retry=settings.CELERY_TASK_PUBLISH_RETRY)
        pretend(monkeypatch, app.send_task)
        assert sending.send_now(TASK, 5) is False
        mute.setblocking(False)
        mute.accept()[0].close()
        with pytest.raises(BlockingIOError):
            mute.accept()


def test_every_name_that_is_sent_is_a_task() -> None:
    names = [
        batches.ADVANCE_TASK,
        batches.EXTEND_TASK,
        releases.RELEASES.task,
        READY_RELEASES.task,
    ]
    names += [projects.PREPARATIONS.task, VIDEO_TASK, "annotation.tasks.video_cut_previews"]
    names += [entry["task"] for entry in current_app.conf.beat_schedule.values()]
    assert [name for name in names if name not in current_app.tasks] == []
