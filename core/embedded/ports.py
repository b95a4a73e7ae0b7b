"""The web server's port: which one, and whether it is free."""

import os
import socket

from core.embedded.errors import PortUnusable

DEFAULT_PORT = 8000
HOST = "127.0.0.1"


def port_from_environment() -> int:
    """The port in PORT, 8000 when that is unset or empty.

    Raises:
        PortUnusable: PORT is not a number from 1 to 65535.
    """
    text = os.environ.get("PORT") or str(DEFAULT_PORT)
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise PortUnusable(f"PORT must be a number from 1 to 65535; it is {text!r}. For example: make run PORT=8001")
    return int(text)


def check_port_free(port: int) -> None:
    """Return when the web server could listen on ``port`` now.

    Raises:
        PortUnusable: another program listens there, or this user may not.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does: closed connections may linger
        try:
            probe.bind((HOST, port))
        except PermissionError as error:
            raise PortUnusable(
                f"Port {port} is not allowed for this user. Choose another: make run PORT=8001"
            ) from error
        except OSError as error:
            other = 8001 if port != 8001 else 8002
            raise PortUnusable(
                f"Port {port} on {HOST} is taken by another program. Choose another: make run PORT={other}"
            ) from error
