"""Configuration of gunicorn so that its processes count together: --config python:config.web_processes

docker/gunicorn.conf.py takes it in. Processes write their figures to files of a folder of this start; the one that is
asked for /metrics adds them up. Nothing here may import prometheus_client before the folder is named.
"""

import os
import shutil
import tempfile
from typing import Any

NAME = "PROMETHEUS_MULTIPROC_DIR"


def folder_make() -> str:
    """A fresh folder: figures of an earlier start would be counted twice."""
    os.environ[NAME] = tempfile.mkdtemp(prefix="momentjudge-metrics-")
    return os.environ[NAME]


FOLDER = folder_make()
os.environ.setdefault("ACCESS_LOG_SKIPS", "judging:judgment-create judging:heartbeat")


def post_worker_init(worker: Any) -> None:
    """A process can answer: its connections are its own, none that it would share with the one it was forked from."""
    from judging.work.warm_up import warm_up_aside

    warm_up_aside()


def child_exit(server: Any, worker: Any) -> None:
    """A process ended: its gauges are gone, its counts stay."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
