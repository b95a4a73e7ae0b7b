"""Rows of a benchmark: a project to judge, written before a run, and what is read of it afterwards.

For the judging loop the pairs are made up; for the replay they carry the ids of a judgment file; a load adds its people
to a project that is there. Imports models: Django must be set up, and speak to the site that is meant.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib.auth.hashers import make_password
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from PIL import Image, ImageDraw

from accounts.models import Membership, Project, User
from annotation.corpora.services.corpora import project_over
from annotation.models import Candidate, Corpus, Measure, Moment, Query, Video
from annotation.pools.rules import BATCH_SIZE
from benchmarks.annotator import GRADE, PASSWORD, Unexpected, key_of
from benchmarks.plan import BLOCK, PlannedPair, Totals, totals
from judging.guidelines.selectors import BODY, LEVELS, guideline_in_force
from judging.guidelines.services import guideline_publish, policy_publish
from judging.models import Assignment, Batch, GuidelineConfirmation, GuidelineExample, Judgment, OwnGrade, Pair
from judging.work.models import BULK
from judging.work.services.batches import batches_open

MOMENTS = 200
CHUNK = 5000
MOMENT_S = 5.0
PROBES = ("probe-1", "probe-2")  # count the statements of one judgment, before and after the run
DRAIN_S = 20
DURABILITY = ("fsync", "synchronous_commit", "full_page_writes")
HISTORY = 220  # annotators who judged before a load; those of the load are others
WAITING = 300  # queries that a lead of a load may decide
PAGES = {"desk": "desk", "heartbeat": "heartbeat", "overview": "overview", "review": "review-queue"}

# A project to judge


@dataclass(frozen=True)
class Seeded:
    """The project and who judges in it: ``annotators`` through HTTP, ``probes`` through the test client."""

    project: Project
    annotators: list[User]
    probes: list[User]


@dataclass(frozen=True)
class SeededPlan:
    """The project of a replay: its annotators by number, its pairs by UUID."""

    project: Project
    annotators: dict[int, User]
    pairs: dict[UUID, PlannedPair]


@transaction.atomic
def project_seed(*, annotators: int, queries: int) -> Seeded:
    """Write one project with a first batch of twenty pairs open for each of its queries."""
    project, moments = _ground()
    _queries(project, moments, {number: range(1, BATCH_SIZE + 1) for number in range(1, queries + 1)})
    batches_open(project_id=project.pk)
    names = [*(f"annotator-{number}" for number in range(1, annotators + 1)), *PROBES]
    people = annotators_create(project, dict(enumerate(names, 1)))
    return Seeded(project, list(people.values())[:annotators], list(people.values())[annotators:])


@transaction.atomic
def ground_seed(*, annotators: int) -> Seeded:
    """Write a project with its annotators and moments, and nothing to judge yet."""
    project, _ = _ground()
    people = annotators_create(project, {number: f"annotator-{number}" for number in range(1, annotators + 1)})
    return Seeded(project, list(people.values()), [])


@transaction.atomic
def plan_seed(plan: Sequence[PlannedPair], *, annotators: Collection[int]) -> SeededPlan:
    """Write one project with an open batch for each block of the plan's pair ids; every pair keeps its id."""
    project, moments = _ground()
    ranks: dict[int, list[int]] = {}
    for pair in plan:
        ranks.setdefault(pair.pair_id // BLOCK, []).append(pair.pair_id % BLOCK + 1)
    candidates = _queries(project, moments, ranks)
    query_ids = dict.fromkeys(candidate.query_id for candidate in candidates)
    batches = {query_id: Batch(project=project, query_id=query_id, number=1, free_slots=2) for query_id in query_ids}
    Batch.objects.bulk_create(batches.values(), batch_size=BULK)
    rows = [
        Pair(batch=batches[candidate.query_id], candidate=candidate, source_id=pair.pair_id)
        for pair, candidate in zip(plan, candidates, strict=True)
    ]
    Pair.objects.bulk_create(rows, batch_size=CHUNK)
    people = annotators_create(project, {number: f"worker-{number}" for number in annotators})
    return SeededPlan(project, people, {row.uuid: pair for row, pair in zip(rows, plan, strict=True)})


def _ground() -> tuple[Project, list[Moment]]:
    """Write a project with policy, guideline and examples, and the moments of its corpus."""
    title = f"Benchmark {uuid4().hex[:8]}"  # a sweep seeds one project per step
    corpus = Corpus.objects.create(name=title)
    project = project_over(corpus=corpus, name=title)
    policy_publish(project=project, actor=None)
    guideline = guideline_publish(project=project, actor=None, body=BODY, levels=list(LEVELS))
    moments = _moments(corpus)
    GuidelineExample.objects.bulk_create(
        GuidelineExample(guideline=guideline, grade=grade, query_text="Someone waves.", moment=moments[grade])
        for grade in range(5)
    )
    return project, moments


def _moments(corpus: Corpus) -> list[Moment]:
    video = Video.objects.create(corpus=corpus, name="benchmark", duration_s=MOMENTS * MOMENT_S, index=1)
    preview = {
        "preview": default_storage.save("previews/benchmark.gif", ContentFile(preview_gif())),
        "preview_state": Moment.Preview.READY,
    }
    return Moment.objects.bulk_create(
        Moment(video=video, start_s=number * MOMENT_S, end_s=(number + 1) * MOMENT_S, **preview)
        for number in range(MOMENTS)
    )


def _queries(project: Project, moments: list[Moment], ranks: Mapping[int, Iterable[int]]) -> list[Candidate]:
    """Write a query for each number, with candidates of these ranks."""
    about = {"project": project, "split": Query.Split.TEST}
    texts = {number: f"Someone does thing number {number}." for number in ranks}
    rows = (Query(**about, number=number, text=text) for number, text in texts.items())
    queries = enumerate(Query.objects.bulk_create(rows, batch_size=CHUNK))
    about = {"measure": benchmark_measure()}
    candidates = (
        Candidate(query=query, moment=moments[(i * 7 + rank) % MOMENTS], rank=rank, similarity=1 - rank / 100, **about)
        for i, query in queries
        for rank in ranks[query.number]
    )
    return Candidate.objects.bulk_create(candidates, batch_size=CHUNK)


def benchmark_measure() -> Measure:
    measure, _ = Measure.objects.get_or_create(name="benchmark", model="benchmark", version="1", normalisation="none")
    return measure


def annotators_create(project: Project, names: Mapping[int, str]) -> dict[int, User]:
    """Write an account for each annotator number; hashing one password for all saves the time of hashing."""
    password = make_password(PASSWORD)
    corpus = project.dataset.corpus_id
    people = {number: User(username=f"{corpus}-{name}", password=password) for number, name in names.items()}
    User.objects.bulk_create(people.values())
    Membership.objects.bulk_create(
        Membership(project=project, user=user, roles=[Membership.Role.ANNOTATOR], number=number, status="qualified")
        for number, user in people.items()
    )
    guideline = guideline_in_force(project.pk)
    confirmations = (GuidelineConfirmation(guideline=guideline, annotator=user) for user in people.values())
    GuidelineConfirmation.objects.bulk_create(confirmations)
    return people


def preview_gif() -> bytes:
    """Draw a moving picture of about the length of a real preview: 15 frames of 320 x 180."""
    frames = []
    for step in range(15):
        frame = Image.new("RGB", (320, 180), (40, 60, 90))
        ImageDraw.Draw(frame).ellipse((step * 18, 60, step * 18 + 60, 120), fill=(230, 170, 60))
        frames.append(frame.quantize(32))
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=333, loop=0)
    return file.getvalue()


# After a run


def durability() -> dict[str, str]:
    """Return the settings of PostgreSQL that a commit's safety hangs on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(DURABILITY)])
        return dict(cursor.fetchall())


def statements_of_a_judgment(*, project: Project, annotator: User) -> list[str]:
    """Return the SQL of one POST of a grade (the second of the probe's batch) and its answer with the next pair.

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
    match = GRADE.search(response.content.decode())
    if response.status_code != 200 or match is None:
        raise Unexpected(f"the statement count met {response.status_code} without a next pair")
    return match[1]


def over_assigned(project: Project) -> int:
    """Count pair-rounds with more than two grades, persons twice on a pair, and rounds of more than two people."""
    judgments = Judgment.objects.filter(pair__batch__project=project)
    states = [Assignment.State.OPEN, Assignment.State.FINISHED]
    slots = Assignment.objects.filter(project=project, state__in=states)
    doubled = _more_than(2, judgments, "pair", "round") + _more_than(1, judgments, "pair", "annotator")
    return doubled + _more_than(2, slots, "batch", "round")


def _more_than(limit: int, rows: QuerySet[Any], *fields: str) -> int:
    count: int = rows.order_by().values(*fields).annotate(n=Count("pk")).filter(n__gt=limit).count()
    return count


def recorded(project: Project, annotators: list[User]) -> int:
    """Count the grades that these people have in the database."""
    return Judgment.objects.filter(pair__batch__project=project, annotator__in=annotators).count()


def undecided(project: Project) -> int:
    """Count batches whose round both annotators have finished and which the worker does not advance in a while."""
    ended = Count("assignments", filter=Q(assignments__state="finished", assignments__round=F("round")))
    batches = Batch.objects.filter(project=project, state=Batch.State.OPEN).annotate(ended=ended).filter(ended__gte=2)
    wait(lambda: not batches.exists(), DRAIN_S)
    return batches.count()


def read_totals(project: Project) -> Totals:
    """Return the totals of the rows, whatever was planned."""
    pairs = Pair.objects.filter(batch__project=project).annotate(grades=Count("judgments"))
    return totals(pairs.values_list("grades", "state", "relevance"))


def pairs_undecided(project: Project) -> int:
    return Pair.objects.filter(batch__project=project, state__in=[Pair.State.OPEN, Pair.State.ESCALATED]).count()


def replay_faults(project: Project, plan: Collection[PlannedPair]) -> list[str]:
    """Return what the database holds against the plan: lost, doubled or misjudged."""
    judgments = Judgment.objects.filter(pair__batch__project=project)
    more = {
        "pairs with more than four grades": _more_than(4, judgments, "pair"),
        "people twice on a pair": _more_than(1, judgments, "pair", "annotator"),
        "slots of a pair-round taken twice": _more_than(1, judgments, "pair", "round", "slot"),
        "open assignments left": Assignment.objects.filter(project=project, state=Assignment.State.OPEN).count(),
    }
    return [*(f"{count} {what}" for what, count in more.items() if count), *differences(project, plan)]


def differences(project: Project, plan: Collection[PlannedPair]) -> list[str]:
    """Return messages about pairs whose grades, round by round, or whose outcome are not as planned."""
    grades_by_pair: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = Judgment.objects.filter(pair__batch__project=project).values_list("pair__source_id", "round", "grade")
    for pair_id, number, grade in rows.iterator(chunk_size=20_000):
        grades_by_pair[cast(int, pair_id)].append((number, grade))
    pair_rows = Pair.objects.filter(batch__project=project).values_list("source_id", "state", "relevance")
    outcomes = {pair_id: (state, relevance) for pair_id, state, relevance in pair_rows}
    messages = []
    for pair in plan:
        rounds = [(number, row.grade) for number, grades in ((1, pair.first), (2, pair.second)) for row in grades]
        plan_of_it = sorted(rounds), tuple(pair.outcome)
        rows_of_it = sorted(grades_by_pair[pair.pair_id]), outcomes[pair.pair_id]
        if plan_of_it != rows_of_it:
            messages.append(f"pair {pair.pair_id}: planned {plan_of_it}, stored {rows_of_it}")
    return messages


def wait(is_ready: Callable[[], bool], seconds: float) -> None:
    """Look until it is ready, or for so many seconds."""
    deadline = time.monotonic() + seconds
    while not is_ready() and time.monotonic() < deadline:
        time.sleep(0.1)


def batches_by_state(project: Project) -> dict[str, int]:
    """Count batches done, and those in their second round: whether any advanced during the run."""
    batches = Batch.objects.filter(project=project)
    return {
        "batches_done": batches.filter(state=Batch.State.DONE).count(),
        "second_rounds": batches.filter(round=2).count(),
    }


# The people of a load


@dataclass(frozen=True)
class LoadPeople:
    """The annotators of a load, and ``config``: all that the locust file needs."""

    annotators: list[User]
    config: dict[str, Any]

    def recorded(self) -> int:
        """Return the number of grades that the annotators have given, gold among them."""
        return OwnGrade.objects.filter(annotator__in=self.annotators).count()


def history_make(*, pairs: int) -> Project:
    """Fill an empty database with three judgments for each pair, as people judge."""
    from benchmarks.populate import populate, queue_fill

    rows = populate(pairs=pairs, judgments=3 * pairs, annotators=HISTORY)
    queue_fill(min(WAITING, pairs // 100))
    return Project.objects.get(uuid=rows.project)


def load_people_create(project: Project, *, annotators: int, leads: int, uploads: bool) -> LoadPeople:
    first = (project.memberships.order_by("-number").values_list("number", flat=True).first() or 0) + 1
    names = {number: f"load-{uuid4().hex[:8]}" for number in range(first, first + annotators)}
    people = list(annotators_create(project, names).values())
    config = {
        "password": PASSWORD,
        "annotators": [person.username for person in people],
        "leads": [lead_create(project, f"load-lead-{uuid4().hex[:8]}").username for _ in range(leads)],
        "upload": _upload_target() if uploads else None,
        **{name: reverse(f"judging:{page}", args=[project.uuid]) for name, page in PAGES.items()},
    }
    return LoadPeople(people, config)


def lead_create(project: Project, username: str) -> User:
    user = User.objects.create_user(username, PASSWORD)
    Membership.objects.create(project=project, user=user, roles=[Membership.Role.LEAD])
    return user


def _upload_target() -> dict[str, str]:
    """Make a small project with a release, and the token of a person who may upload any number of runs."""
    from accounts.services.credentials import token_create
    from tests.judging.scenario import HandMade
    from tests.models_runner.acts import GOOD, ready_release, run_json

    with transaction.atomic():  # a worker that saw half of it would go on with it
        scenario = HandMade()
    for row in (scenario.project, scenario.corpus):
        row.name = f"{row.name} {uuid4().hex[:8]}"  # another load may follow
        row.save(update_fields=["name"])
    ready_release(scenario.project)
    return {
        "path": reverse("api:runs", args=[scenario.project.uuid]),
        "token": token_create(user=scenario.lead, name="load"),
        "content": run_json({10: GOOD}).decode(),
    }
