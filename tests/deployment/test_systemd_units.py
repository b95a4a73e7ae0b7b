"""The units of docker/systemd, read as systemd reads them."""

import configparser
import re

import pytest

from core.embedded.services import BASE_DIR

UNITS = sorted((BASE_DIR / "docker" / "systemd").glob("*.service"))


def read(path) -> configparser.ConfigParser:  # type: ignore[no-untyped-def]
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(path)
    return parser


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_runs_ours_without_rights_and_comes_back(path) -> None:  # type: ignore[no-untyped-def]
    service = read(path)["Service"]
    assert service["User"] == "momentjudge"
    assert service["EnvironmentFile"] == "/etc/momentjudge.env"
    assert service["ExecStart"].startswith("/srv/momentjudge/code/.venv/bin/python -m ")
    assert service["Restart"] == "always"
    assert service["NoNewPrivileges"] == service["PrivateTmp"] == "yes"
    assert re.fullmatch(r"\d+[GM]", service["MemoryMax"])


def test_the_page_enables_every_unit() -> None:
    page = (BASE_DIR / "docs" / "deployment.md").read_text()
    assert UNITS
    assert [path.name for path in UNITS if path.stem not in page] == []
