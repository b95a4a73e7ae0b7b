"""The web processes of `make run`: gunicorn starts and watches them, waitress reads requests and sends answers.

gunicorn's own threads read from the socket, so a client that sends half a request holds a thread for as long as it
likes. waitress reads all connections in one loop; a thread gets a request when the whole of it has arrived, and is free
once the answer is written down. In production nginx does the same in front of gunicorn's threads.
"""

import logging
import os
import tempfile
import time
from datetime import timedelta
from types import FrameType
from typing import Any

from django.conf import settings
from gunicorn.workers.base import Worker
from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import WSGITask
from waitress.utilities import Error

from core.exceptions import StorageFull, disk_is_full
from core.files import upload_temp_folder

TICK_S = 1.0  # the arbiter wants a sign of life more often than once a minute
CONNECTIONS = 800  # of one process, which may have 1,024 files open
SILENT_S = 120  # then a connection that sends nothing and is sent nothing is closed
BUFFERED_BYTES = 64 * 1024  # of a body; what is larger goes to a file
HEADER_BYTES = 64 * 1024
SPARE = 1.1  # a body is a file and the fields beside it


class DiskFull(Error):  # type: ignore[misc]
    code = 507
    reason = "Insufficient Storage"


class BufferedTask(WSGITask):  # type: ignore[misc]
    """One request: no body in the answer to HEAD, which Django leaves to the server, and a line in gunicorn's log."""

    @property
    def is_head(self) -> bool:
        return bool(self.request.command == "HEAD")

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        environ["RAW_URI"] = self.request.request_uri
        environ["wsgi.multiprocess"] = True
        if self.is_head:
            environ.pop("wsgi.file_wrapper", None)  # waitress would send the file past ``write``
        return environ

    def write(self, data: bytes) -> None:
        super().write(b"" if self.is_head else data)

    def finish(self) -> None:
        super().finish()
        self.channel.server.log_access(self)


class BufferedChannel(HTTPChannel):  # type: ignore[misc]
    task_class = BufferedTask
    request: Any = None  # what has arrived of the next one

    def received(self, data: bytes) -> bool:
        """Take in what has come; a body that finds no room on the disk is answered as such."""
        try:
            return bool(super().received(data))
        except OSError as error:
            if not disk_is_full(error):
                raise
        with self.requests_lock:
            request, self.request = self.request, None
            request.close()
            request.error, request.completed = DiskFull(StorageFull.message), True
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)
        return True

    def writable(self) -> bool:
        """Whether the loop is to send. Not while a thread does: waitress would ask again and again meanwhile."""
        if self.requests and 0 < self.total_outbufs_len < self.adj.outbuf_high_watermark:
            if not self.outbuf_lock.acquire(blocking=False):
                return False  # whoever holds it sends, and wakes the loop when the request is done
            self.outbuf_lock.release()
        return bool(super().writable())


class Answered:
    """Facts of an answer for gunicorn's log."""

    def __init__(self, task: BufferedTask) -> None:
        self.status, self.headers = task.status, task.response_headers
        in_one_piece = 0 if task.is_head else task.content_length or 0  # a file, which ``write`` has not seen
        self.sent = task.content_bytes_written or in_one_piece


class BufferedWorker(Worker):  # type: ignore[misc]
    """A worker class of gunicorn's: ``--worker-class core.buffered_worker.BufferedWorker``, on one address."""

    server: Any = None

    def run(self) -> None:
        """Serve until the arbiter says otherwise or is gone; then finish what has arrived."""
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of every request that waits for a thread
        tempfile.tempdir = str(upload_temp_folder())  # of large bodies; a /tmp may lie in memory
        self.signed_at = 0.0
        self.open: dict[int, Any] = {}  # by file number: the listening socket, connections, and what wakes the loop
        self.server = self._server()
        while self.alive and self.ppid == os.getppid():
            self._tick(TICK_S)
        self._finish()

    def _server(self) -> Any:
        (listener,) = self.sockets
        server = create_server(
            self.wsgi,
            map=self.open,
            sockets=[listener.sock],
            server_name=listener.getsockname()[0],
            threads=self.cfg.threads,
            backlog=self.cfg.backlog,
            connection_limit=CONNECTIONS,
            channel_timeout=SILENT_S,
            cleanup_interval=SILENT_S // 4,
            inbuf_overflow=BUFFERED_BYTES,
            max_request_header_size=HEADER_BYTES,
            max_request_body_size=int(max(_largest_bodies()) * SPARE),
            clear_untrusted_proxy_headers=False,  # TRUSTED_PROXIES says whom to believe
            asyncore_use_poll=True,
            ident="",
        )
        server.channel_class, server.log_access = BufferedChannel, self._log_access
        return server

    def _tick(self, seconds: float) -> None:
        if (now := time.monotonic()) > self.signed_at + TICK_S / 2:
            self.notify()
            self.signed_at = now
        wasyncore.loop(timeout=seconds, use_poll=True, map=self.open, count=1)

    def _finish(self) -> None:
        """Take no new connection; answer the requests that are here whole."""
        self.server.del_channel(self.open)
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while time.monotonic() < deadline and any(map(_at_work, self.server.active_channels.values())):
            self._tick(TICK_S / 10)
        self.server.task_dispatcher.shutdown(timeout=TICK_S)

    def handle_exit(self, number: int, frame: FrameType | None) -> None:
        super().handle_exit(number, frame)
        if self.server is not None:
            self.server.pull_trigger()  # the loop need not wait for its next tick

    def _log_access(self, task: BufferedTask) -> None:
        took = timedelta(seconds=time.time() - task.start_time)
        self.log.access(Answered(task), task.request, task.get_environment(), took)


def _largest_bodies() -> tuple[int, ...]:
    return settings.IMPORT_MAX_MB * 2**20, settings.RUN_MAX_MB * 2**20, settings.VIDEO_PIECE_BYTES


def _at_work(channel: Any) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)
