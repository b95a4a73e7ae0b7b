"""What the database says of a run. Imports models: Django must be set up before."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any, cast

from django.db import connection
from django.db.models import Count, F, Q, QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Project, User
from benchmarks.annotator import GRADE, Unexpected, key_of
from benchmarks.plan import PlannedPair, Totals, totals
from judging.models import Assignment, Batch, Judgment, Pair
from judging.work.services import assignments

DRAIN_S = 20


DURABILITY = ("fsync", "synchronous_commit", "full_page_writes")


def durability() -> dict[str, str]:
    """What PostgreSQL says of the settings that a commit's safety hangs on."""
    with connection.cursor() as cursor:
        return {name: _shown(cursor, name) for name in DURABILITY}


def _shown(cursor: Any, name: str) -> str:
    cursor.execute(f"SHOW {name}")
    return str(cursor.fetchone()[0])


def batch_take(*, project: Project, annotator: User) -> None:
    """Give a probe its batch: before the run, so that both probes have one of twenty pairs."""
    taken = assignments.assignment_take(project=project, annotator=annotator)
    assert taken is not None, "a project that nobody has judged in has free seats"


def statements_of_a_judgment(*, project: Project, annotator: User) -> list[str]:
    """The SQL of one POST of a grade (the second of the probe's batch) and its answer with the next pair.

    The views run in this process through Django's test client, on the same database: PostgreSQL's own
    count (pg_stat_statements) is not part of the embedded server. Signing in is not counted; reading the
    session and the account is.
    """
    browser = Client(headers={"host": "127.0.0.1"})
    browser.force_login(annotator)
    page = browser.get(reverse("judging:pair-next", args=[project.uuid]))
    first = _grade(browser, page, 2)
    with CaptureQueriesContext(connection) as captured:
        second = _grade(browser, first, 3)
    _grade_url(second)
    return [str(query["sql"]) for query in captured.captured_queries]


def _grade(browser: Client, page: Any, grade: int) -> Any:
    fields = {"grade": grade, "key": key_of(page.content.decode())}
    return browser.post(_grade_url(page), fields, headers={"hx-request": "true"})


def _grade_url(response: Any) -> str:
    found = GRADE.search(response.content.decode())
    if response.status_code != 200 or found is None:
        raise Unexpected(f"the statement count met {response.status_code} without a next pair")
    return found[1]


def over_assigned(project: Project) -> int:
    """Pair-rounds with more than two grades, persons twice on a pair, and rounds that more than two hold."""
    given = Judgment.objects.filter(pair__batch__project=project)
    seats = Assignment.objects.filter(project=project).filter(
        state__in=[Assignment.State.OPEN, Assignment.State.FINISHED]
    )
    return (
        _more_than(2, given, "pair", "round")
        + _more_than(1, given, "pair", "annotator")
        + _more_than(2, seats, "batch", "round")
    )


def _more_than(limit: int, rows: QuerySet[Any], *fields: str) -> int:
    found: int = rows.order_by().values(*fields).annotate(n=Count("pk")).filter(n__gt=limit).count()
    return found


def recorded(project: Project, annotators: list[User]) -> int:
    """Grades that these people have in the database."""
    return Judgment.objects.filter(pair__batch__project=project, annotator__in=annotators).count()


def undecided(project: Project) -> int:
    """Batches whose round both annotators have finished and which the worker has not advanced; waits for it a while."""
    ended = Count("assignments", filter=Q(assignments__state="finished", assignments__round=F("round")))
    left = Batch.objects.filter(project=project, state=Batch.State.OPEN).annotate(ended=ended).filter(ended__gte=2)
    wait(lambda: not left.exists(), DRAIN_S)
    return left.count()


def totals_stored(project: Project) -> Totals:
    """What the rows say, whatever was planned."""
    pairs = Pair.objects.filter(batch__project=project).annotate(grades=Count("judgments"))
    return totals(pairs.values_list("grades", "state", "relevance"))


def pairs_undecided(project: Project) -> int:
    return Pair.objects.filter(batch__project=project, state__in=[Pair.State.OPEN, Pair.State.ESCALATED]).count()


def replay_faults(project: Project, plan: Collection[PlannedPair]) -> list[str]:
    """What the database says against the plan: lost, doubled or misjudged."""
    given = Judgment.objects.filter(pair__batch__project=project)
    more = {
        "pairs with more than four grades": _more_than(4, given, "pair"),
        "people twice on a pair": _more_than(1, given, "pair", "annotator"),
        "seats of a pair-round taken twice": _more_than(1, given, "pair", "round", "seat"),
        "open assignments left": Assignment.objects.filter(project=project, state=Assignment.State.OPEN).count(),
    }
    return [*(f"{count} {what}" for what, count in more.items() if count), *differences(project, plan)]


def differences(project: Project, plan: Collection[PlannedPair]) -> list[str]:
    """Pairs whose grades, round by round, or whose outcome are not as planned."""
    given: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = Judgment.objects.filter(pair__batch__project=project).values_list("pair__source_id", "round", "grade")
    for pair_id, number, grade in rows.iterator(chunk_size=20_000):
        given[cast(int, pair_id)].append((number, grade))
    stored = Pair.objects.filter(batch__project=project).values_list("source_id", "state", "relevance")
    outcomes = {pair_id: (state, relevance) for pair_id, state, relevance in stored}
    found = []
    for pair in plan:
        rounds = [(number, row.grade) for number, grades in ((1, pair.first), (2, pair.second)) for row in grades]
        wanted, there = (sorted(rounds), tuple(pair.outcome)), (sorted(given[pair.pair_id]), outcomes[pair.pair_id])
        if wanted != there:
            found.append(f"pair {pair.pair_id}: planned {wanted}, stored {there}")
    return found


def wait(there: Callable[[], bool], seconds: float) -> None:
    """Look until it is there, or for so many seconds."""
    deadline = time.monotonic() + seconds
    while not there() and time.monotonic() < deadline:
        time.sleep(0.1)


def batches_by_state(project: Project) -> dict[str, int]:
    """Batches done, and open ones in their second round: shows that advancing happened during the run."""
    batches = Batch.objects.filter(project=project)
    return {
        "batches_done": batches.filter(state=Batch.State.DONE).count(),
        "second_rounds": batches.filter(round=2).count(),
    }
