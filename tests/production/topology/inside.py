"""Django in the test's own process, on the site's database, broker and files: rows are made and counted here."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import connections
from django.test import override_settings

from config.celery_app import app
from config.settings.base import PASSWORD_HASHERS, database_from_url
from tests.production.topology.site import Site


@contextmanager
def django_on(site: Site) -> Iterator[None]:
    """ORM, services and messages of this process reach the site inside the block; every statement commits."""
    # Celery reads names with their prefix from the settings before it reads its own
    broker = {"CELERY_BROKER_URL": site.redis.url, "CELERY_TASK_ALWAYS_EAGER": False}
    ours = override_settings(**files_of(site), **broker, PASSWORD_HASHERS=PASSWORD_HASHERS)
    with _database_of(site), _broker_of(site), ours:
        yield


def files_of(site: Site) -> dict[str, Any]:
    """The settings of the storage that the hosts use."""
    if site.in_bucket:
        bucket = {"BACKEND": "core.storage.bucket.S3Media", "OPTIONS": site.storage_options()}
        return {"STORAGES": {**settings.STORAGES, "default": bucket}}
    media = str(site.shared / "media")
    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": media}}
    return {"STORAGES": {**settings.STORAGES, "default": folder}, "MEDIA_ROOT": media}


@contextmanager
def _database_of(site: Site) -> Iterator[None]:
    connection = connections["default"]
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(database_from_url(site.postgres.url))
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)


@contextmanager
def _broker_of(site: Site) -> Iterator[None]:
    before = {name: app.conf[name] for name in ("broker_url", "result_backend", "task_always_eager")}
    app.conf.update(broker_url=site.redis.url, result_backend=site.redis.url, task_always_eager=False)
    os.environ["CELERY_BROKER_URL"] = site.redis.url
    try:
        yield
    finally:
        del os.environ["CELERY_BROKER_URL"]
        app.conf.update(before)
