"""Rows of annotation that other packages put together: judged data that is imported, copies of a project, the demo."""

from collections.abc import Iterable
from typing import TypeVar

from django.db.models import Model

from annotation.models import Query

Row = TypeVar("Row", bound=Model)
CHUNK = 2000


def rows_create(rows: Iterable[Row]) -> list[Row]:
    """Store new rows of one table of annotation, in the order given.

    Raises:
        TypeError: a row belongs to another package or another table than the first.
        django.db.IntegrityError: a constraint of the table refuses one.
    """
    new_rows = list(rows)
    for row in new_rows:
        if row._meta.app_label != Query._meta.app_label or type(row) is not type(new_rows[0]):
            raise TypeError(f"expected rows of one table of annotation, got a {type(row).__name__}")
    return type(new_rows[0])._default_manager.bulk_create(new_rows, batch_size=CHUNK) if new_rows else []


def row_create(row: Row) -> Row:
    """Store one new row of annotation, as ``rows_create`` does."""
    return rows_create([row])[0]
