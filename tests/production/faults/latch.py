"""A latch inside the database: work stops at a row and waits there, so that a test looks at its middle however fast or
slow the machine is."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from tests.production.topology import Site
from tests.production.topology.site import eventually

KEY = 20_260_118
WAITING = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
SET_UP = """
CREATE SEQUENCE latch_rows;
CREATE FUNCTION latch_wait() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF nextval('latch_rows') > TG_ARGV[0]::bigint THEN
        PERFORM pg_advisory_xact_lock_shared({key});
    END IF;
    RETURN NEW;
END $body$;
CREATE TRIGGER latch BEFORE {event} ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION latch_wait({passing});
"""
TAKE_DOWN = """
DROP TRIGGER IF EXISTS latch ON {table};
DROP FUNCTION IF EXISTS latch_wait();
DROP SEQUENCE IF EXISTS latch_rows;
"""


class Latch:
    """Closed until ``open``, or until PostgreSQL is killed."""

    def __init__(self, site: Site, table: str) -> None:
        self.site, self.table = site, table
        self.connection = site.postgres.connect()

    def close(self, *, event: str, when: str, passing: int) -> None:
        words = {"event": event, "when": when, "table": self.table, "passing": passing, "key": KEY}
        self.connection.execute("SELECT pg_advisory_lock(%s)", [KEY])
        self.connection.execute(TAKE_DOWN.format(table=self.table))
        self.connection.execute(SET_UP.format(**words))

    def waiting(self) -> list[int]:
        """The server processes that stand at the latch."""
        return [pid for (pid,) in self.connection.execute(WAITING, [KEY])]

    def await_somebody(self) -> None:
        """Until a worker has come as far as the latch."""
        eventually(self.waiting, every=0.02)

    def drop_waiting(self) -> None:
        """Drop what the killed had sent, and free the locks of their connections."""
        for pid in self.waiting():
            self.connection.execute("SELECT pg_terminate_backend(%s, 60000)", [pid])  # waits until it has ended

    def open(self) -> None:
        """Whoever waits goes on, and nobody stops here again."""
        with suppress(psycopg.OperationalError):  # PostgreSQL was killed, which opened it
            self.connection.execute("SELECT pg_advisory_unlock(%s)", [KEY])
        self.connection.close()

    def take_down(self) -> None:
        self.open()
        with self.site.postgres.connect() as connection:
            connection.execute(TAKE_DOWN.format(table=self.table))


@contextmanager
def latch(site: Site, table: str, *, event: str = "UPDATE", when: str = "true", passing: int = 0) -> Iterator[Latch]:
    """Whoever writes a row of ``table`` for which ``when`` holds waits, once ``passing`` such rows have passed."""
    new_latch = Latch(site, table)
    new_latch.close(event=event, when=when, passing=passing)
    try:
        yield new_latch
    finally:
        if not site.postgres.alive():
            site.postgres.start()
        new_latch.take_down()
