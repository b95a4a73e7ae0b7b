"""Runs that people upload or trainings answer: stored, read and scored by a task, each step safe to repeat.

No ``UploadKind``: a run has one step without a confirmation, its file stays, it has no report, and how many a person
may upload is counted under the lock of their membership; only the order of storing file and row would be shared.
"""

import logging
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.fields.files import FieldFile
from django.utils import timezone
from django.utils.formats import date_format

from accounts.models import Membership, User
from annotation.corpora.importers.files import Budget
from annotation.corpora.services.imports import upload_limits
from annotation.models import Query
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible, TooLarge
from core.files import checksum
from core.jobs import durable
from core.media_files import files_delete
from core.texts import checked_name, storable
from judging.models import Release
from models_runner.leaderboard.services.participants import concerns_about, leaderboard_of
from models_runner.leaderboard.services.releases import SIMILARITY
from models_runner.leaderboard.services.score_tests import score_tests_drop
from models_runner.leaderboard.services.scorings import (
    LEAST_ANSWERED,
    UNEXPECTED,
    answers_enough,
    durations_of,
    scored,
    scoring_write,
    scorings_schedule,
    truth_pool,
    truth_table,
    truths_make,
)
from models_runner.models import Run, Scoring, Training
from models_runner.pools.services import corpus_of
from models_runner.slots import SlotKind
from moment_retrieval import formats, jsonfiles, serialization
from moment_retrieval.errors import ScoringError, UnknownQuery
from moment_retrieval.metrics.recall import DEPTH
from moment_retrieval.tables import RunTable

logger = logging.getLogger(__name__)
DAY = timedelta(days=1)
UNREADABLE_PER_DAY = 20  # files of a participant
MOST_PREDICTIONS = 1000  # of a query, as is usual at TREC; measures look at 100
LONGEST_REASON = 500
LONGEST = 100  # characters of a name
UNSEEN = {"Cf", "Co", "Cn"}  # marks of direction, joiners, what has no shape: two names would look the same
AT_WORK = "An upload of yours is still being scored; wait until that is done."
WITH_FILES = (Run.Source.UPLOAD, Run.Source.BASELINE)  # that are read by the task
UPLOADS: SlotKind[Run] = SlotKind(
    "models_runner.tasks.run_work",
    lambda: (
        Run.objects.filter(state=Run.State.RUNNING, source__in=WITH_FILES)
        .exclude(file="")
        .select_related("release", "project__dataset__corpus")
    ),
    moved="updated_at",
    lock="run",
    expected=(ScoringError, MomentJudgeError),
    unexpected=UNEXPECTED,
    clean=lambda run: files_delete(str(run.table.name)),
)
Step = Run.Step


class UploadLimit(NotPossible):
    """As many runs as a participant may upload, within a day or in all."""

    code = "upload_limit"


def run_upload(
    *,
    membership: Membership,
    release: Release,
    split: str,
    system: str,
    file: "UploadedFile[Any]",
    team: str = "",
    now: datetime | None = None,
) -> Run:
    """Store a file and wake the task that reads and scores it.

    Raises:
        NotPossible: the release is not ready or of another project, the name is taken, or another upload of theirs is
            at work.
        UploadLimit: they have uploaded as often as they may today.
        TooLarge: the file is.
    """
    now = now or timezone.now()
    names = {"system": name_checked(system, "system"), "team": name_checked(team, "team") if team.strip() else ""}
    if (file.size or 0) > settings.RUN_MAX_MB * 2**20:
        raise TooLarge(f"The file is larger than {settings.RUN_MAX_MB} MB; pack it with gzip.")
    if release.state != Release.State.READY or release.project_id != membership.project_id:
        raise NotPossible("This release is not ready; a run is scored on one that is.")
    run = Run(project=release.project, release=release, split=split, source=Run.Source.UPLOAD, **names)
    run.owner, run.file_name, run.bytes = membership.user, (file.name or "run")[-200:], file.size or 0
    upload_check(membership, now)
    upload_check_in_all(membership, split)
    namesakes = Run.objects.filter(project=run.project_id, split=split, owner=run.owner_id, system=run.system)
    if namesakes.exclude(state__in=[Run.State.FAILED, Run.State.WITHDRAWN]).exists():
        raise NotPossible(_taken(run))
    try:
        _run_store(run, file, check=partial(_upload_check_locked, run, membership, now))
    except IntegrityError as error:
        raise NotPossible(_taken(run)) from error
    return run


def _run_store(run: Run, file: "File[Any]", *, check: Callable[[], None] | None = None) -> None:
    """Store a run with its file and wake the task that reads it; the file goes again where the row is refused."""
    run.sha256 = checksum(file)
    run.file.save(run.file_name, file, save=False)  # before any lock, which must not last so long
    try:
        with transaction.atomic():
            if check:
                check()
            run.save()
            Scoring.objects.create(run=run, release=run.release)
            UPLOADS.send(run.pk)
    except BaseException:
        files_delete(str(run.file.name))
        raise


def upload_check(membership: Membership, now: datetime) -> None:
    """A cheap look before a file is read: may this person bring one?

    Raises:
        NotPossible: another upload of theirs is at work.
        UploadLimit: they have uploaded as often as they may today.
    """
    limits = _limits(membership, now) if membership.is_participant else []
    if waits := [(at, uploads) for at, uploads in limits if at > now]:
        at = date_format(timezone.localtime(max(waits)[0]), "j M Y, H:i")
        raise UploadLimit(f"You have uploaded {waits[0][1]} within a day; the next is possible on {at} (UTC).")
    if _at_work(membership.project_id, membership.user_id):
        raise NotPossible(AT_WORK)


def upload_check_in_all(membership: Membership, split: str) -> None:
    """Raise UploadLimit when a participant has uploaded as many runs to a hidden split as they may in all."""
    settings_of_project = leaderboard_of(membership.project)
    if not membership.is_participant or not settings_of_project.hides(split):
        return
    most = settings_of_project.uploads_in_all
    if uploads_in_all(membership, split) >= most:
        raise UploadLimit(
            f"You have uploaded {most} run{'' if most == 1 else 's'} to the {split} split, as many as a participant "
            "may in all: its labels are hidden, and every score tells a little of them."
        )


def uploads_in_all(membership: Membership, split: str) -> int:
    """How many uploads of this person to the split were read or may be; withdrawn ones count."""
    runs = Run.objects.filter(project=membership.project_id, owner=membership.user_id, split=split)
    return runs.exclude(state=Run.State.FAILED, form="").count()


def _upload_check_locked(run: Run, membership: Membership, now: datetime) -> None:
    """The person's membership is locked, so that two uploads count each other."""
    Membership.objects.select_for_update().get(pk=membership.pk)
    upload_check(membership, now)
    upload_check_in_all(membership, run.split)
    facts = {"system": run.system, "split": run.split, "version": run.release.version, "sha256": run.sha256}
    audit_record(project=run.project, actor=run.owner, action="run.upload", subject=run.uuid, **facts)


def upload_possible_at(membership: Membership, now: datetime) -> datetime:
    """When the person may upload next: now, or a day after the oldest that counts. Files that could not be read have a
    limit of their own; whatever was read counts, also when it was refused then."""
    return max(at for at, _ in _limits(membership, now))


def _limits(membership: Membership, now: datetime) -> list[tuple[datetime, str]]:
    """Return, of uploads that were read or may be and of those that could not be: when the next is possible, and how
    many may be within a day."""
    runs = Run.objects.filter(project=membership.project_id, owner=membership.user_id, created_at__gt=now - DAY)
    unreadable = Q(state=Run.State.FAILED, form="")
    most = leaderboard_of(membership.project).uploads_per_day
    return [
        (_free_at(runs.exclude(unreadable), most, now), f"{most} run{'' if most == 1 else 's'}"),
        (
            _free_at(runs.filter(unreadable), UNREADABLE_PER_DAY, now),
            f"{UNREADABLE_PER_DAY} files that could not be read",
        ),
    ]


def _free_at(runs: QuerySet[Run], most: int, now: datetime) -> datetime:
    recent = list(runs.order_by("-created_at").values_list("created_at", flat=True)[:most])
    return now if len(recent) < most else recent[-1] + DAY


def name_checked(name: str, what: str) -> str:
    """A name that everybody reads, as it is kept. Raises NotPossible for one that is not seen or misleads."""
    name = unicodedata.normalize("NFC", name)
    if any(unicodedata.category(letter) in UNSEEN for letter in name):
        raise NotPossible(f"The name of the {what} holds an invisible character.")
    name = checked_name(name)
    if unicodedata.normalize("NFKC", name).casefold() == SIMILARITY:
        raise NotPossible(f"{SIMILARITY!r} is what the site calls its own run; choose another name for the {what}.")
    if len(name) > LONGEST:
        raise NotPossible(f"The name of the {what} has at most {LONGEST} characters.")
    return name


def _at_work(project_id: int, owner_id: int | None) -> bool:
    return Run.objects.filter(project=project_id, owner=owner_id, state=Run.State.RUNNING).exists()


def _taken(run: Run) -> str:
    if _at_work(run.project_id, run.owner_id):
        return AT_WORK
    return f"You have a run of {run.system!r} on {run.split} already; give this one another name."


@transaction.atomic
def run_withdraw(*, run: Run, actor: User, reason: str) -> Run:
    """Take a run off the leaderboard and out of studies; its name is free again, and it still counts as an upload.
    Raises NotPossible where no reason is given, it was not uploaded, or it is not scored."""
    reason = reason.strip()
    if not 0 < len(reason) <= LONGEST_REASON or "\0" in reason:
        raise NotPossible(f"Say why, in at most {LONGEST_REASON} characters.")
    row = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
    if row.owner_id is None or row.state != Run.State.SCORED:
        raise NotPossible("Only an uploaded run that is scored can be withdrawn.")
    row.state, row.reason = Run.State.WITHDRAWN, reason
    row.save(update_fields=["state", "reason", "updated_at"])
    score_tests_drop(run=row)
    details = {"system": row.system, "split": row.split, "reason": reason}
    audit_record(project=row.project, actor=actor, action="run.withdraw", subject=row.uuid, **details)
    return row


@durable(UPLOADS.task)
def run_work(*, run_id: int) -> None:
    """Read, check and score an upload; a repeat finds it done. A bad file says why, and touches no other run."""
    with UPLOADS.claim_in_slot(run_id) as run:
        if run is not None:
            _read_and_score(run)


def _read_and_score(run: Run) -> None:
    UPLOADS.move(run, step=Step.READING)
    table = run_parsed(run)
    UPLOADS.move(run, form=run.form)  # it was read, so it counts
    judged = truth_table(release=run.release, split=run.split, labels=run.labels)
    check_known(table, run, judged.query_ids)
    check_answered(table, run, judged.query_ids)
    UPLOADS.move(run, step=Step.SCORING)
    best = serialization.cut(table, depth=DEPTH)
    pool = truth_pool(release=run.release, split=run.split)
    result = scored(best, judged, pool=pool, durations_s=durations_of(run))
    concerns = concerns_about(run, table)
    scoring, _ = Scoring.objects.get_or_create(run=run, release=run.release)
    run.table.save("table", ContentFile(serialization.run_bytes(best)), save=False)
    values = {"table": run.table.name, "form": run.form, "n_queries": len(table), "error": "", "concerns": concerns}
    with transaction.atomic():
        UPLOADS.move(run, state=Run.State.SCORED, **values)
        scoring_write(scoring, result)
        scorings_schedule(pk=run.pk)


def run_parsed(run: Run) -> RunTable:
    """The run's file, in whatever form; sets ``run.form``.

    Raises:
        ScoringError: it cannot be used; the message has the line.
        ImportFileError: it goes beyond the limits of uploads.
    """
    is_upload = run.source == Run.Source.UPLOAD
    source = upload_source(run.file, corpus=corpus_of(run.project), strict=is_upload, most=MOST_PREDICTIONS)
    form, table = formats.parse_with_format(source, formats.FileFormat(run.form) if run.form else None)
    run.form = form.value
    return table


def upload_source(upload: FieldFile, **options: Any) -> formats.SourceFile:
    """Return the bytes of an upload for a reader, within the limits of uploads; ``options`` are of ``SourceFile``.

    Raises:
        ImportFileError: it goes beyond them; readers raise it, too.
    """
    with upload.open("rb") as file:
        data = file.read(settings.RUN_MAX_MB * 2**20 + 1)
    advice = "give each query fewer predictions"  # the library holds all of them in memory
    budget = Budget(replace(upload_limits(), size=jsonfiles.MAX_BYTES, size_setting="", advice=advice))
    budget.begin(data, packed=jsonfiles.is_packed(data))
    return formats.SourceFile(data, watch=budget.check_time, read=budget.read, **options)


def check_known(table: RunTable, run: Run, judged: tuple[str, ...]) -> None:
    """Raise UnknownQuery for a query that is neither judged nor of the split; one that waits to be judged may come."""
    known_ids = set(judged)
    known_ids.update(
        map(str, Query.objects.filter(project=run.project, split=run.split).values_list("number", flat=True))
    )
    unknown = [number for number, query_id in enumerate(table.query_ids) if query_id not in known_ids]
    if unknown:
        first = unknown[0]
        line = f"line {table.lines[first]}: " if table.lines else ""
        raise UnknownQuery(
            f"{line}query {table.query_ids[first]} is not of the split {run.split}"
            + (f", nor are {len(unknown) - 1} others" if len(unknown) > 1 else "")
        )


def check_answered(table: RunTable, run: Run, judged: tuple[str, ...]) -> None:
    """Refuse a participant's run that answers few queries of a hidden split. Raises NotPossible where it answers less
    than LEAST_ANSWERED of the judged queries."""
    staff = Membership.objects.filter(project=run.project_id, user=run.owner_id, roles__overlap=Membership.STAFF)
    if staff.exists() or not leaderboard_of(run.project).hides(run.split):
        return
    sizes = dict(zip(table.query_ids, np.diff(table.offsets).tolist(), strict=True))
    n_answered = sum(sizes.get(query_id, 0) > 0 for query_id in judged)  # an empty list is no answer
    if not answers_enough(n_answered, len(judged)):
        raise NotPossible(
            f"The run answers {n_answered} of the {len(judged)} judged queries of {run.split}. The labels of this "
            f"split are hidden: a run on it answers at least {LEAST_ANSWERED:.0%} of them."
        )


@transaction.atomic
@UPLOADS.failure
def run_fail(run: Run, error: str) -> None:
    """The run says why; its file goes, its scorings too."""
    if Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(
        state=Run.State.FAILED, error=storable(error)[:2000] or "unknown", file="", table=""
    ):
        run.scorings.all().delete()
        name = str(run.file.name)
        transaction.on_commit(lambda: files_delete(name))
        logger.warning("run %s failed: %s", run.pk, error)


def baseline_runs_make(*, training: Training, folder: Path) -> dict[str, Run]:
    """A run for each judged split of the release, by the training's field; those that are there stay. Raises
    NotPossible where the program left no answers."""
    splits = [truth.split for truth in truths_make(training.experiment.release)]
    return {f"{split}_run": _run_make(training, split, folder / f"predictions.{split}.json") for split in splits}


def _run_make(training: Training, split: str, path: Path) -> Run:
    if not path.is_file():
        raise NotPossible(f"{path.name} is missing.")
    experiment = training.experiment
    fields: dict[str, Any] = {"release": experiment.release, "split": split, "system": training.system, "owner": None}
    if earlier := Run.objects.filter(**fields).first():
        return earlier
    run = Run(project=experiment.project, source=Run.Source.BASELINE, labels=experiment.labels, **fields)
    run.file_name, run.bytes = path.name, path.stat().st_size
    with path.open("rb") as source:
        _run_store(run, File(source))
    return run
