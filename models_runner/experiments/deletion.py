"""Deleting a benchmark run: its rows first, then its files, which a sweep finds where a process died in between. The
audit event says that the files are to go, from the same commit on; a folder that no such event names is left alone."""

import logging
from functools import partial
from uuid import UUID

from django.db import transaction

from accounts.models import Project, User
from core.audit import audit_record
from core.exceptions import NotPossible
from core.models import AuditEvent
from models_runner.experiments import files
from models_runner.experiments.selectors import needed_by, searches_needing
from models_runner.features.selectors import first_few
from models_runner.models import Experiment, SettingsSearch, Training

logger = logging.getLogger(__name__)
EXPERIMENT_DELETED, SEARCH_DELETED = "experiment.delete", "settings_search.delete"


@transaction.atomic
def experiment_delete(*, experiment: Experiment, actor: User | None) -> None:
    """Delete a benchmark run that has ended, with all that its seeds left on the disk; its runs and their scores stay.
    Raises NotPossible where a seed of it waits or is at work, or another benchmark run looks at its videos."""
    Project.objects.select_for_update(no_key=True).get(pk=experiment.project_id)  # names go one at a time
    row = Experiment.objects.select_for_update(of=("self",)).select_related("project").filter(pk=experiment.pk).first()
    if row is None:
        raise NotPossible("This benchmark run has been deleted.")
    trainings = list(Training.objects.select_for_update().filter(experiment=row).order_by("pk"))
    if awaited := [training.seed for training in trainings if training.is_awaited]:
        raise NotPossible(f"{row.name} is not over: cancel seed {', '.join(map(str, sorted(awaited)))} first.")
    if needs := needed_by(row):
        uses = [f"{one.name} ({one.get_baseline_display()}) looks at the videos it finds" for one in needs]
        raise NotPossible(f"{row.name} is needed: {first_few(uses)}.")
    if searches := searches_needing(row):
        uses = [f"the search {one.name} looks at the videos it finds" for one in searches]
        raise NotPossible(f"{row.name} is needed: {first_few(uses)}.")
    mb = round(files.folder_bytes(row.uuid) / 1e6)
    details = {"name": row.name, "baseline": row.get_baseline_display(), "seeds": len(trainings), "mb": mb}
    audit_record(project=row.project, actor=actor, action=EXPERIMENT_DELETED, subject=row.uuid, **details)
    uuid = row.uuid
    row.delete()
    transaction.on_commit(partial(files_remove, uuid))


def files_remove(uuid: UUID) -> None:
    """Remove what the trainings of a deleted row left; a sweep does where it cannot be done now."""
    try:
        files.folder_remove(uuid)
    except OSError as error:
        logger.warning("experiment or search %s: its files are removed later: %s", uuid, error)


def deleted_files_sweep() -> int:
    """Remove what was left of deleted benchmark runs and searches over settings, where this host sees their folders;
    returns how many it found."""
    orphans = files.uuid_folders()
    for model in (Experiment, SettingsSearch):
        orphans -= set(model.objects.filter(uuid__in=orphans).values_list("uuid", flat=True))
    events = AuditEvent.objects.filter(action__in=(EXPERIMENT_DELETED, SEARCH_DELETED), subject__in=orphans)
    deleted = orphans & set(events.values_list("subject", flat=True))
    for uuid in deleted:
        files_remove(uuid)
    return len(deleted)
