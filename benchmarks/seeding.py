"""A project to judge: queries with twenty pairs each, previews that are ready, and its annotators.

Imports models: Django must be set up before.
"""

from dataclasses import dataclass
from io import BytesIO
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from PIL import Image, ImageDraw

from annotation.models import Candidate, Corpus, Membership, Moment, Project, Query, User, Video
from annotation.rules.pooling import BATCH_SIZE
from judging.guideline import BODY, LEVELS
from judging.models import GuidelineExample
from judging.services.batches import batches_open
from judging.services.policies import guideline_publish, policy_publish

MOMENTS = 200
MOMENT_S = 5.0
PASSWORD = "benchmark-only"
PROBES = ("probe-1", "probe-2")  # count the statements of one judgment, before and after the run


@dataclass(frozen=True)
class Seeded:
    """The project and who judges in it: ``annotators`` through HTTP, ``probes`` through the test client."""

    project: Project
    annotators: list[User]
    probes: list[User]


@transaction.atomic
def project_seed(*, annotators: int, queries: int) -> Seeded:
    """One project with a first batch of twenty pairs open for each of its queries."""
    title = f"Benchmark {uuid4().hex[:8]}"  # a sweep seeds one project per step
    corpus = Corpus.objects.create(name=title)
    project = Project.objects.create(name=title, corpus=corpus)
    policy_publish(project=project, actor=None)
    guideline = guideline_publish(project=project, actor=None, body=BODY, levels=list(LEVELS))
    moments = _moments(corpus)
    GuidelineExample.objects.bulk_create(
        GuidelineExample(guideline=guideline, grade=grade, query_text="Someone waves.", moment=moments[grade])
        for grade in range(5)
    )
    _queries(project, moments, queries)
    batches_open(project_id=project.pk)
    names = [*(f"annotator-{number}" for number in range(1, annotators + 1)), *PROBES]
    people = [_annotator(project, f"{corpus.pk}-{name}", number) for number, name in enumerate(names, 1)]
    return Seeded(project, people[:annotators], people[annotators:])


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


def _queries(project: Project, moments: list[Moment], count: int) -> None:
    queries = Query.objects.bulk_create(
        Query(project=project, number=number, text=f"Someone does thing number {number}.", split=Query.Split.TEST)
        for number in range(1, count + 1)
    )
    Candidate.objects.bulk_create(
        Candidate(
            query=query,
            moment=moments[(place * 7 + rank) % MOMENTS],
            rank=rank,
            similarity=1 - rank / 100,
            model="benchmark",
        )
        for place, query in enumerate(queries)
        for rank in range(1, BATCH_SIZE + 1)
    )


def _annotator(project: Project, username: str, number: int) -> User:
    user = User.objects.create_user(username, PASSWORD)
    Membership.objects.create(project=project, user=user, role=Membership.Role.ANNOTATOR, number=number)
    return user


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
