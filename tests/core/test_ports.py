import socket

import pytest

from core.embedded.folder import EmbeddedError
from core.embedded.services import check_port_free, port_from_environment


def test_port_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, port in {"": 8000, "1": 1, "8001": 8001, "65535": 65535}.items():
        monkeypatch.setenv("PORT", text)
        assert port_from_environment() == port
    for text in ("0", "65536", "-1", "http", "80 01"):
        monkeypatch.setenv("PORT", text)
        with pytest.raises(EmbeddedError, match="make run PORT=8001"):
            port_from_environment()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_taken_port_is_named_with_a_remedy(host: str) -> None:
    with socket.create_server((host, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(EmbeddedError, match=rf"Port {port} .*make run PORT=8001"):
            check_port_free(port)
    check_port_free(port)
