"""The units of docker/systemd, read as systemd reads them."""

import configparser
import re

from core.embedded.services import BASE_DIR


def test_every_unit_runs_ours_without_rights_comes_back_and_is_enabled_by_the_page() -> None:
    page = (BASE_DIR / "docs" / "deployment.md").read_text()
    paths = list((BASE_DIR / "docker" / "systemd").glob("*.service"))
    assert len(paths) > 3
    for path in paths:
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str  # type: ignore[assignment, method-assign]
        unit.read(path)
        service = unit["Service"]
        assert (service["User"], service["EnvironmentFile"]) == ("momentjudge", "/etc/momentjudge.env"), path
        assert service["ExecStart"].startswith("/srv/momentjudge/code/.venv/bin/python -m "), path
        assert (service["Restart"], service["NoNewPrivileges"], service["PrivateTmp"]) == ("always", "yes", "yes"), path
        assert re.fullmatch(r"\d+[GM]", service["MemoryMax"]), path
        assert path.stem in page
