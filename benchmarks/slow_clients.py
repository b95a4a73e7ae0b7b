"""Do clients that send half a request slow annotators down? The judging loop with and without 64 of them, in turns.

    python -m benchmarks.slow_clients --rounds 3 --json
    python -m benchmarks.slow_clients --slow 200 --annotators 4

Each round measures the loop of benchmarks/judging_loop.py three times on one site: alone, beside connections that have
sent half of their headers, and beside ones that have sent half of a body. A connection that the server closes is opened
again. Method and figures: docs/benchmarks/slow-clients.md. Exit status 1: an error, or a loss of more than a tenth.
"""

import argparse
import logging
import selectors
import signal
import socket
import statistics
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from benchmarks import judging_loop
from benchmarks.common import arguments, machine, show
from benchmarks.own_site import HOST, own_site

MOST_LOST = 0.1  # of the pace
FIRST = "POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HALVES = {
    "none": b"",
    "headers": FIRST.encode(),
    "bodies": (
        f"{FIRST}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nusername=somebody"
    ).encode(),
}


@dataclass(frozen=True)
class Row:
    """One turn. ``reopened``: how often a slow client came back after the server had closed its connection."""

    round: int
    slow: str
    connections: int
    reopened: int
    judgments_per_s: float
    p95_ms: float
    web_cpu_ms: float
    errors: int


class SlowClients:
    """Connections that have sent half of a request, kept open by a thread."""

    def __init__(self, port: int, half: bytes, count: int) -> None:
        self.port, self.half = port, half
        self.reopened = 0
        self._ended = threading.Event()
        self._selector = selectors.DefaultSelector()
        for _ in range(count):
            self._open()
        self._thread = threading.Thread(target=self._keep_open, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            self._drop(key.fileobj)
        self._selector.close()

    def _open(self) -> None:
        connection = socket.create_connection((HOST, self.port), 30)
        connection.sendall(self.half)
        self._selector.register(connection, selectors.EVENT_READ)

    def _drop(self, connection: object) -> None:
        assert isinstance(connection, socket.socket)
        self._selector.unregister(connection)
        connection.close()

    def _keep_open(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(timeout=0.2):  # an answer, or the end: nothing else is ever sent
                self._drop(key.fileobj)
                self._open()
                self.reopened += 1


@contextmanager
def slow_clients(port: int, slow: str, count: int) -> Iterator[SlowClients]:
    clients = SlowClients(port, HALVES[slow], count if HALVES[slow] else 0)
    try:
        yield clients
    finally:
        clients.close()


def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    loop = judging_loop.options_from(["--annotators", str(options.annotators), "--seconds", str(options.seconds)])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows: list[Row] = []
    try:
        with own_site() as site:
            import django

            django.setup()
            logging.disable(logging.INFO)
            for number in range(1, options.rounds + 1):
                for slow, half in HALVES.items():
                    judging_loop.say(f"round {number}, slow clients: {slow}")
                    with slow_clients(site.port, slow, options.slow) as clients:
                        result = judging_loop.measure(site, options.annotators, loop)
                    count = options.slow if half else 0
                    figures = result.judgments_per_s, result.p95_ms, result.web_cpu_ms, result.errors
                    rows.append(Row(number, slow, count, clients.reopened, *figures))
    except KeyboardInterrupt:
        return 130
    lost = losses(rows)
    told = {"rows": [asdict(row) for row in rows], "lost": lost, "machine": machine()}
    show(told, as_json=options.json)
    return 1 if any(row.errors for row in rows) or max(lost.values()) > MOST_LOST else 0


def losses(rows: Sequence[Row]) -> dict[str, float]:
    """What the loop loses of its pace beside slow clients of each kind: the median over the rounds, each by itself."""
    alone = {row.round: row.judgments_per_s for row in rows if row.slow == "none"}
    kinds = [slow for slow in HALVES if slow != "none"]
    lost = {kind: [1 - row.judgments_per_s / alone[row.round] for row in rows if row.slow == kind] for kind in kinds}
    return {kind: round(statistics.median(values), 3) for kind, values in lost.items()}


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--slow", type=int, default=64, help="connections with half a request (64)")
    parser.add_argument("--annotators", type=int, default=8, help="at once (8)")
    parser.add_argument("--seconds", type=float, default=20, help="of judging per turn (20)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    given = parser.parse_args(argv)
    if given.slow < 1 or given.annotators < 1 or given.seconds <= 0 or given.rounds < 1:
        parser.error("--slow, --annotators, --seconds and --rounds must be positive")
    return given


if __name__ == "__main__":
    sys.exit(main())
