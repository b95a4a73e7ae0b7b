"""What every test may use: the embedded PostgreSQL, messages run in place, a sentence model made of hashes."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from numpy.typing import NDArray

from annotation.similarity import sentences
from config.celery_app import app
from config.embedded import hold_database

DIMENSIONS = 64
Messages = Callable[[], AbstractContextManager[list[Callable[[], object]]]]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """PostgreSQL runs while the session uses it; every xdist worker holds it, the last one out stops it."""
    if not settings.EMBEDDED_DATABASE:
        yield
        return
    with hold_database(Path(settings.MOMENTJUDGE_VAR)):
        yield


@pytest.fixture(scope="session", autouse=True)
def tasks_known() -> None:
    """Celery finds tasks when a worker starts; there is none here."""
    app.loader.import_default_modules()


@pytest.fixture
def messages(django_capture_on_commit_callbacks: Callable[..., object]) -> Messages:
    """``with messages():`` what the block sends on commit is done at its end, in place."""
    return partial(django_capture_on_commit_callbacks, execute=True)  # type: ignore[return-value]


def hashed(texts: Sequence[str]) -> NDArray[np.float32]:
    """A unit vector for each text, the sum of one random vector per word: shared words make texts similar."""
    vectors = np.stack([sum(map(_word, ["", *re.findall(r"\w+", text.lower())])) for text in texts])
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _word(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace the sentence model by ``hashed``; the list holds what it was asked, call by call."""
    asked: list[list[str]] = []

    def encode(texts: Sequence[str], *, model: str, on_progress: object = None) -> NDArray[np.float32]:
        asked.append(list(texts))
        return hashed(texts)

    monkeypatch.setattr(sentences, "encode", encode)
    return asked


@contextmanager
def rolled_back() -> Iterator[None]:
    """Whatever the block writes is undone: one hypothesis example leaves nothing to the next."""
    from django.db import transaction

    with transaction.atomic():
        yield
        transaction.set_rollback(True)
