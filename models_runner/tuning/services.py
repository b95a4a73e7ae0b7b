"""Searches over settings: ordered, cancelled, resumed, deleted. What trains them is in ``work``."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Project, User
from core.audit import audit_record
from core.exceptions import NotPossible
from core.messages import send_on_commit
from judging.exceptions import FormStale
from judging.models import Release
from models_runner.experiments import files
from models_runner.experiments.deletion import SEARCH_DELETED, files_remove
from models_runner.experiments.services import LONGEST_NAME, check_trainable, feature_facts, training_lock
from models_runner.experiments.trainings import SEARCH_TASK
from models_runner.features.services import features_hold
from models_runner.leaderboard.services.runs import name_checked
from models_runner.models import SettingsSearch, Training
from models_runner.tuning.work import search_stop
from moment_retrieval.training.plan import BadPlan
from moment_retrieval.training.trials import Tuning

State = Training.State
USED = "This form ordered another search already; nothing was stored. Start it again for one more."
SAME = (
    *("release_id", "baseline", "top_n", "features", "options", "candidates_id"),
    *("space", "method", "n_runs", "seed", "stops_early"),
)


def settings_search_create(
    *,
    release: Release,
    baseline: str,
    top_n: int,
    features: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    space: Mapping[str, Any],
    n_runs: int,
    actor: User | None,
    method: str = SettingsSearch.Method.RANDOM,
    seed: int = 1,
    stops_early: bool = True,
    candidates: Training | None = None,
    name: str = "",
    key: UUID | None = None,
) -> SettingsSearch:
    """Order a search; a worker of the queue `gpu` trains one setting after the other.

    Args:
        features: facts of a file, by kind: video, subtitle (may be left out), query.
        options: what all trainings share and what differs from the released settings, named as in plan.json.
        space: by setting, choices or a range, as in tuning.json.
        n_runs: trainings at most; a grid with fewer combinations takes fewer.
        key: what the form carried; a form sent again is answered with the search that it ordered.

    Raises:
        FormStale: the form ordered a search already, another one.
        NotPossible: the release has nothing to train on, a file is missing, or the name or a setting cannot be used.
    """
    check_trainable(release, top_n, features, candidates)
    try:
        n_runs = Tuning(plan={}, space=space, runs=n_runs, how=method, seed=seed).n_runs
    except BadPlan as error:
        raise NotPossible(f"The search cannot be used: {error}") from error
    search = SettingsSearch(
        **{"uuid": key or uuid4(), "project": release.project, "release": release, "baseline": baseline},
        **{"top_n": top_n, "options": dict(options), "space": dict(space), "method": method, "n_runs": n_runs},
        **{"seed": seed, "stops_early": stops_early, "candidates": candidates, "created_by": actor},
        features={kind: feature_facts(source) for kind, source in features.items()},
    )
    try:
        return _search_store(search, name)
    except IntegrityError as error:
        if "settings_search_name_once_per_project" not in str(error):
            raise
        raise NotPossible(f"There is a search {search.name!r} already; give this one another name.") from error


@transaction.atomic
def _search_store(search: SettingsSearch, name: str) -> SettingsSearch:
    Project.objects.select_for_update(no_key=True).get(pk=search.project_id)  # names go one at a time
    before = SettingsSearch.objects.filter(uuid=search.uuid).first()
    if before is not None:
        is_same = before.project_id == search.project_id and name.strip() in ("", before.name)
        if not is_same or any(getattr(before, field) != getattr(search, field) for field in SAME):
            raise FormStale(USED)
        return before
    features_hold(search.project, search.features)
    if search.candidates is not None:
        training_lock(search.candidates)  # who deletes it waits, and finds that it is needed
    search.name = _name(name, search)
    search.save()
    about = {"baseline": search.get_baseline_display(), "top_n": search.top_n, "runs": search.n_runs}
    _record(search, search.created_by, "start", **about, method=search.method, version=search.release.version)
    send_on_commit(SEARCH_TASK, search.pk)
    return search


def _name(name: str, search: SettingsSearch) -> str:
    """Return the requested name, else baseline and N; numbered where another search has that name."""
    if name.strip():
        name = name_checked(name, "search")
        if len(name) > LONGEST_NAME:
            raise NotPossible(f"The name of the search has at most {LONGEST_NAME} characters.")
        return name
    base = f"{search.get_baseline_display()}, N={search.top_n}"
    other_names = set(search.project.settings_searches.values_list("name", flat=True))
    numbered = (base if number == 1 else f"{base} ({number})" for number in range(1, len(other_names) + 2))
    return next(one for one in numbered if one not in other_names)


@transaction.atomic
def settings_search_cancel(*, search: SettingsSearch, actor: User | None) -> SettingsSearch:
    """Have a search end: at once where it waits, within seconds where it is at work. Raises NotPossible where it has
    ended already."""
    row = search_lock(search)
    if row.state == State.CANCELLING:
        return row
    if row.state == State.WAITING:
        search_stop(row, State.CANCELLED)
    elif row.state == State.RUNNING:
        row.state = State.CANCELLING
        row.save(update_fields=["state"])
    else:
        raise NotPossible(f"The search {row.name} has ended already.")
    _record(row, actor, "cancel", done=row.n_done, runs=row.n_runs)
    return row


@transaction.atomic
def settings_search_resume(*, search: SettingsSearch, actor: User | None) -> SettingsSearch:
    """Have a search go on: the trial at work from its last checkpoint; trials that failed are tried again.

    Raises:
        NotPossible: it waits or is at work, or there is nothing left to do.
    """
    row = search_lock(search)
    if not row.is_resumable:
        raise NotPossible("Only a search that was cancelled or failed, or that has failed trials, can be resumed.")
    row.state, row.crashes, row.error, row.ended_at = State.WAITING, 0, "", None
    row.created_at = timezone.now()  # it goes to the end of the line
    row.save()
    _record(row, actor, "resume", done=row.n_done, runs=row.n_runs)
    send_on_commit(SEARCH_TASK, row.pk)
    return row


@transaction.atomic
def settings_search_delete(*, search: SettingsSearch, actor: User | None) -> None:
    """Delete a search that has ended, with all that its trials left on the disk; benchmark runs that were started with
    its settings stay. Raises NotPossible where it waits or is at work."""
    row = search_lock(search)
    if row.is_awaited:
        raise NotPossible(f"The search {row.name} is not over: cancel it first.")
    uuid, mb = row.uuid, round(files.folder_bytes(row.uuid) / 1e6)
    details = {"name": row.name, "baseline": row.get_baseline_display(), "done": row.n_done, "mb": mb}
    audit_record(project=row.project, actor=actor, action=SEARCH_DELETED, subject=uuid, **details)
    row.delete()
    transaction.on_commit(partial(files_remove, uuid))


def search_lock(search: SettingsSearch) -> SettingsSearch:
    """Lock the row until the transaction ends. Raises NotPossible where it has been deleted."""
    rows = SettingsSearch.objects.select_for_update(of=("self",)).select_related("project")
    row = rows.filter(pk=search.pk).first()
    if row is None:
        raise NotPossible("This search has been deleted.")
    return row


def _record(search: SettingsSearch, actor: User | None, step: str, **details: object) -> None:
    about = {"name": search.name, **details}
    audit_record(project=search.project, actor=actor, action=f"settings_search.{step}", subject=search.uuid, **about)
