"""Full state: every row of every table, every stored file, every message by e-mail."""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.apps import apps
from django.conf import settings
from django.core import mail
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import DateTimeField, FileField, Model

APPS = ("core", "accounts", "annotation", "judging", "models_runner")
FOLDERS = ("EXPERIMENTS_ROOT", "FEATURES_ROOT")  # of files that lie on a disk and not in the storage
Rows = dict[str, list[str]]


class Digest(NamedTuple):
    """Equal when nothing was done in between; times alone may differ."""

    rows: Rows
    files: dict[str, str]
    mails: int
    dangling: frozenset[str]  # files that rows name and that are not there


def digest() -> Digest:
    file_digests = files()
    return Digest(rows(), file_digests, len(mail.outbox), frozenset(files_named() - set(file_digests)))


def rows() -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(_statement())
        return {table: content for table, content in cursor.fetchall() if content}


@cache
def _statement() -> str:
    """All in one, each row as JSON without its times."""
    return " UNION ALL ".join(
        f"SELECT '{model._meta.db_table}', ARRAY(SELECT (to_jsonb(t) - ARRAY[{_times(model)}]::text[])::text "
        f"FROM {model._meta.db_table} t ORDER BY t.{model._meta.pk.column})"
        for model in models()
    )


def _times(model: type[Model]) -> str:
    times = [f"'{field.column}'" for field in model._meta.concrete_fields if isinstance(field, DateTimeField)]
    return ", ".join(times)


def models() -> list[type[Model]]:
    return [model for label in APPS for model in apps.get_app_config(label).get_models()]


def files_named() -> set[str]:
    """Files of the storage that rows name."""
    result: set[str] = set()
    for model in models():
        for field in model._meta.concrete_fields:
            if isinstance(field, FileField):
                names = model._default_manager.exclude(**{field.name: ""}).exclude(**{field.name: None})
                result |= {name for name in names.values_list(field.name, flat=True) if name}
    return result


def files() -> dict[str, str]:
    """Content of each stored file, of those on the disk too."""
    digests = {name: _sha(default_storage.open(name).read()) for name in _storage_names("")}
    for setting in FOLDERS:
        digests |= {str(path): _sha(path.read_bytes()) for path in _on_disk(Path(getattr(settings, setting)))}
    return digests


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _storage_names(folder: str) -> Iterator[str]:
    if folder and not default_storage.exists(folder):
        return
    folders, names = default_storage.listdir(folder)
    yield from (f"{folder}/{name}".lstrip("/") for name in names)
    for inner in folders:
        yield from _storage_names(f"{folder}/{inner}".lstrip("/"))


def _on_disk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def differences(before: Digest, after: Digest) -> list[str]:
    """List what came, went or changed, in words a failing test shows."""
    lines = [f"{before.mails} mails, now {after.mails}"] if before.mails != after.mails else []
    for table in sorted({*before.rows, *after.rows}):
        old, new = before.rows.get(table, []), after.rows.get(table, [])
        lines += [f"- {table} {row[:300]}" for row in old if row not in new]
        lines += [f"+ {table} {row[:300]}" for row in new if row not in old]
    lines += [f"- {name}" for name in before.files if name not in after.files]
    lines += [f"+ {name}" for name in after.files if name not in before.files]
    lines += [f"* {name}" for name, sha in after.files.items() if before.files.get(name, sha) != sha]
    lines += [f"named and not there: {name}" for name in after.dangling - before.dangling]
    return lines
