"""The web process starts without the heavy libraries."""

import os
import subprocess
import sys

import pytest

HEAVY = "torch openai transformers sentence_transformers spacy h5py sklearn statsmodels scipy pandas pyarrow"
HEAVY += " av cv2 scenedetect ir_measures nltk huggingface_hub"
PROGRAM = f"""
import sys
import threading
import config.wsgi
assert threading.active_count() == 1, "processes are forked from this one: no thread, no connection"
from django.urls import get_resolver
get_resolver().reverse_dict
from celery import current_app
assert "models_runner.tasks.search_work" in current_app.tasks, "the page waits for its answer"
print([name for name in {HEAVY.split()!r} if name in sys.modules])
"""


PRODUCTION = {
    "DATABASE_URL": "postgresql://nobody@nowhere/none",
    "BROKER_URL": "redis://nowhere",
    "ALLOWED_HOSTS": "judge.example.org",
    "SECRET_KEY": "of-nothing-that-is-signed-" + "x" * 24,
}


@pytest.mark.parametrize("settings", ["config.settings.local", "config.settings.production"])
def test_no_heavy_library_is_imported(settings: str) -> None:
    more = PRODUCTION if settings.endswith("production") else {}
    environment = {**os.environ, **more, "DJANGO_SETTINGS_MODULE": settings}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "[]"
