"""Every route and for whom it is; ``test_doors`` knocks at each one and misses none.

A new route is a line of its area's list. What its URL names is an attribute of ``World``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import NamedQuerySet, Project, User
from judging.models import Assignment, Batch, Release
from judging.rules.keys import form_key
from models_runner.models import Run
from tests.factories import AssignmentFactory, BatchFactory, JudgmentFactory, PairFactory, ProjectFactory, admin, lead

Door = tuple[str, str, frozenset[str], str]  # name, what the URL names, for whom, method
ANNOTATOR, LEAD, STAFF = frozenset({"annotator"}), frozenset({"lead"}), frozenset({"lead", "admin"})
EVERYONE = STAFF | ANNOTATOR

CORPUS: list[Door] = [
    ("annotation:corpus", "project", STAFF, "get"),
    ("annotation:captions", "project", STAFF, "get"),
    ("annotation:captions-rewrite", "project", STAFF, "post"),
    ("annotation:caption-decide", "project", STAFF, "post"),
    ("annotation:caption-undo", "project", STAFF, "post"),
]
DESK: list[Door] = [
    ("judging:desk", "project", ANNOTATOR, "get"),
    ("judging:assignment-take", "project", ANNOTATOR, "post"),
    ("judging:pair-next", "project", ANNOTATOR, "get"),
    ("judging:last-look", "project", ANNOTATOR, "get"),
    ("judging:assignment-finish", "project", ANNOTATOR, "post"),
    ("judging:assignment-return", "project", ANNOTATOR, "post"),
    ("judging:heartbeat", "project", ANNOTATOR, "post"),
    ("judging:leave", "project", ANNOTATOR, "post"),
    ("judging:own-grades", "project", ANNOTATOR, "get"),
    ("judging:guideline", "project", EVERYONE, "get"),
]
QUERIES: list[Door] = [
    ("judging:overview", "project", STAFF, "get"),
    ("judging:queries", "project", STAFF, "get"),
    ("judging:batches-open", "project", STAFF, "post"),
    ("judging:query-sets", "project", STAFF, "get"),
    ("judging:query-set-create", "project", LEAD, "post"),
    ("judging:query-set", "set", STAFF, "get"),
    ("judging:query-set-change", "set", LEAD, "post"),
    ("judging:order", "project", STAFF, "get"),
]
REVIEW: list[Door] = [
    ("judging:review-queue", "project", STAFF, "get"),
    ("judging:flags", "project", STAFF, "get"),
    ("judging:pair-batch", "pair", STAFF, "get"),
    ("judging:pair-withdraw", "pair", LEAD, "post"),
    ("judging:pair-restore", "withdrawn", LEAD, "post"),
    ("judging:batch", "batch", STAFF, "get"),
    ("judging:batch-review", "batch", LEAD, "post"),
]
RELEASES: list[Door] = [
    ("judging:releases", "project", STAFF, "get"),
    ("judging:release-create", "project", STAFF, "post"),
    ("judging:release-download", "release", STAFF, "get"),
    ("judging:audit", "project", STAFF, "get"),
    ("models_runner:runs", "project", STAFF, "get"),
    ("models_runner:run-create", "project", STAFF, "post"),
    ("models_runner:run-download", "run", STAFF, "get"),
]
DOORS = [*CORPUS, *DESK, *QUERIES, *REVIEW, *RELEASES]
HELD: list[Door] = [  # only who holds the pair's assignment learns that it exists
    ("judging:pair", "pair", ANNOTATOR, "get"),
    ("judging:judgment-create", "pair", ANNOTATOR, "post"),
    ("judging:flag-set", "pair", ANNOTATOR, "post"),
    ("judging:flag-withdraw", "pair", ANNOTATOR, "post"),
]
OPEN = {"home", "login", "logout", "help", "healthz", "judging:preview", "judging:preview-clip"}  # tried elsewhere
OPEN |= {"tokens", "token-revoke", "api-schema", "api-docs"}


@dataclass
class World:
    """One project with everything a URL can name, and one person for each way of standing to it."""

    project: Project = field(default_factory=ProjectFactory)

    def __post_init__(self) -> None:
        self.batch: Batch = BatchFactory(query__project=self.project)
        self.assignment: Assignment = AssignmentFactory(
            batch=self.batch, expires_at=timezone.now() + timedelta(minutes=20)
        )
        for pair in self.batch.pairs.all():
            JudgmentFactory(assignment=self.assignment, pair=pair)
        done = BatchFactory(query__project=self.project, state="done")
        self.pair = self.batch.pairs.first()
        self.set = NamedQuerySet.objects.create(project=self.project, name="a set")
        self.withdrawn = PairFactory(batch=self.batch, candidate__rank=9, state="withdrawn", reason="withdrawn_by_lead")
        self.release = Release.objects.create(project=self.project, version=1)
        self.release.archive.save("release-1.zip", ContentFile(b"zip"), save=False)
        self.release.state, self.release.manifest = "ready", {"counts": {"pairs": {}}}
        self.release.save()
        self.run = Run.objects.create(project=self.project, release=self.release, system="similarity", split="val")
        self.run.file.save("run.json", ContentFile(b"[]"), save=False)
        self.run.state = "scored"
        self.run.save()
        self.people: dict[str, User] = {
            "annotator": self.assignment.annotator,
            "lead": lead(self.project),
            "admin": admin(self.project),
        }
        self.done = done

    def url(self, door: Door, *, unknown: bool = False) -> str:
        name, what, *_ = door
        row = self.done if name == "judging:batch-review" else getattr(self, what)
        return reverse(name, args=[uuid4() if unknown else row.uuid])

    def knock(self, door: Door, person: User | None, *, unknown: bool = False) -> HttpResponse:
        client = Client()
        if person is not None:
            client.force_login(person)
        call: Callable[..., HttpResponse] = getattr(client, door[3])
        return call(self.url(door, unknown=unknown), self.form() if door[3] == "post" else {})

    def form(self) -> dict[str, object]:
        """What any of the doors takes."""
        key = form_key(assignment=self.assignment.uuid, pair=self.pair.uuid, given=1)
        return {"key": key, "grade": 3, "decision": "close", "reason": "broken", "name": "new", "split": ""}
