"""The clock of one web host and of the judging worker jumps by an hour, there and back, while people judge."""

import time
from datetime import timedelta

from django.utils import timezone

from judging.models import Assignment, Judgment
from tests.production.faults.clocks import HOUR_S, clock_of
from tests.production.faults.crowd import Crowd, sweep
from tests.production.topology import Site
from tests.production.topology.hosts import Worker
from tests.production.topology.project import Scenario, give, take
from tests.production.topology.site import eventually

MINUTE = timedelta(minutes=1)
SWEEP = "judging.tasks.assignments_sweep"


def test_no_lease_is_lost_early_and_none_stays(site: Site) -> None:
    slow = Scenario.make(annotators=1)
    slow.batch(pairs=2)
    reader = slow.person(site, slow.annotators[0])
    began = timezone.now()
    page = take(reader, slow)
    with clock_of(site.web[0], site.judging) as clock, Crowd(site, batches=6) as crowd:
        crowd.await_grades(5)
        for seconds in (HOUR_S, -HOUR_S):
            clock.jump(seconds)
            crowd.await_grades(25)
            swept_by(site.judging)
            assert reader.get(slow.path("desk"), allow_redirects=False).status_code == 200
            open_now = Assignment.objects.filter(state=Assignment.State.OPEN)
            assert open_now.filter(project=slow.project).exists()
            for assignment in open_now:
                lasts = assignment.expires_at - timezone.now()
                assert timedelta() < lasts < timedelta(minutes=31), lasts
        clock.jump(0)
        crowd.await_done()
    assert not crowd.troubles
    crowd.check()
    give(reader, page, 2)
    judgments = Judgment.objects.filter(pair__batch__project__in=[slow.project, crowd.scenario.project])
    assert all(began - MINUTE < one.created_at < timezone.now() + MINUTE for one in judgments)
    longest_ms = (timezone.now() - began) / timedelta(milliseconds=1)  # of no hour that a clock skipped
    assert all(one.active_ms is not None and one.active_ms < longest_ms for one in judgments)


def test_when_the_clock_of_everything_jumps_nothing_is_lost_or_doubled(site: Site) -> None:
    """The database, whose clock counts, goes along: leases run out at once, and what was answered before stays."""
    with clock_of(site.postgres, *site.hosts) as clock, Crowd(site, batches=6) as crowd:
        crowd.await_grades(10)
        for seconds in (HOUR_S, -HOUR_S, 0):
            clock.jump(seconds)
            eventually(lambda seconds=seconds: abs(ahead(site) - seconds) < 60)  # type: ignore[misc]
            crowd.await_grades(10)
        crowd.await_done()
    crowd.check(none_refused=False)


def ahead(site: Site) -> float:
    """How many seconds the database is ahead of us."""
    with site.postgres.connect() as link:
        row = link.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
    assert row is not None
    return float(row[0]) - time.time()


def swept_by(worker: Worker) -> None:
    """This host has looked for leases that ran out."""
    before = worker.log_output().count(SWEEP)

    def look() -> bool:
        sweep()
        return worker.log_output().count(SWEEP) > before

    eventually(look, every=0.5)


def test_sweeps_go_on_when_the_clock_of_beat_is_set_back(site: Site) -> None:
    with clock_of(site.beat) as clock:
        eventually(lambda: sweeps_sent(site) and swept(site))
        clock.jump(-HOUR_S)
        before = sweeps_sent(site), swept(site)
        eventually(lambda: sweeps_sent(site) > before[0] + 1 and swept(site) > before[1] + 1)


def sweeps_sent(site: Site) -> int:
    return site.beat.log_output().count("sweep-assignments")


def swept(site: Site) -> int:
    return site.judging.log_output().count(SWEEP)
