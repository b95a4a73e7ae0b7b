"""PostgreSQL's first process ends alone, while people judge: its children outlive it for as long as they please, and a
new one may not start beside them."""

import os
import signal

import pytest
from django.db import connections

from tests.production.faults.crowd import Crowd
from tests.production.topology import Site
from tests.production.topology.server import ServerFailed
from tests.production.topology.site import eventually


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM], ids=lambda n: n.name)
def test_every_grade_that_was_answered_is_saved_once(site: Site, number: signal.Signals) -> None:
    with Crowd(site) as crowd:
        crowd.await_grades(10)
        os.kill(site.postgres.pid, number)
        if number == signal.SIGTERM:  # it waits for those who are connected, and takes nobody new
            crowd.await_grades(5)
            os.kill(site.postgres.pid, signal.SIGINT)
        crowd.await_trouble()
        assert site.postgres.process is not None
        site.postgres.process.wait()
        connections.close_all()
        eventually(lambda: started(site), every=0.5)
        crowd.await_done()
    crowd.check()


def started(site: Site) -> bool:
    """As systemd and compose do: again, until nobody of before is left."""
    try:
        site.postgres.start()
    except ServerFailed:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT], ids=lambda n: n.name)
def test_one_connection_that_crashes_takes_the_others_along_and_no_grade(site: Site, number: signal.Signals) -> None:
    """PostgreSQL ends all of them and recovers by itself: nobody starts it again."""
    with Crowd(site) as crowd:
        crowd.await_grades(10)
        os.kill(at_work(site), number)
        connections.close_all()
        crowd.await_grades(10)
        crowd.await_done()
    crowd.check()
    assert site.postgres.alive()


def at_work(site: Site) -> int:
    """A server process that works for a web host."""
    with site.postgres.connect() as link:
        row = link.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " ORDER BY query_start DESC NULLS LAST"
        ).fetchone()
    assert row is not None
    return int(row[0])
