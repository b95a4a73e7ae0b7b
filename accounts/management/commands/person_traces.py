"""manage.py person_traces WORD...: where a name, an e-mail address or any word stands in the database."""

import re
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from psycopg import sql

COLUMNS = """
SELECT held.table_name, array_agg(held.column_name::text ORDER BY held.ordinal_position)
FROM information_schema.columns held
JOIN information_schema.tables tables USING (table_schema, table_name)
WHERE held.table_schema = current_schema() AND tables.table_type = 'BASE TABLE'
    AND held.data_type IN ('text', 'character varying', 'character', 'json', 'jsonb', 'ARRAY', 'tsvector', 'inet')
GROUP BY 1 ORDER BY 1"""
LIKE = re.compile(r"([%_\\])")  # what LIKE would read as something else
ESCAPED = r"\\\1"


def traces(words: Sequence[str]) -> dict[str, int]:
    """Rows that hold one of these words, upper or lower case, by ``table.column``. Reads every table once."""
    patterns = [f"%{LIKE.sub(ESCAPED, word.lower())}%" for word in words if word.strip()]
    counts_by_column: dict[str, int] = {}
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS)
        for table, columns in cursor.fetchall():
            cursor.execute(_counts(table, columns), {"patterns": patterns})
            counts = cursor.fetchone()
            counts_by_column |= {f"{table}.{column}": n for column, n in zip(columns, counts, strict=True) if n}
    return counts_by_column


def _counts(table: str, columns: Sequence[str]) -> sql.Composed:
    count_sql = sql.SQL("count(*) FILTER (WHERE lower({}::text) LIKE ANY (%(patterns)s))")
    each = sql.SQL(", ").join(count_sql.format(sql.Identifier(column)) for column in columns)
    return sql.SQL("SELECT {} FROM {}").format(each, sql.Identifier(table))


class Command(BaseCommand):
    help = "Count the rows that hold one of these words, column by column. Reads every table once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs="+", metavar="WORD", help="of three letters or more")

    def handle(self, *args: Any, **options: Any) -> None:
        counts_by_column = traces(options["words"])
        for column, n in sorted(counts_by_column.items()):
            self.stdout.write(f"{n:8,} {column}")
        self.stdout.write("" if counts_by_column else "Nowhere.")
