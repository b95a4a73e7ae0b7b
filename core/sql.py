"""Rows read by statements that are worded once.

Django's ORM words each look-up anew, which costs more than PostgreSQL takes to answer one by key. Only for what every
request or every judgment reads; everything else asks the ORM.
"""

from functools import cache
from typing import NamedTuple, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import ForeignKey, Model

Row = TypeVar("Row", bound=Model)


def row_first(model: type[Row], condition: str, *params: int | UUID, related: str = "") -> Row | None:
    """Return the first row that a statement finds, None where there is none.

    Args:
        model: whose rows; none of its fields may need converting from what PostgreSQL gives, as JSON does.
        condition: what follows FROM and the table, as "WHERE id = %s FOR UPDATE"; constant, with ``params`` for values.
        related: name of a foreign key that is never null, whose row is read with it.
    """
    worded = _worded(model, condition, related)
    with connection.cursor() as cursor:
        cursor.execute(worded.statement, params)
        row = cursor.fetchone()
    if row is None:
        return None
    own = len(worded.columns)
    found = model.from_db(connection.alias, worded.columns, row[:own])
    if worded.other is not None:
        setattr(found, related, worded.other.from_db(connection.alias, worded.other_columns, row[own:]))
    return found


class _Worded(NamedTuple):
    statement: str
    columns: list[str]
    other: type[Model] | None
    other_columns: list[str]


@cache
def _worded(model: type[Model], condition: str, related: str) -> _Worded:
    table, columns, other = model._meta.db_table, _columns(model), None
    said, join = [f"{table}.{name}" for name in columns], ""
    if related:
        key = model._meta.get_field(related)
        assert isinstance(key, ForeignKey) and not key.null, f"{model.__name__}.{related}"
        other = key.related_model
        said += [f"{other._meta.db_table}.{name}" for name in _columns(other)]
        join = f"JOIN {other._meta.db_table} ON {other._meta.db_table}.id = {table}.{key.attname} "
    statement = f"SELECT {', '.join(said)} FROM {table} {join}{condition}"  # noqa: S608  # nosec B608 - constants
    return _Worded(statement, columns, other, _columns(other) if other else [])


def _columns(model: type[Model]) -> list[str]:
    converted = [field.name for field in model._meta.concrete_fields if hasattr(field, "from_db_value")]
    if converted:
        raise TypeError(f"{model.__name__} has fields that need converting: {', '.join(converted)}")
    return [field.attname for field in model._meta.concrete_fields]
