"""Do clients that send half a request slow annotators down? The judging loop with and without 64 of them, in turns.

    python -m benchmarks.slow_clients --rounds 3 --json
    python -m benchmarks.slow_clients --slow 200 --annotators 4

Each round measures the loop of benchmarks/judging_loop.py three times on one site: alone, beside connections that have
sent half of their headers, and beside ones that have sent half of a body: the server closes none of them within a turn.
Method and figures: docs/benchmarks/slow-clients.md. Exit status 1: an error, or a loss of more than a tenth.
"""

import argparse
import socket
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from benchmarks import judging_loop
from benchmarks.common import arguments, machine, require_positive, say, show, stoppable
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


@contextmanager
def slow_clients(port: int, half: bytes, count: int) -> Iterator[None]:
    """Keep so many connections open inside the block, each of which has sent half of a request."""
    with ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection((HOST, port), 30))
            connection.sendall(half)
        yield


@stoppable
def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    loop = judging_loop.options_from(["--annotators", str(options.annotators), "--seconds", str(options.seconds)])
    rows: list[dict[str, Any]] = []
    with own_site(with_django=True) as site:
        for number in range(1, options.rounds + 1):
            for slow, half in HALVES.items():
                say(f"round {number}, slow clients: {slow}")
                count = options.slow if half else 0
                with slow_clients(site.port, half, count):
                    result = judging_loop.measure(site, options.annotators, loop)
                row = {"round": number, "slow": slow, "connections": count}
                names = ("judgments_per_s", "p95_ms", "web_cpu_ms", "errors")
                rows.append(row | {name: result[name] for name in names})
    loss_shares = losses(rows)
    show({"rows": rows, "lost": loss_shares, "machine": machine()}, as_json=options.json)
    return 1 if any(row["errors"] for row in rows) or max(loss_shares.values()) > MOST_LOST else 0


def losses(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the loop's loss of pace beside slow clients of each kind: the median over rounds, each by itself."""
    alone = {row["round"]: row["judgments_per_s"] for row in rows if row["slow"] == "none"}
    shares: dict[str, list[float]] = {slow: [] for slow in HALVES if slow != "none"}
    for row in rows:
        if row["slow"] != "none":
            shares[row["slow"]].append(1 - row["judgments_per_s"] / alone[row["round"]])
    return {slow: round(statistics.median(values), 3) for slow, values in shares.items()}


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = arguments(
        __doc__,
        slow=(64, "connections with half a request"),
        annotators=(8, "at once"),
        seconds=(20.0, "of judging per turn"),
        rounds=(3, "how often each is measured"),
    )
    options = parser.parse_args(argv)
    require_positive(parser, options, "slow", "annotators", "seconds", "rounds")
    return options


if __name__ == "__main__":
    sys.exit(main())
