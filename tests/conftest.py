"""Fixtures for every test: the embedded PostgreSQL, messages run in place, a sentence model made of hashes."""

import gc
import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import cache, partial
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.core.files.storage import FileSystemStorage
from django.db import connection, transaction
from django.test import Client, TransactionTestCase
from django.utils import timezone
from django.utils.crypto import get_random_string
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pytest_django import DjangoDbBlocker

from accounts.models import BrowserSession, User
from accounts.sessions import SessionStore
from annotation.models import Video
from annotation.similarity import registry, sentences
from config.celery_app import app
from core.embedded.holding import hold_database
from moment_retrieval.relevance.wordnet import WORDNET_FOLDER, WordNet, install, lacking, wordnet_in
from tests import migrated, tables

os.environ["HF_HUB_OFFLINE"] = "1"  # before its library is imported: tests talk to loopback alone
# a busy machine is no failure: what is asserted on are results, never time
hypothesis.settings.register_profile(
    "momentjudge", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("momentjudge")
DIMENSIONS = 64
Messages = Callable[[], AbstractContextManager[list[Callable[[], object]]]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests go first and together: one Chromium does for all, and what it leaves idle the other worker uses."""
    items.sort(key=lambda item: "browser" not in item.path.parts)
    in_module_database = {item.path for item in items if "module_database" in item.fixturenames}
    with_commits = {item.path for item in items if _commits(item)}
    if both := in_module_database & with_commits:
        raise pytest.UsageError(f"module_database's open transaction would block what these tests commit: {both}")


def _commits(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    return mark is not None and bool(mark.kwargs.get("transaction"))


def pytest_collection_finish() -> None:
    """Freeze what is imported by now: the collector need not look through it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """PostgreSQL runs while the session uses it; every xdist worker holds it, the last one out stops it."""
    if not settings.EMBEDDED_DATABASE:
        yield
        return
    var = Path(settings.MOMENTJUDGE_VAR)
    with hold_database(var):
        with django_db_blocker.unblock():
            connection.settings_dict["TEST"]["TEMPLATE"] = migrated.template(var)
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Autovacuum could look into the middle of a test, see no rows, and make PostgreSQL plan for empty tables."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = false)')
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")  # no test waits for the disk
        connection.close()


@pytest.fixture(scope="session", autouse=True)
def quick_between_tests() -> Iterator[None]:
    """No test is about how tables are emptied or how ``force_login`` makes its session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", tables.empty)
        patch.setattr(Client, "force_login", force_login)
        yield


def force_login(client: Client, user: User) -> None:
    """Create a database session and its cookie, as Django's does, by one statement instead of seventeen."""
    backend = settings.AUTHENTICATION_BACKENDS[-1]
    session = {SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: backend, HASH_SESSION_KEY: user.get_session_auth_hash()}
    ends = timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
    key = get_random_string(32, VALID_KEY_CHARS)
    fields = {"session_data": SessionStore().encode(session), "expire_date": ends, "user": user}
    BrowserSession.objects.create(session_key=key, **fields)
    client.cookies[settings.SESSION_COOKIE_NAME] = key


@pytest.fixture(scope="session", autouse=True)
def tasks_known() -> None:
    """Celery finds tasks when a worker starts; there is none here."""
    app.loader.import_default_modules()


@pytest.fixture(scope="module")
def module_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Keep what fixtures of a module's scope write until its end: every test rolls back to after them.

    Hand a test a deep copy of such rows, as it may change them.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def messages(django_capture_on_commit_callbacks: Callable[..., object]) -> Messages:
    """``with messages():`` what the block sends on commit is done at its end, in place."""
    return partial(django_capture_on_commit_callbacks, execute=True)  # type: ignore[return-value]


def hashed(texts: Sequence[str]) -> NDArray[np.float32]:
    """A unit vector for each text, the sum of one random vector per word: shared words make texts similar."""
    vectors = np.stack([sum(map(_word, ["", *re.findall(r"\w+", text.lower())])) for text in texts])
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@cache
def _word(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace every sentence model by ``hashed``; the list holds what they were asked, call by call."""
    return hash_with(monkeypatch)


def hash_with(patch: pytest.MonkeyPatch) -> list[list[str]]:
    """Patch like ``encoder``, for fixtures that live longer than a test."""
    calls: list[list[str]] = []

    def encode(texts: Sequence[str], **values: object) -> NDArray[np.float32]:
        calls.append(list(texts))
        return hashed(texts)

    patch.setattr(sentences, "encode", encode)
    patch.setattr(sentences, "find", lambda model, **values: sentences.Found(Path(model), "hashed", ""))
    return calls


@pytest.fixture
def videos_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Video files lie in this folder: ffmpeg cannot read the test settings' storage, which is memory."""
    folder = tmp_path / "storage"
    monkeypatch.setattr(Video._meta.get_field("file"), "storage", FileSystemStorage(folder))
    return folder


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Four seconds of ffmpeg's test picture."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    source = "testsrc=size=64x48:rate=6:duration=4"
    encode = ["-c:v", "libx264", "-pix_fmt", "yuv420p"]
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, *encode, str(path)]
    subprocess.run(command, check=True, timeout=600)
    return path.read_bytes()


@pytest.fixture(scope="session")
def long_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of few pixels, longer than any episode."""
    path = tmp_path_factory.mktemp("demo") / "long.mp4"
    source = "testsrc=size=32x18:rate=3:duration=120"
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, *encode, str(path)]
    subprocess.run(command, check=True, timeout=600)
    return path


@pytest.fixture(scope="session")
def wordnet() -> WordNet:
    """WordNet as installed, or from Debian's package; without either the test is skipped."""
    data = registry.nltk_data()
    if lacking(data / WORDNET_FOLDER):
        if lacking(settings.WORDNET):
            pytest.skip(f"no WordNet in {settings.WORDNET}: apt-get install wordnet-base wordnet-sense-index")
        install(settings.WORDNET, data)
    return wordnet_in(data)
