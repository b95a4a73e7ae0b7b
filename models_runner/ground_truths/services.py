"""Ground truth of other forms and runs on it: stored, then read and scored by a task, each step safe to repeat."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Membership, Project, User
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible, TooLarge
from core.files import checksum
from core.jobs import durable
from core.media_files import files_delete
from core.texts import checked_name, storable
from models_runner.ground_truths.rules import (
    FAMILY_LABELS,
    Form,
    MeasureFamily,
    Options,
    Result,
    families_of,
    query_count,
    read_labels,
    run_scored,
    video_count,
)
from models_runner.leaderboard.services.participants import leaderboard_of
from models_runner.leaderboard.services.runs import (
    LONGEST_REASON,
    UNREADABLE_PER_DAY,
    UploadLimit,
    name_checked,
    upload_source,
)
from models_runner.leaderboard.services.scorings import UNEXPECTED
from models_runner.models import GroundTruth, TruthRun, TruthScore
from models_runner.slots import SlotKind
from moment_retrieval.errors import ScoringError

logger = logging.getLogger(__name__)
DAY = timedelta(days=1)
LONGEST_NAME = 100
LONGEST_ERROR = 2000
GROUND_TRUTHS: SlotKind[GroundTruth] = SlotKind(
    "models_runner.tasks.ground_truth_work",
    lambda: GroundTruth.objects.filter(state=GroundTruth.State.READING),
    moved="updated_at",
    lock="ground-truth",
    expected=(ScoringError, MomentJudgeError),
    unexpected=UNEXPECTED,
)
TRUTH_RUNS: SlotKind[TruthRun] = SlotKind(
    "models_runner.tasks.truth_run_work",
    lambda: TruthRun.objects.filter(state=TruthRun.State.WAITING).select_related("truth"),
    moved="updated_at",
    lock="truth-run",
    expected=(ScoringError, MomentJudgeError),
    unexpected=UNEXPECTED,
)


def ground_truth_create(
    *,
    project: Project,
    actor: User,
    file: "File[Any]",
    name: str,
    split: str,
    form: str = "",
    is_public: bool = False,
) -> GroundTruth:
    """Store a file of labels and wake the task that reads it.

    Raises:
        NotPossible: the name is taken, or no name.
        TooLarge: the file is.
    """
    _check_size(file)
    truth = GroundTruth(project=project, name=_name(name), split=_name(split), form=form, is_public=is_public)
    truth.created_by, truth.sha256 = actor, checksum(file)
    truth.file_name, truth.bytes = (file.name or "ground truth")[-200:], file.size or 0
    truth.file.save(truth.file_name, file, save=False)  # before any lock, which must not last so long
    try:
        with transaction.atomic():
            truth.save()
            details = {"name": truth.name, "split": truth.split, "is_public": is_public, "sha256": truth.sha256}
            audit_record(project=project, actor=actor, action="ground_truth.upload", subject=truth.uuid, **details)
            GROUND_TRUTHS.send(truth.pk)
    except BaseException as error:
        files_delete(str(truth.file.name))
        if isinstance(error, IntegrityError):
            raise NotPossible(f"There is a ground truth named {truth.name!r} already; choose another name.") from error
        raise
    return truth


def _name(name: str) -> str:
    name = checked_name(name)
    if len(name) > LONGEST_NAME:
        raise NotPossible(f"A name has at most {LONGEST_NAME} characters.")
    return name


def _check_size(file: "File[Any]") -> None:
    if (file.size or 0) > settings.RUN_MAX_MB * 2**20:
        raise TooLarge(f"The file is larger than {settings.RUN_MAX_MB} MB; pack it with gzip.")


@durable(GROUND_TRUTHS.task)
def ground_truth_work(*, truth_id: int) -> None:
    """Read and check a ground truth; a repeat finds it done. A bad file says why, with its line."""
    with GROUND_TRUTHS.claim_in_slot(truth_id) as truth:
        if truth is None:
            return
        form, labels = read_labels(upload_source(truth.file), Form(truth.form) if truth.form else None)
        families = [family.value for family in families_of(form, labels)]
        values: dict[str, object] = {"form": form.value, "n_queries": query_count(labels)}
        values |= {"n_videos": video_count(labels), "measures": families}
        GROUND_TRUTHS.move(truth, state=GroundTruth.State.READY, **values)


@transaction.atomic
def ground_truth_delete(*, truth: GroundTruth, actor: User) -> None:
    """Delete a ground truth with its file, and the runs on it that failed or were withdrawn. Raises NotPossible while
    it is read, which needs the file, and while a run is scored on it or waits to be."""
    row = _lock(truth)
    if row.is_at_work:
        raise NotPossible(f"The ground truth {row.name} is still being read; delete it once that is done.")
    ended = row.runs.filter(state__in=TruthRun.ENDED)
    if n_runs := row.runs.exclude(state__in=TruthRun.ENDED).count():
        needs = f"{n_runs} run{' stands' if n_runs == 1 else 's stand'}"
        raise NotPossible(
            f"{needs} on the leaderboard of {row.name}; withdraw {'it' if n_runs == 1 else 'them'} first."
        )
    names = [str(row.file.name), *(str(run.file.name) for run in ended)]
    details = {"name": row.name, "runs": len(names) - 1}
    audit_record(project=row.project, actor=actor, action="ground_truth.delete", subject=row.uuid, **details)
    ended.delete()
    row.delete()
    transaction.on_commit(partial(files_delete, *names))


def _lock(truth: GroundTruth) -> GroundTruth:
    rows = GroundTruth.objects.select_for_update(of=("self",)).select_related("project")
    row = rows.filter(pk=truth.pk).first()
    if row is None:
        raise NotPossible("This ground truth has been deleted.")
    return row


def truth_run_upload(
    *,
    membership: Membership,
    truth: GroundTruth,
    file: "UploadedFile[Any] | File[Any]",
    system: str,
    team: str = "",
    measures: Sequence[str],
    options: Mapping[str, Any],
    now: datetime | None = None,
) -> TruthRun:
    """Store a run and wake the task that scores it by the families ``measures``.

    Raises:
        NotPossible: the ground truth is not ready or has no such measures, the name is taken, or another upload of
            theirs on it is at work.
        UploadLimit: a participant has uploaded as often as they may today.
        TooLarge: the file is.
    """
    now = now or timezone.now()
    names = {"system": name_checked(system, "system"), "team": name_checked(team, "team") if team.strip() else ""}
    _check_size(file)
    truth_run_check(membership, truth, now)
    if not measures or set(measures) - set(truth.measures):
        labels = ", ".join(FAMILY_LABELS[MeasureFamily(family)] for family in truth.measures)
        raise NotPossible(f"The ground truth {truth.name} has the measures {labels}: choose among these.")
    run = TruthRun(truth=truth, owner=membership.user, measures=list(measures), options=dict(options), **names)
    run.sha256, run.file_name, run.bytes = checksum(file), (file.name or "run")[-200:], file.size or 0
    run.file.save(run.file_name, file, save=False)
    try:
        with transaction.atomic():
            Membership.objects.select_for_update().get(pk=membership.pk)  # so that two uploads count each other
            row = _lock(truth)
            truth_run_check(membership, row, now)
            run.save()
            details = {"system": run.system, "truth": row.name, "sha256": run.sha256}
            audit_record(project=row.project, actor=run.owner, action="truth_run.upload", subject=run.uuid, **details)
            TRUTH_RUNS.send(run.pk)
    except BaseException as error:
        files_delete(str(run.file.name))
        if isinstance(error, IntegrityError):
            message = f"You have a run of {run.system!r} on {truth.name} already; give this one another name."
            raise NotPossible(message) from error
        raise
    return run


def truth_run_check(membership: Membership, truth: GroundTruth, now: datetime) -> None:
    """Look whether this person may upload a run now: to a ground truth that is ready, one at a time, and as a
    participant as many a day as to releases. Raises NotPossible, UploadLimit."""
    if not truth.is_ready:
        raise NotPossible(f"The ground truth {truth.name} is not ready; a run is scored on one that is.")
    own = TruthRun.objects.filter(owner=membership.user_id)
    if own.filter(truth=truth, state=TruthRun.State.WAITING).exists():
        raise NotPossible(f"An upload of yours to {truth.name} is still being scored; wait until that is done.")
    if not membership.is_participant:
        return
    recent = own.filter(truth__project=membership.project_id, created_at__gt=now - DAY)
    most = leaderboard_of(membership.project).uploads_per_day
    n_failed = recent.filter(state=TruthRun.State.FAILED).count()
    for n_uploads, limit, what in (
        (recent.count() - n_failed, most, f"{most} run{'' if most == 1 else 's'}"),
        (n_failed, UNREADABLE_PER_DAY, f"{UNREADABLE_PER_DAY} files that could not be scored"),
    ):
        if n_uploads >= limit:
            raise UploadLimit(f"You have uploaded {what} to ground truths within a day; try again tomorrow.")


@durable(TRUTH_RUNS.task)
def truth_run_work(*, run_id: int) -> None:
    """Read and score a run; a repeat finds it done. A bad file says why, with its line, and its file goes."""
    with TRUTH_RUNS.claim_in_slot(run_id) as run:
        if run is not None:
            truth_run_write(run, truth_run_result(run))


def truth_run_result(run: TruthRun) -> Result:
    """Return the values of a run. Raises ScoringError, ImportFileError."""
    form = Form(run.truth.form)
    _, labels = read_labels(upload_source(run.truth.file), form)
    families = [MeasureFamily(family) for family in run.measures]
    return run_scored(labels, upload_source(run.file), families, Options.of(form, run.options))


@transaction.atomic
def truth_run_write(run: TruthRun, result: Result) -> None:
    """Keep the scores, all or none. Raises Stopped where another process was quicker."""
    warnings = [storable(warning)[:LONGEST_ERROR] for warning in result.warnings]
    counts = {"n_queries": result.n_queries, "n_missing": result.n_missing, "warnings": warnings}
    TRUTH_RUNS.move(run, state=TruthRun.State.SCORED, **counts)
    TruthScore.objects.bulk_create(TruthScore(run=run, **value._asdict()) for value in result.values)
    logger.info("run %s scored on ground truth %s", run.pk, run.truth_id)


@transaction.atomic
@TRUTH_RUNS.failure
def truth_run_fail(run: TruthRun, error: str) -> None:
    """The run says why; its file goes."""
    waiting = TruthRun.objects.filter(pk=run.pk, state=TruthRun.State.WAITING)
    message = storable(error)[:LONGEST_ERROR] or "unknown"
    if waiting.update(state=TruthRun.State.FAILED, error=message, file=""):
        transaction.on_commit(partial(files_delete, str(run.file.name)))
        logger.warning("run %s on a ground truth failed: %s", run.pk, error)


@transaction.atomic
def truth_run_withdraw(*, run: TruthRun, actor: User, reason: str) -> TruthRun:
    """Take a run off the leaderboard; its name is free again. Raises NotPossible where no reason is given, or it is not
    scored."""
    reason = reason.strip()
    if not 0 < len(reason) <= LONGEST_REASON or "\0" in reason:
        raise NotPossible(f"Say why, in at most {LONGEST_REASON} characters.")
    rows = TruthRun.objects.select_for_update(of=("self",)).select_related("truth__project")
    row = rows.filter(pk=run.pk).first()
    if row is None or row.state != TruthRun.State.SCORED:
        raise NotPossible("Only a run that is scored can be withdrawn.")
    row.state, row.reason = TruthRun.State.WITHDRAWN, reason
    row.save(update_fields=["state", "reason", "updated_at"])
    details = {"system": row.system, "truth": row.truth.name, "reason": reason}
    audit_record(project=row.truth.project, actor=actor, action="truth_run.withdraw", subject=row.uuid, **details)
    return row
