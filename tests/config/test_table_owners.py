"""A table is written only by the package that owns it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

PACKAGES = ("accounts", "annotation", "judging", "models_runner")
WRITES = {
    "create",
    "bulk_create",
    "get_or_create",
    "update_or_create",
    "bulk_update",
    "update",
    "delete",
    "create_user",
}
OWNERS = {model.__name__: package for package in PACKAGES for model in apps.get_app_config(package).get_models()}


def foreign_writes(package: str, source: str) -> Iterator[str]:
    """Yield each write through the manager of another package's model, as ``Query.objects.filter(...).update``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            managers = [part for part in ast.walk(node.func.value) if isinstance(part, ast.Attribute)]
            for manager in managers:
                name = manager.value.id if isinstance(manager.value, ast.Name) else ""
                if manager.attr == "objects" and OWNERS.get(name, package) != package:
                    yield f"line {node.lineno}: {name}.{node.func.attr}"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_writes_another_ones_tables(package: str) -> None:
    paths = [path for path in Path(settings.BASE_DIR, package).rglob("*.py") if "migrations" not in path.parts]
    writes = [f"{path}: {write}" for path in paths for write in foreign_writes(package, path.read_text())]
    assert not writes


def test_such_a_write_is_seen() -> None:
    source = "Query.objects.filter(pk=1).update(text='')\nPair.objects.create()\nqueries.delete()"
    assert list(foreign_writes("judging", source)) == ["line 1: Query.update"]
