"""Faults that a machine cannot be made to have: told, and in CI a failure where a package would do."""

import subprocess
from pathlib import Path

import pytest

from tests.production.faults import clocks, disks

NOT_ROOT = subprocess.CompletedProcess(["mount"], 32, "", "mount: permission denied")


@pytest.mark.parametrize(
    ("ci", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception), ("true", pytest.fail.Exception)]
)
def test_clocks_need_a_package(
    ci: str, outcome: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "FOLDER", tmp_path)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="apt-get install faketime"):
        clocks.library()


def test_disks_that_cannot_be_mounted_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    monkeypatch.setattr(subprocess, "run", lambda *words, **more: NOT_ROOT)
    message = "full disk does was not tried.*permission denied"
    with pytest.raises(pytest.skip.Exception, match=message), disks.small_disk(tmp_path / "disk"):
        raise AssertionError("it was mounted")
