"""The data folder of `make run`: where its sockets and its secret lie, and the port beside it."""

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.embedded import folder as embedded_folder
from core.embedded.folder import EmbeddedError, make_var_folder
from core.embedded.services import check_port_free, port_from_environment
from core.env import SHORTEST_SECRET, local_secret


def var_of_length(length: int) -> Path:
    """A data folder whose ``s`` has a path of ``length`` bytes."""
    return Path("/" + "v" * (length - len("//s")))


def test_sockets_lie_beside_the_data_as_long_as_their_path_fits() -> None:
    assert embedded_folder.socket_folder(Path("/srv/judge/var")) == Path("/srv/judge/var/s")
    folder = embedded_folder.socket_folder(var_of_length(embedded_folder.LONGEST_FOLDER))
    assert len(str(folder / ".s.PGSQL.5432")) == embedded_folder.LONGEST_SOCKET


@pytest.mark.parametrize(
    "var",
    [var_of_length(embedded_folder.LONGEST_FOLDER + 1), Path("/srv/my judge/var"), Path("/srv/größe"), Path("/a,b?c")],
)
def test_folder_that_no_socket_or_url_can_carry_moves_to_tmp(var: Path) -> None:
    folder = embedded_folder.socket_folder(var)
    assert folder.parent == Path("/tmp") and folder == embedded_folder.socket_folder(var)
    assert folder != embedded_folder.socket_folder(var / "other")


def test_private_folder_is_made_for_its_owner_alone_and_any_other_is_refused(tmp_path: Path) -> None:
    folder = embedded_folder.make_private_folder(tmp_path / "s")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert embedded_folder.make_private_folder(folder) == folder
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(EmbeddedError):
        embedded_folder.make_private_folder(tmp_path / "link")
    if os.geteuid() == 0:  # only root can give a folder away
        os.chown(folder, 12345, 12345)
        with pytest.raises(EmbeddedError):
            embedded_folder.make_private_folder(folder)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(EmbeddedError, match="chmod 700"):
        embedded_folder.make_private_folder(tmp_path / "open")


def test_file_instead_of_the_data_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("")
    with pytest.raises(EmbeddedError, match=r"var.*MOMENTJUDGE_VAR"):
        embedded_folder.make_var_folder(tmp_path / "var")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_data_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EmbeddedError, match="MOMENTJUDGE_VAR"):
        embedded_folder.make_var_folder(tmp_path / "var")


def test_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    var, other = (make_var_folder(tmp_path / name) for name in ("var", "other"))
    secret = local_secret(var)
    assert len(secret) >= SHORTEST_SECRET and local_secret(var) == secret != local_secret(other)
    assert (var / "secret_key").stat().st_mode & 0o777 == 0o600


def test_racing_processes_agree_and_leave_no_drafts(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        secrets = set(pool.map(local_secret, [make_var_folder(tmp_path / "var")] * 64))
    assert len(secrets) == 1
    assert {path.name for path in (tmp_path / "var").iterdir()} == {"secret_key", "log"}


def test_damaged_secret_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("short\n")
    with pytest.raises(ImproperlyConfigured, match="Delete it"):
        local_secret(tmp_path)


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
