"""The steps of a project from videos to a trained baseline, and how far it is with each: the list on its first page."""

from collections.abc import Callable
from typing import NamedTuple

from django.db.models import Count, Q

from accounts.models import Project
from annotation.models import Caption, Moment, Query
from annotation.queries.selectors import queries_to_judge
from judging.models import Batch, Release
from judging.people.selectors import judges_of_a_pair, shortage_of
from judging.review.selectors import review_queue

READY, MISSING = Moment.Preview.READY, Moment.Preview.MISSING


class Step(NamedTuple):
    """One step: what there is of it, and the page where it is done, named by its route."""

    label: str
    is_done: bool
    facts: str
    action: str
    page: str
    is_optional: bool = False


class ChecklistItem(NamedTuple):
    """A step with its state: ``done``, ``now`` (the first that is not), or ``later``."""

    step: Step
    state: str


class Checklist(NamedTuple):
    items: list[ChecklistItem]

    @property
    def n_done(self) -> int:
        return sum(item.state == "done" for item in self.items)

    @property
    def current(self) -> Step:
        """The step to take now."""
        return next(item.step for item in self.items if item.state == "now")

    @property
    def is_set_up(self) -> bool:
        """Whether people can judge."""
        return all(item.state == "done" for item in self.items[:4])


ReadStep = Callable[[Project], Step]
_more_steps: list[ReadStep] = []


def register_step(read: ReadStep) -> None:
    """Add a step of a higher app, behind those of this one."""
    _more_steps.append(read)


def checklist_of(project: Project) -> Checklist | None:
    """Return every step with its state; None once all are done that are not optional."""
    steps = [read(project) for read in (_videos, _captions, _queries, _people, _judgments, _reviews, _release)]
    steps += [read(project) for read in _more_steps]
    current = next((step for step in steps if not step.is_done and not step.is_optional), None)
    items = [ChecklistItem(step, "done" if step.is_done else "now" if step is current else "later") for step in steps]
    return Checklist(items) if current else None


def _videos(project: Project) -> Step:
    corpus = project.dataset.corpus
    ready, missing = (Count("pk", filter=Q(preview_state=state)) for state in (READY, MISSING))
    moments = Moment.objects.filter(video__corpus=corpus).aggregate(total=Count("pk"), ready=ready, missing=missing)
    facts = f"{_count(corpus.videos.count(), 'video')}, {_count(moments['total'], 'moment')}"
    facts += f", {moments['ready']:,} with a preview" if moments["total"] else ""
    is_done = bool(moments["ready"]) and not moments["missing"]
    return Step("Videos", is_done, facts, "Add videos and moments", "annotation:corpus")


def _captions(project: Project) -> Step:
    state = Caption.State
    captions = Caption.objects.filter(description__corpus=project.dataset.corpus_id).aggregate(
        serving=Count("pk", filter=Q(state__in=[state.ACCEPTED, state.EDITED])),
        waiting=Count("pk", filter=Q(state=state.IN_REVIEW)),
    )
    rewritten = Caption.objects.exclude(provider=Caption.Provider.AS_DESCRIBED).values("description")
    n_unwritten = project.dataset.corpus.descriptions.exclude(pk__in=rewritten).count()
    facts = f"{_count(captions['serving'], 'caption')} in use"
    facts += f", {n_unwritten:,} to rewrite" if n_unwritten else ""
    facts += f", {captions['waiting']:,} to decide" if captions["waiting"] else ""
    is_done = bool(captions["serving"]) and not n_unwritten and not captions["waiting"]
    return Step("Captions", is_done or project.queries.exists(), facts, "Rewrite and decide", "annotation:captions")


def _queries(project: Project) -> Step:
    rows = project.queries.filter(is_placeholder=False).order_by().values_list("split").annotate(n=Count("pk"))
    counts = dict(rows)
    parts = [f"{counts[split]:,} {split}" for split in Query.Split.values if counts.get(split)]
    return Step("Queries", bool(counts), ", ".join(parts) or "none drawn", "Draw queries", "annotation:splits")


def _people(project: Project) -> Step:
    counts = project.memberships.exclude(status="").aggregate(
        qualified=Count("pk", filter=Q(status="qualified")),
        training=Count("pk", filter=Q(status__in=["candidate", "training", "exam"])),
    )
    needed = judges_of_a_pair(project)
    facts = f"{counts['qualified']:,} qualified of the {needed} that consensus needs"
    facts += f", {counts['training']:,} in training" if counts["training"] else ""
    is_done = counts["qualified"] >= needed or (counts["qualified"] >= project.judges and shortage_of(project) is None)
    return Step("People", is_done, facts, "Invite annotators", "judging:people")


def _judgments(project: Project) -> Step:
    counts = Batch.objects.filter(project=project).aggregate(
        total=Count("pk"), done=Count("pk", filter=Q(state=Batch.State.DONE))
    )
    unopened = queries_to_judge(project.pk).filter(batches=None).count()
    facts = f"{counts['done']:,} of {_count(counts['total'], 'batch', 'batches')} done"
    facts += f", {_count(unopened, 'query', 'queries')} not opened" if unopened else ""
    is_done = bool(counts["total"]) and counts["done"] == counts["total"] and not unopened
    action = "Rank candidates and open batches" if unopened else "See the batches"
    return Step("Judge", is_done, facts, action, "judging:queries")


def _reviews(project: Project) -> Step:
    waiting = review_queue(project).count()
    decided = project.batches.filter(review__isnull=False).count()
    facts = f"{_count(decided, 'query', 'queries')} decided, {waiting:,} waiting"
    return Step("Review", bool(decided) and not waiting, facts, "Decide", "judging:review-queue")


def _release(project: Project) -> Step:
    count = project.releases.filter(state=Release.State.READY).count()
    return Step("Release", bool(count), _count(count, "release"), "Make a release", "judging:releases")


def _count(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
