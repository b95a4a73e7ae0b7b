"""The first command of a new data folder finds its tables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_command_works_in_a_folder_nothing_was_in(tmp_path: Path) -> None:
    own = {"MOMENTJUDGE_VAR": str(tmp_path / "var"), "DJANGO_SETTINGS_MODULE": "config.settings.local"}
    count = "from accounts.models import Project; print(Project.objects.count())"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", count]
    process = subprocess.run(
        command, cwd=settings.BASE_DIR, env=os.environ | own, capture_output=True, text=True, timeout=600, check=False
    )
    assert (process.returncode, process.stdout.strip()) == (0, "0"), process.stderr
