"""PostgreSQL as Django knows it, with a pool that survives a restart of the database."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Get a connection as Django does, trying twice.

        After a restart of the database all connections that lie in the pool are dead, and it tries one after the other,
        more and more slowly. New ones are there at once.
        """
        try:
            return super().get_new_connection(conn_params)
        except PoolTimeout:
            self.pool.drain()
            return super().get_new_connection(conn_params)
