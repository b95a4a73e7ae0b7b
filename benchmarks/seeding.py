"""A project to judge: queries with twenty pairs each, previews that are ready, and its annotators.

For the judging loop the pairs are made up; for the replay they carry the ids of a judgment file. Imports models:
Django must be set up before.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from uuid import UUID, uuid4

from django.contrib.auth.hashers import make_password
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from PIL import Image, ImageDraw

from accounts.models import Membership, Project, User
from annotation.corpora.services.corpora import project_over
from annotation.models import Candidate, Corpus, Measure, Moment, Query, Video
from annotation.pools.rules import BATCH_SIZE
from benchmarks.annotator import PASSWORD
from benchmarks.plan import BLOCK, PlannedPair
from judging.guidelines.texts import BODY, LEVELS
from judging.models import Batch, GuidelineConfirmation, GuidelineExample, Pair
from judging.projects.policies import guideline_in_force, guideline_publish, policy_publish
from judging.work.services.batches import batches_open

MOMENTS = 200
CHUNK = 5000
MOMENT_S = 5.0
PROBES = ("probe-1", "probe-2")  # count the statements of one judgment, before and after the run


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
    """One project with a first batch of twenty pairs open for each of its queries."""
    project, moments = _ground()
    _queries(project, moments, {number: range(1, BATCH_SIZE + 1) for number in range(1, queries + 1)})
    batches_open(project_id=project.pk)
    names = [*(f"annotator-{number}" for number in range(1, annotators + 1)), *PROBES]
    people = _annotators(project, dict(enumerate(names, 1)))
    return Seeded(project, list(people.values())[:annotators], list(people.values())[annotators:])


@transaction.atomic
def ground_seed(*, annotators: int) -> Seeded:
    """A project with its annotators and moments, and nothing to judge yet."""
    project, _ = _ground()
    people = _annotators(project, {number: f"annotator-{number}" for number in range(1, annotators + 1)})
    return Seeded(project, list(people.values()), [])


@transaction.atomic
def plan_seed(plan: Sequence[PlannedPair], *, annotators: Collection[int]) -> SeededPlan:
    """One project with an open batch for each block of the plan's pair ids; every pair keeps its id."""
    project, moments = _ground()
    ranks: dict[int, list[int]] = {}
    for pair in plan:
        ranks.setdefault(pair.pair_id // BLOCK, []).append(pair.pair_id % BLOCK + 1)
    candidates = _queries(project, moments, ranks)
    batches = {query_id: Batch(project=project, query_id=query_id, number=1) for query_id in _query_ids(candidates)}
    Batch.objects.bulk_create(batches.values(), batch_size=CHUNK)
    rows = [
        Pair(batch=batches[candidate.query_id], candidate=candidate, source_id=pair.pair_id)
        for pair, candidate in zip(plan, candidates, strict=True)
    ]
    Pair.objects.bulk_create(rows, batch_size=CHUNK)
    people = _annotators(project, {number: f"worker-{number}" for number in annotators})
    return SeededPlan(project, people, {row.uuid: pair for row, pair in zip(rows, plan, strict=True)})


def _query_ids(candidates: Sequence[Candidate]) -> Iterable[int]:
    return dict.fromkeys(candidate.query_id for candidate in candidates)


def _ground() -> tuple[Project, list[Moment]]:
    """A project with policy, guideline and examples, and the moments of its corpus."""
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
    stored = default_storage.save("previews/benchmark.gif", ContentFile(preview_gif()))
    return Moment.objects.bulk_create(
        Moment(
            video=video,
            start_s=number * MOMENT_S,
            end_s=(number + 1) * MOMENT_S,
            preview=stored,
            preview_state=Moment.Preview.READY,
        )
        for number in range(MOMENTS)
    )


def _queries(project: Project, moments: list[Moment], ranks: Mapping[int, Iterable[int]]) -> list[Candidate]:
    """A query for each number, with candidates of these ranks."""
    queries = Query.objects.bulk_create(
        (
            Query(project=project, number=number, text=f"Someone does thing number {number}.", split=Query.Split.TEST)
            for number in ranks
        ),
        batch_size=CHUNK,
    )
    measure = benchmark_measure()
    return Candidate.objects.bulk_create(
        (
            Candidate(
                query=query,
                moment=moments[(place * 7 + rank) % MOMENTS],
                rank=rank,
                similarity=1 - rank / 100,
                measure=measure,
            )
            for place, query in enumerate(queries)
            for rank in ranks[query.number]
        ),
        batch_size=CHUNK,
    )


def benchmark_measure() -> Measure:
    measure, _ = Measure.objects.get_or_create(name="benchmark", model="benchmark", version="1", normalisation="none")
    return measure


def _annotators(project: Project, names: Mapping[int, str]) -> dict[int, User]:
    """An account for each annotator number; hashing one password for all saves the time of hashing."""
    password = make_password(PASSWORD)
    people = {
        number: User(username=f"{project.dataset.corpus_id}-{name}", password=password)
        for number, name in names.items()
    }
    User.objects.bulk_create(people.values())
    Membership.objects.bulk_create(
        Membership(project=project, user=user, role=Membership.Role.ANNOTATOR, number=number, standing="qualified")
        for number, user in people.items()
    )
    guideline = guideline_in_force(project.pk)
    GuidelineConfirmation.objects.bulk_create(
        GuidelineConfirmation(guideline=guideline, annotator=user) for user in people.values()
    )
    return people


def preview_gif() -> bytes:
    """A small moving picture of about the length of a real preview: 15 frames of 320 x 180."""
    frames = []
    for step in range(15):
        frame = Image.new("RGB", (320, 180), (40, 60, 90))
        ImageDraw.Draw(frame).ellipse((step * 18, 60, step * 18 + 60, 120), fill=(230, 170, 60))
        frames.append(frame.quantize(32))
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=333, loop=0)
    return file.getvalue()
