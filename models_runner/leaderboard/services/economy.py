"""Studies of judging economy: what a release's runs would look like with fewer judgments."""

import csv
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from io import TextIOWrapper
from zipfile import ZipFile

from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from accounts.models import User
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible
from core.locks import only_one
from core.messages import send_on_commit
from judging.models import Release
from judging.releases.files import archive_opened
from models_runner.leaderboard.services.scorings import run_table
from models_runner.leaderboard.services.truths import truth_table
from models_runner.models import EconomyStudy, Run, Scoring
from moment_retrieval.errors import ScoringError
from moment_retrieval.statistics.economy import LEAST_RUNS, Pair, study

logger = logging.getLogger(__name__)
TASK = "models_runner.tasks.economy_work"
LATE = timedelta(minutes=2)  # a study that has not moved for so long has lost its worker or its message
PAIRS, RAW = "pairs.csv", "raw_annotation.csv"
USED = ("settled", "dropped")


def study_create(*, release: Release, split: str, actor: User | None, wake: bool = True) -> EconomyStudy:
    """Order a study; a task computes it unless the caller does.

    Raises:
        NotPossible: there are too few runs, or one is at work.
    """
    found = len(runs_of(release, split))
    if found < LEAST_RUNS:
        raise NotPossible(f"A ranking needs {LEAST_RUNS} runs; scored on this release and split: {found}.")
    try:
        with transaction.atomic():
            made = EconomyStudy.objects.create(release=release, split=split, actor=actor)
            said = {"version": release.version, "split": split}
            audit_record(project=release.project, actor=actor, action="economy.study", subject=made.uuid, **said)
            if wake:
                send_on_commit(TASK, made.pk)
    except IntegrityError as error:
        raise NotPossible("A study of these runs is at work already.") from error
    return made


def study_work(*, study_id: int) -> None:
    """Compute a study; a repeat finds it done."""
    with only_one("economy", study_id) as alone:
        held = EconomyStudy.objects.select_related("release__project").filter(pk=study_id).first()
        if not alone or held is None or not held.is_at_work:
            return
        try:
            result = _computed(held)
        except OperationalError:
            raise
        except (ScoringError, MomentJudgeError, ValueError) as error:
            _fail(held, str(error))
        except Exception as error:
            _fail(held, f"{type(error).__name__}: {error}")
            raise
        else:
            at_work = EconomyStudy.objects.filter(pk=held.pk, state=EconomyStudy.State.RUNNING)
            at_work.update(state=EconomyStudy.State.DONE, result=result, updated_at=timezone.now())


def _computed(held: EconomyStudy) -> dict[str, object]:
    def tell(done: int, total: int) -> None:
        EconomyStudy.objects.filter(pk=held.pk).update(done=done, total=total, updated_at=timezone.now())

    runs = runs_of(held.release, held.split)
    tables = {str(run.uuid): run_table(run) for run in runs}
    judged = truth_table(release=held.release, split=held.split)
    queries = set(judged.query_ids)
    pairs = [pair for pair in pairs_of(held.release) if pair.query_id in queries]
    return study(tables, judged, pairs, tell=tell) | {"runs": told_apart(runs)}


def told_apart(runs: Sequence[Run]) -> list[str]:
    """Their names; those that are called the same get the beginning of their UUID."""
    named = Counter(run.name for run in runs)
    return [run.name if named[run.name] == 1 else f"{run.name} · {str(run.uuid)[:8]}" for run in runs]


def runs_of(release: Release, split: str) -> list[Run]:
    """The runs scored on the release, the oldest first."""
    scored = Scoring.objects.filter(release=release, run__split=split, state=Scoring.State.SCORED)
    scored = scored.filter(run__state=Run.State.SCORED, run__labels=Run.Labels.JUDGED)
    return [scoring.run for scoring in scored.select_related("run__project__dataset__corpus").order_by("run_id")]


def lacking(release: Release) -> list[str]:
    """The files with grades and batches that the release does not hold, as its manifest says."""
    return [name for name in (PAIRS, RAW) if name not in release.manifest.get("files", {})]


def pairs_of(release: Release) -> Iterator[Pair]:
    """The judged pairs of the release with the grades behind them, as far as its archive says."""
    with archive_opened(release) as source, ZipFile(source) as archive:
        if not {PAIRS, RAW} <= set(archive.namelist()):
            return
        grades: dict[str, list[int]] = {}
        for row in _rows(archive, RAW):
            grades.setdefault(row["pair_id"], []).append(int(row["relevance"]))
        for row in _rows(archive, PAIRS):
            if row["state"] in USED:
                yield _pair(row, grades.get(row["pair_id"], []))


def _rows(archive: ZipFile, name: str) -> Iterator[dict[str, str]]:
    with archive.open(name) as file:
        yield from csv.DictReader(TextIOWrapper(file, encoding="utf-8", newline=""))


def _pair(row: dict[str, str], grades: list[int]) -> Pair:
    return Pair(
        pair_id=int(row["pair_id"]),
        query_id=row["query_id"],
        video=row["video_name"],
        start_s=float(row["start"]),
        end_s=float(row["end"]),
        rank=int(row["rank"]) if row["rank"] else None,
        batch=int(row["batch"]) if row["batch"] else None,
        grades=tuple(grades),
    )


def _fail(held: EconomyStudy, error: str) -> None:
    at_work = EconomyStudy.objects.filter(pk=held.pk, state=EconomyStudy.State.RUNNING)
    at_work.update(state=EconomyStudy.State.FAILED, error=error[:2000] or "unknown")
    logger.warning("study %s failed: %s", held.pk, error)


def studies_sweep(*, now: datetime) -> None:
    """Send again every study that does not move."""
    stale = EconomyStudy.objects.filter(state=EconomyStudy.State.RUNNING, updated_at__lte=now - LATE)
    for pk in stale.values_list("pk", flat=True):
        send_on_commit(TASK, pk)
