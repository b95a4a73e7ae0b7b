"""What follows when a release is ready: its truths, its own runs, and all other runs scored on it."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from core.jobs import durable, swept
from core.messages import send_on_commit
from judging.models import Release
from models_runner.leaderboard.services.scorings import scorings_order
from models_runner.leaderboard.services.similarity import RUNS_TASK, similarity_runs_make
from models_runner.leaderboard.services.truths import truths_make
from models_runner.models import ReadRelease, Run, Truth

LATE, RECENT = timedelta(minutes=1), timedelta(hours=1)


@durable(RUNS_TASK)
def release_receive(*, release_id: int) -> None:
    """Read the release, score the project's runs on it, make its runs by similarity; a repeat finds it done."""
    release = Release.objects.select_related("project").filter(pk=release_id, state=Release.State.READY).first()
    if release is None:
        return
    truths_make(release)
    ReadRelease.objects.get_or_create(release=release)
    scorings_order(release=release)
    similarity_runs_make(release_id=release_id)


@swept
def runs_sweep(now: datetime) -> None:
    """Send again whatever a lost message or a killed worker left undone."""
    ready = Release.objects.filter(state=Release.State.READY, created_at__lte=now - LATE)
    for pk in ready.filter(_unread() | _unmade() | _stopped(now)).values_list("pk", flat=True):
        send_on_commit(RUNS_TASK, pk)


def _unread() -> Q:
    """One without a judged query is read once, too, and has no run to make."""
    return ~Q(Exists(ReadRelease.objects.filter(release=OuterRef("pk"))))


def _unmade() -> Q:
    """Of a split with judged queries the run by similarity is missing."""
    made = Run.objects.filter(source=Run.Source.SIMILARITY, release=OuterRef("release"), split=OuterRef("split"))
    return Q(Exists(Truth.objects.filter(~Exists(made), release=OuterRef("pk"))))


def _stopped(now: datetime) -> Q:
    at_work = Run.objects.filter(source=Run.Source.SIMILARITY, state=Run.State.RUNNING, release=OuterRef("pk"))
    return Q(Exists(at_work), created_at__gte=now - RECENT)
