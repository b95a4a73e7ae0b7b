"""Rows read by statements that are worded once.

Django's ORM words each look-up anew, which costs more than PostgreSQL takes to answer one by key. Only for what every
request or every judgment reads; everything else asks the ORM.
"""

from functools import cache
from typing import TypeVar

from django.db import connection
from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def row_first(model: type[Row], condition: str, *params: int) -> Row | None:
    """Return the first row that a statement finds, None where there is none.

    Args:
        model: whose rows; none of its fields may need converting from what PostgreSQL gives, as JSON does.
        condition: what follows FROM and the table, as "WHERE id = %s FOR UPDATE"; constant, with ``params`` for values.
    """
    columns, statement = _worded(model, condition)
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        row = cursor.fetchone()
    return model.from_db(connection.alias, columns, row) if row else None


@cache
def _worded(model: type[Model], condition: str) -> tuple[list[str], str]:
    converted = [field.name for field in model._meta.concrete_fields if hasattr(field, "from_db_value")]
    if converted:
        raise TypeError(f"{model.__name__} has fields that need converting: {', '.join(converted)}")
    columns = [field.attname for field in model._meta.concrete_fields]
    return columns, f"SELECT {', '.join(columns)} FROM {model._meta.db_table} {condition}"  # noqa: S608  # nosec B608
