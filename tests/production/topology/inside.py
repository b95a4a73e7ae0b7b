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
        return {"STORAGES": {**settings.STORAGES, "default": _bucket(site)}}
    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": _media(site)}}
    return {"STORAGES": {**settings.STORAGES, "default": folder}, "MEDIA_ROOT": _media(site)}


def _bucket(site: Site) -> dict[str, Any]:
    environment = site.storage_environment()
    options = {
        "bucket_name": environment["S3_BUCKET"],
        "endpoint_url": environment["S3_ENDPOINT_URL"],
        "public_url": environment["S3_ENDPOINT_URL"],
        "region_name": environment["S3_REGION"],
        "access_key": environment["S3_ACCESS_KEY_ID"],
        "secret_key": environment["S3_SECRET_ACCESS_KEY"],
        "addressing": "path",
    }
    return {"BACKEND": "core.storage.bucket.S3Media", "OPTIONS": options}


def _media(site: Site) -> str:
    return str(site.shared / "media")


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
