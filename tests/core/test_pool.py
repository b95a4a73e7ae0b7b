"""The connections of a web process when the database goes away and comes back."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection

from config.settings.base import pool_of
from core.postgresql.base import DatabaseWrapper

pytestmark = [pytest.mark.django_db, pytest.mark.deployment]
SIZE = 4


@pytest.fixture
def users() -> Iterator[list[DatabaseWrapper]]:
    """As many as the pool has connections, each with one; they are given back."""
    database_settings = connection.settings_dict
    options = {**database_settings["OPTIONS"], "pool": pool_of(SIZE)}
    wrappers = [DatabaseWrapper({**database_settings, "OPTIONS": options}, "pooled") for _ in range(SIZE)]
    for one in wrappers:
        one.ensure_connection()
    yield wrappers
    for one in wrappers:
        one.close()
    wrappers[0].close_pool()


def end(users: list[DatabaseWrapper]) -> None:
    """Give all connections back to the pool, and have the database end each of them, as a restart does."""
    pids = [one.connection.info.backend_pid for one in users]
    for one in users:
        one.close()
    assert users[0].pool.get_stats()["pool_available"] == SIZE
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [pids])


def test_who_comes_after_a_restart_of_the_database_is_served(users: list[DatabaseWrapper]) -> None:
    end(users)
    for one in users:
        one.ensure_connection()
        with one.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert cursor.fetchone() == (1,)


def test_a_database_that_does_not_return_is_reported_unavailable(users: list[DatabaseWrapper]) -> None:
    users[0].pool.kwargs["port"] = "1"  # of what is connected from now on
    end(users)
    with pytest.raises(OperationalError, match="couldn't get a connection"):
        users[0].ensure_connection()
