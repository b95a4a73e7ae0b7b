"""Judging waits for no other work: its queue has a worker that nothing else can take."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from celery import current_app
from django.utils import timezone

from judging.models import Assignment, Batch
from tests.production.topology import Site
from tests.production.topology.hosts import Worker
from tests.production.topology.project import Scenario, always, judge_all, take
from tests.production.topology.site import eventually, restart

# A task of every queue but `judging`, its arguments behind the row's key, and the table that it reads first
LATCHED: dict[str, tuple[tuple[object, ...], str]] = {
    "models_runner.tasks.scoring_work": ((), "models_runner_scoring"),  # celery
    "annotation.tasks.corpus_import_work": ((), "annotation_corpusimport"),  # uploads
    "models_runner.tasks.training_work": ((), "models_runner_training"),  # gpu
    "models_runner.tasks.search_work": (("words", 10, False), "models_runner_training"),  # search
}
# Sessions that wait for a lock, be it for one that another waiting session holds
WAITING = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"


@contextmanager
def every_other_worker_busy(site: Site) -> Iterator[None]:
    """Inside the block each process of the other workers waits for a table, and more of the same stands in each queue.

    The latch is an exclusive lock of those tables: PostgreSQL itself says how many wait, and none goes on before the
    block ends. The workers start anew: one that has lost its broker once takes fewer tasks at a time until one ends.
    """
    tables = sorted({table for _, table in LATCHED.values()})
    others = [*site.workers, site.gpu, site.search]
    processes = sum(worker.processes for worker in others)
    restart(others)
    with site.postgres.connect(autocommit=False) as latch, site.postgres.connect() as looking:

        def waiting() -> int:
            row = looking.execute(WAITING).fetchone()
            assert row is not None
            return int(row[0])

        latch.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        for task, (args, _) in LATCHED.items():
            for number in range(1, 2 * processes + 1):  # rows that are in no table, each claimed once
                current_app.send_task(task, (-number, *args), ignore_result=True)
        eventually(lambda: waiting() >= processes, explain=lambda: {**lengths(site), **logs(others)})
        assert min(lengths(site).values()) > 0, lengths(site)
        yield
        assert waiting() >= processes  # nothing has gone on meanwhile
        latch.rollback()
    eventually(lambda: not any(lengths(site).values()))


def logs(workers: Sequence[Worker]) -> dict[str, str]:
    """The end of each worker's log, by its name."""
    return {worker.name: worker.tail(10) for worker in workers}


def lengths(site: Site) -> dict[str, int]:
    """How many messages wait in each queue that the latched tasks are sent to."""
    router = current_app.amqp.router
    queues = [router.route({}, task)["queue"].name for task in LATCHED]
    return {queue: site.redis.client().llen(queue) for queue in queues}


def test_what_is_finished_is_decided_while_every_other_worker_is_busy(site: Site) -> None:
    scenario = Scenario.make(annotators=2)
    batch = scenario.batch(pairs=2)
    people = [scenario.person(site, user) for user in scenario.annotators]
    with every_other_worker_busy(site):
        for person in people:
            judge_all(person, scenario, always(3))
        eventually(lambda: Batch.objects.get(pk=batch.pk).state == Batch.State.DONE)
    assert list(batch.pairs.values_list("state", "relevance")) == [("settled", 3)] * 2


def test_a_lease_that_runs_out_is_given_back_while_every_other_worker_is_busy(site: Site) -> None:
    """By the sweep that beat sends."""
    scenario = Scenario.make(annotators=1)
    scenario.batch(pairs=1)
    person = scenario.person(site, scenario.annotators[0])
    with every_other_worker_busy(site):
        take(person, scenario)
        lease = Assignment.objects.filter(project=scenario.project)
        assert lease.update(expires_at=timezone.now() - timedelta(seconds=1)) == 1
        eventually(lambda: lease.get().state == Assignment.State.LAPSED)
