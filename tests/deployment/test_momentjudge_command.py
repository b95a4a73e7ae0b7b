"""docker/momentjudge with a double of systemd-run: the words, the user and the settings that a command gets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.embedded.services import BASE_DIR

CODE = "/srv/momentjudge/code"
PYTHON = f"{CODE}/.venv/bin/python"
DOUBLE = f"""\
#!{sys.executable} -SE
import json, sys
from pathlib import Path

Path(__file__).with_name("words").write_text(json.dumps(sys.argv[1:]))
sys.exit(4)
"""


def run_command(folder: Path, *words: str) -> tuple[list[str], list[str]]:
    """Return systemd-run's options, and the command's words as the process gets them."""
    double = folder / "systemd-run"
    double.write_text(DOUBLE)
    double.chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    process = subprocess.run([BASE_DIR / "docker" / "momentjudge", *words], cwd="/", env=environment, check=False)
    assert process.returncode == 4
    arguments: list[str] = json.loads((folder / "words").read_text())
    divide = arguments.index("--")
    return arguments[:divide], [expanded(word) for word in arguments[divide + 1 :]]


def expanded(word: str) -> str:
    """As systemd does it: two dollars are one, and one begins the name of a variable."""
    assert "$" not in word.replace("$$", "")
    return word.replace("$$", "$")


ODD_WORDS = ["$HOME", "${PATH}", "a$$b", "100 %h", "", "two\nlines", "--", "*", 'it\'s "quoted"']


@pytest.mark.parametrize("words", [["person_erase", "ada"], ["person_traces", *ODD_WORDS], []])
def test_a_command_gets_its_words_unharmed(words: list[str], tmp_path: Path) -> None:
    assert run_command(tmp_path, *words)[1] == [PYTHON, f"{CODE}/manage.py", *words]


def test_it_runs_as_the_processes_of_the_site_do(tmp_path: Path) -> None:
    arguments, _ = run_command(tmp_path, "retention", "--dry-run")
    unit = (BASE_DIR / "docker" / "systemd" / "momentjudge-web@.service").read_text().splitlines()
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    assert f"User={options['--uid']}" in unit
    assert f"WorkingDirectory={options['--working-directory']}" in unit
    assert options["--property"] in unit
    assert options["--property"].startswith("EnvironmentFile=")
    assert {"--wait", "--pipe"} <= set(arguments)


def test_migrate_is_the_one_that_looks_at_the_settings_first(tmp_path: Path) -> None:
    arguments, command = run_command(tmp_path, "migrate", "judging", "0001")
    assert command == [f"{CODE}/docker/migrate", "judging", "0001"]
    assert f"PYTHON={PYTHON}" in arguments
