"""Studies of judging economy: what a release's runs would look like with fewer judgments."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from io import TextIOWrapper
from zipfile import ZipFile

from django.db import IntegrityError, transaction

from accounts.models import User
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import JobKind, durable
from judging.models import Release
from judging.releases.layout import SETTINGS
from judging.releases.selectors import archive_opened
from models_runner.leaderboard.services.scorings import run_table, truth_table
from models_runner.models import EconomyStudy, Run, Scoring
from moment_retrieval.errors import ScoringError
from moment_retrieval.statistics.economy import JUDGES, LEAST_RUNS, MAX_SPREAD, Pair, study

STUDIES = JobKind(
    "models_runner.tasks.economy_work",
    lambda: EconomyStudy.objects.filter(state=EconomyStudy.State.RUNNING).select_related("release__project"),
    moved="updated_at",
    lock="economy",
    expected=(ScoringError, MomentJudgeError, ValueError),
)
PAIRS, RAW = "pairs.csv", "raw_annotation.csv"
USED = ("settled", "dropped")


def study_create(*, release: Release, split: str, actor: User | None, wake: bool = True) -> EconomyStudy:
    """Order a study; a task computes it unless the caller does. Raises NotPossible where there are too few runs, or one
    is at work."""
    n_runs = len(runs_of(release, split))
    if n_runs < LEAST_RUNS:
        raise NotPossible(f"A ranking needs {LEAST_RUNS} runs; scored on this release and split: {n_runs}.")
    try:
        with transaction.atomic():
            economy_study = EconomyStudy.objects.create(release=release, split=split, actor=actor)
            details = {"version": release.version, "split": split}
            audit_record(
                project=release.project, actor=actor, action="economy.study", subject=economy_study.uuid, **details
            )
            if wake:
                STUDIES.send(economy_study.pk)
    except IntegrityError as error:
        raise NotPossible("A study of these runs is at work already.") from error
    return economy_study


@durable(STUDIES.task)
def study_work(*, study_id: int) -> None:
    """Compute a study; a repeat finds it done."""
    with STUDIES.claim(study_id) as study:
        if study is not None:
            STUDIES.move(study, state=EconomyStudy.State.DONE, result=_computed(study))


def _computed(economy_study: EconomyStudy) -> dict[str, object]:
    def report_progress(n_done: int, total: int) -> None:
        STUDIES.move(economy_study, done=n_done, total=total)

    runs = runs_of(economy_study.release, economy_study.split)
    tables = {str(run.uuid): run_table(run) for run in runs}
    judged = truth_table(release=economy_study.release, split=economy_study.split)
    queries = set(judged.query_ids)
    pairs = [pair for pair in pairs_of(economy_study.release) if pair.query_id in queries]
    counts = Counter(run.name for run in runs)  # of the same name, the beginning of their UUID tells them apart
    names = [run.name if counts[run.name] == 1 else f"{run.name} · {str(run.uuid)[:8]}" for run in runs]
    rules = rounds_of(economy_study.release)
    return study(tables, judged, pairs, **rules, on_progress=report_progress) | {"runs": names}


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
                yield Pair(
                    pair_id=int(row["pair_id"]),
                    query_id=row["query_id"],
                    video=row["video_name"],
                    start_s=float(row["start"]),
                    end_s=float(row["end"]),
                    rank=int(row["rank"]) if row["rank"] else None,
                    batch=int(row["batch"]) if row["batch"] else None,
                    grades=tuple(grades.get(row["pair_id"], ())),
                )


def rounds_of(release: Release) -> dict[str, int]:
    """Return the judges of a round and the largest spread that the archive states, else those of TVR-Ranking."""
    with archive_opened(release) as source, ZipFile(source) as archive:
        settings = json.loads(archive.read(SETTINGS)) if SETTINGS in archive.namelist() else {}
    consensus = settings.get("consensus", {})
    return {
        "judges": consensus.get("judgments_per_round", JUDGES),
        "max_spread": consensus.get("largest_spread", MAX_SPREAD),
    }


def _rows(archive: ZipFile, name: str) -> Iterator[dict[str, str]]:
    with archive.open(name) as file:
        yield from csv.DictReader(TextIOWrapper(file, encoding="utf-8", newline=""))
