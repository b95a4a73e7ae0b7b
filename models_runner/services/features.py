"""Feature sets: ordered or named by their file, made by a task that can be killed, checked, removed."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import IntegrityError, OperationalError, transaction

from annotation import clock
from annotation.exceptions import MomentJudgeError, NotPossible
from annotation.locks import only_one
from annotation.messages import send_on_commit
from annotation.models import Project, Query, User, Video
from annotation.services.audit import audit_record
from annotation.services.previews import local_copy
from models_runner.models import FeatureSet
from models_runner.retrieval.durable import is_out_of_room
from models_runner.retrieval.errors import ScoringError
from models_runner.retrieval.features import LMDB_FILE, FeatureWriter, check, open_features
from models_runner.retrieval.features.extractors import (
    Film,
    Kind,
    Line,
    Outcome,
    Sentence,
    Setup,
    Speech,
    Way,
    extract,
    extractor_of,
)
from models_runner.retrieval.features.extractors.frames import clip_count
from models_runner.retrieval.features.extractors.hub import source_of
from models_runner.selectors.features import Use, uses_of

logger = logging.getLogger(__name__)
TASK = "models_runner.tasks.features_work"
LOCK = "feature-set"
ATTEMPTS = 3  # starts that bring nothing more, after which it is given up: what is next kills its worker
LATE = timedelta(minutes=2)  # one that has not moved for so long has lost its worker or its message
EVERY_S = 2.0  # how often progress is written
FULL = "The disk of features is full. Make room, then go on: what was made is kept."
NOTHING = Path("/nonexistent")  # the file of a video that has none
State, Step, Extractor = FeatureSet.State, FeatureSet.Step, FeatureSet.Extractor
STEPS = list(Step.values)
OnProgress = Callable[[str], None]


class _Stopped(Exception):
    """Somebody cancelled or deleted the set while it was being made."""


def feature_set_start(
    *,
    project: Project,
    kind: str,
    extractor: str,
    model: str = "",
    name: str = "",
    actor: User | None,
    wake: bool = True,
) -> FeatureSet:
    """Order features of all videos, subtitles or queries of the project; a task makes them unless the caller does.

    Raises:
        NotPossible: there is nothing to make them of, or a set has this name.
    """
    if not names_wanted(project, kind):
        raise NotPossible(f"This project has no {FeatureSet.Kind(kind).label} to make features of.")
    uuid = uuid4()
    path = Path(settings.FEATURES_ROOT).absolute() / str(project.uuid) / kind / f"{uuid.hex}.h5"
    made_name = name or _free_name(project, f"{kind} {model.rpartition('/')[2] or extractor}")
    said = {"kind": kind, "extractor": extractor, "model": model}
    return _create(project, actor, "features.start", wake, uuid=uuid, name=made_name, path=str(path), **said)


def feature_set_register(
    *,
    project: Project,
    kind: str,
    path: str,
    model: str = "",
    name: str = "",
    actor: User | None,
    wake: bool = True,
) -> FeatureSet:
    """Add an official file, by its absolute path below FEATURES_ROOTS; a task checks it.

    Args:
        model: the text model that made the features of queries, if it is known.

    Raises:
        NotPossible: no file of features may be read there, it is here already, or there is no such model.
    """
    place = _allowed(path)
    try:
        open_features(place).close()
    except ScoringError as error:
        raise NotPossible(str(error)) from error
    said = {"kind": kind, "extractor": Extractor.FILE, "model": model, "step": Step.CHECKING, "path": str(place)}
    _check_model(FeatureSet(**said))
    return _create(project, actor, "features.register", wake, name=name or _free_name(project, place.stem), **said)


@transaction.atomic
def feature_set_model(*, feature_set: FeatureSet, model: str, actor: User | None) -> FeatureSet:
    """Say which text model made an official file of queries: typed words are read by it. Empty: nobody knows.

    Raises:
        NotPossible: it is no such file, or there is no such model.
    """
    held = _held(feature_set)
    held.model = model
    _check_model(held)
    held.save(update_fields=["model"])
    said = {"name": held.name, "model": model}
    audit_record(project=held.project, actor=actor, action="features.model", subject=held.uuid, **said)
    return held


def _check_model(named: FeatureSet) -> None:
    if not named.model:
        return
    if not named.may_name_model:
        raise NotPossible("Which text model made them is said of official files of queries alone.")
    try:
        source_of(named.model)
    except ScoringError as error:
        raise NotPossible(f"{str(error)[:1].upper()}{str(error)[1:]}") from error


def _create(project: Project, actor: User | None, action: str, wake: bool, **values: Any) -> FeatureSet:
    try:
        with transaction.atomic():
            made = FeatureSet.objects.create(project=project, started_by=actor, **values)
            said = {"name": made.name, "kind": made.kind, "extractor": made.extractor, "model": made.model}
            audit_record(project=project, actor=actor, action=action, subject=made.uuid, **said)
            if wake:
                send_on_commit(TASK, made.pk)
    except IntegrityError as error:
        if "feature_set_file_once" in str(error):
            raise NotPossible("This file is among the features of the project already.") from error
        if "feature_set_name_once" in str(error):
            raise NotPossible(f"There are features named {values['name']!r} already.") from error
        raise
    return made


def _allowed(path: str) -> Path:
    """The file, if its real place lies below one of FEATURES_ROOTS."""
    roots = [Path(root).resolve() for root in settings.FEATURES_ROOTS]
    if not roots:
        raise NotPossible("Files of features can be added where the setting FEATURES_ROOTS names their folders.")
    given = Path(path)
    place = given.resolve()
    held = (place, (place / LMDB_FILE).resolve())  # the file of a folder may be a link itself
    if (
        not given.is_absolute()
        or "\0" in path
        or not any(all(one.is_relative_to(root) for one in held) for root in roots)
    ):
        raise NotPossible(f"Give an absolute path below {' or '.join(map(str, roots))}.")
    return place


def _free_name(project: Project, wanted: str) -> str:
    taken = set(FeatureSet.objects.filter(project=project).values_list("name", flat=True))
    numbered = (wanted[:70] if count == 1 else f"{wanted[:70]} {count}" for count in range(1, len(taken) + 2))
    return next(name for name in numbered if name not in taken)


@transaction.atomic
def feature_set_cancel(*, feature_set: FeatureSet, actor: User | None) -> FeatureSet:
    """Stop making or checking a set; what is made is kept, and it can go on."""
    held = _held(feature_set)
    if not held.is_at_work:
        raise NotPossible("These features are not being made.")
    FeatureSet.objects.filter(pk=held.pk).update(state=State.CANCELLED)
    said = {"name": held.name, "done": held.done, "total": held.total}
    audit_record(project=held.project, actor=actor, action="features.cancel", subject=held.uuid, **said)
    held.state = State.CANCELLED
    return held


@transaction.atomic
def feature_set_resume(*, feature_set: FeatureSet, actor: User | None, wake: bool = True) -> FeatureSet:
    """Go on with a set that was cancelled or failed; what was made of it is not made again."""
    held = _held(feature_set)
    if not held.may_go_on:
        raise NotPossible("These features are done, or being made already.")
    values = {"state": State.RUNNING, "error": "", "done": 0, "total": 0, "attempts": 0, "moved_at": clock.now()}
    step = Step.EXTRACTING if held.is_ours else Step.CHECKING
    FeatureSet.objects.filter(pk=held.pk).update(step=step, **values)
    audit_record(project=held.project, actor=actor, action="features.resume", subject=held.uuid, name=held.name)
    if wake:
        send_on_commit(TASK, held.pk)
    held.refresh_from_db()
    return held


@transaction.atomic
def feature_set_delete(*, feature_set: FeatureSet, actor: User | None) -> None:
    """Remove a set; its file too where it was made here. One that is being made stops.

    Raises:
        NotPossible: a training needs the file that would go.
    """
    held = _held(feature_set)  # who orders an experiment locks the row too: see features_hold
    if held.is_ours and (uses := uses_of(held)):
        raise NotPossible(f"The features {held.name} are needed: {_named(uses)}.")
    said = {"name": held.name, "kind": held.kind, "state": held.state}
    audit_record(project=held.project, actor=actor, action="features.delete", subject=held.uuid, **said)
    path, is_ours = Path(held.path), held.is_ours
    held.delete()
    if is_ours:
        transaction.on_commit(partial(_throw_away, path))


def _named(uses: Sequence[Use], most: int = 3) -> str:
    named = [f"{use.system} {use.need}" for use in uses[:most]]
    return "; ".join([*named, f"and {len(uses) - most:,} more trainings"] if len(uses) > most else named)


def features_hold(project: Project, features: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep the sets of an experiment that is being ordered from being deleted until it is stored.

    Raises:
        NotPossible: one has been deleted.
    """
    named = {told["set"]: told["name"] for told in features.values() if told.get("set")}
    rows = FeatureSet.objects.select_for_update().filter(project=project, uuid__in=named).order_by("pk")
    if gone := set(named) - {str(row.uuid) for row in rows}:
        raise NotPossible(f"The features {named[min(gone)]!r} have been deleted; choose others.")


def _held(feature_set: FeatureSet) -> FeatureSet:
    rows = FeatureSet.objects.select_for_update(of=("self",)).select_related("project")
    held = rows.filter(pk=feature_set.pk).first()
    if held is None:
        raise NotPossible("These features have been deleted.")
    return held


def _throw_away(path: Path) -> None:
    """A restored site does not touch what lies in the folder of the one it was copied from."""
    if not path.is_relative_to(Path(settings.FEATURES_ROOT).absolute()):
        logger.warning("features were deleted, their file stays: it lies outside FEATURES_ROOT")
        return
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.journal").unlink(missing_ok=True)


def feature_sets_sweep(*, now: datetime) -> None:
    """Send what does not move: its worker or its message was lost, or it waits behind a training."""
    stale = FeatureSet.objects.filter(state=State.RUNNING, moved_at__lte=now - LATE)
    for pk in stale.values_list("pk", flat=True):
        send_on_commit(TASK, pk)
    stale.update(moved_at=now)  # one message at a time


def feature_set_work(*, feature_set_id: int, on_progress: OnProgress | None = None) -> None:
    """Make what is left of a set, and check it; a repeat finds it done or at work."""
    with only_one(LOCK, feature_set_id) as alone:
        rows = FeatureSet.objects.select_related("project")
        held = rows.filter(pk=feature_set_id, state=State.RUNNING).first()
        if not alone or held is None:
            return
        if held.attempts >= ATTEMPTS:
            _fail(held, _killed(held))
            return
        held.attempts += 1
        rows.filter(pk=held.pk).update(attempts=held.attempts)
        progress = _Progress(held, on_progress)
        try:
            if held.is_ours:
                _extract(held, progress)
            _check(held, progress)
        except _Stopped:
            _after_stop(held)
        except OperationalError:
            raise
        except (ScoringError, MomentJudgeError, OSError) as error:
            _fail(held, FULL if is_out_of_room(error) else str(error))
        except Exception as error:
            _fail(held, f"{type(error).__name__}: {error}")
            raise


def _killed(held: FeatureSet) -> str:
    if not held.total:
        return f"Its worker was killed before the first item, {held.attempts} times in a row."
    number, names = min(held.done + 1, held.total), names_wanted(held.project, held.kind)
    named = f" ({names[number - 1]})" if number <= len(names) else ""
    often = f"{held.attempts} times in a row"
    return f"Its worker was killed at item {number:,} of {held.total:,}{named} or just behind it, {often}."


def _extract(held: FeatureSet, progress: "_Progress") -> None:
    path = Path(held.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    progress.step(Step.EXTRACTING, len(names_wanted(held.project, held.kind)))
    setup = Setup(settings.SENTENCE_DEVICE, settings.SENTENCE_THREADS)
    extractor = extractor_of(Way(held.extractor), Kind(held.kind), model=held.model, setup=setup)
    held.made_by = extractor.name[:300]
    writer = FeatureWriter(path, width=extractor.width)
    try:
        items = ITEMS[held.kind](held.project, writer.__contains__)
        outcome = extract(items, extractor, writer, on_progress=progress.extracting)
        if not len(writer):
            raise NotPossible(_nothing_made(outcome))
        writer.finish()
    finally:
        writer.close()
    held.n_failed, held.reasons = outcome.failures, outcome.reasons


def _nothing_made(outcome: Outcome) -> str:
    name, reason = next(iter(outcome.reasons.items()), ("", "there is nothing to make them of"))
    return f"No features could be made; first {name}: {reason}." if name else f"No features: {reason}."


def _check(held: FeatureSet, progress: "_Progress") -> None:
    names = names_wanted(held.project, held.kind)
    progress.step(Step.CHECKING, len(names))
    with open_features(held.path) as store:
        findings = check({held.kind: store}, {held.kind: names}, on_progress=progress.checking)
        values = {
            "width": store.width,
            "n_items": len(store),
            "checksum": store.checksum(),
            "made_by": held.made_by,
            "n_failed": held.n_failed,
            "reasons": held.reasons,
            "findings": [finding.as_dict() for finding in findings],
        }
    now = clock.now()
    at_work = FeatureSet.objects.filter(pk=held.pk, state=State.RUNNING)
    if not at_work.update(state=State.DONE, done=len(names), finished_at=now, moved_at=now, **values):
        raise _Stopped
    logger.info("feature set %s: %s of %s %s", held.pk, values["n_items"], len(names), held.kind)


def _after_stop(held: FeatureSet) -> None:
    """Cancelled sets keep what was made; of deleted ones nothing stays."""
    if held.is_ours and not FeatureSet.objects.filter(pk=held.pk).exists():
        _throw_away(Path(held.path))


def _fail(held: FeatureSet, error: str) -> None:
    values = {"state": State.FAILED, "error": error[:2000] or "unknown"}
    if FeatureSet.objects.filter(pk=held.pk, state=State.RUNNING).update(**values):
        logger.warning("feature set %s failed: %s", held.pk, error)
    else:
        _after_stop(held)


def names_wanted(project: Project, kind: str) -> list[str]:
    """Whose features there are to be."""
    if kind == FeatureSet.Kind.QUERY:
        numbers = Query.objects.filter(project=project, is_placeholder=False).order_by("number")
        return [str(number) for number in numbers.values_list("number", flat=True)]
    return list(Video.objects.filter(corpus=project.corpus_id).order_by("index").values_list("name", flat=True))


def _films(project: Project, is_known: Callable[[object], bool]) -> Iterator[Film]:
    """The videos, each on this machine while it is looked at; nothing else is known of them."""
    for video in Video.objects.filter(corpus=project.corpus_id).order_by("index").iterator():
        if is_known(video.name) or not video.file:
            yield Film(video.name, NOTHING)
            continue
        with local_copy(video) as path:
            yield Film(video.name, path)


def _speeches(project: Project, is_known: Callable[[object], bool]) -> Iterator[Speech]:
    videos = Video.objects.filter(corpus=project.corpus_id).order_by("index")
    for video in videos.prefetch_related("subtitles").iterator(chunk_size=200):
        lines = [Line(line.start_s, line.end_s, line.text) for line in video.subtitles.all()]
        yield Speech(video.name, clip_count(video.duration_s), lines)


def _sentences(project: Project, is_known: Callable[[object], bool]) -> Iterator[Sentence]:
    queries = Query.objects.filter(project=project, is_placeholder=False).order_by("number")
    for number, text in queries.values_list("number", "text").iterator():
        yield Sentence(str(number), text)


ITEMS: dict[str, Callable[[Project, Callable[[object], bool]], Iterator[Any]]] = {
    FeatureSet.Kind.VIDEO: _films,
    FeatureSet.Kind.SUBTITLE: _speeches,
    FeatureSet.Kind.QUERY: _sentences,
}


class _Progress:
    """Writes down how far a set is, and notices that it was cancelled or deleted.

    A set that begins again, its worker having been killed, is told no nearer to its beginning than it was: where it was
    killed must stay known.
    """

    def __init__(self, held: FeatureSet, on_progress: OnProgress | None) -> None:
        self.held, self.on_progress = held, on_progress
        self.every_s = EVERY_S if held.attempts == 1 else 0.0  # to know at which item it is killed
        self.written_at = monotonic()
        self.at_step, self.total = held.step, held.total

    def step(self, step: str, total: int) -> None:
        """A step begins."""
        self.at_step, self.total = step, total
        self._write(0)

    def extracting(self, done: int, _: int) -> None:
        self._tell(done)

    def checking(self, done: int, _: int) -> None:
        self._tell(done)

    def _tell(self, done: int) -> None:
        if monotonic() - self.written_at >= self.every_s:
            self._write(min(done, self.total))

    def _write(self, done: int) -> None:
        self.written_at = monotonic()
        values: dict[str, Any] = {"moved_at": clock.now()}
        before, now = (STEPS.index(self.held.step), self.held.done), (STEPS.index(self.at_step), done)
        if now >= before:
            values |= {"step": self.at_step, "done": done, "total": self.total}
        if now > before:
            values["attempts"] = 0
        if not FeatureSet.objects.filter(pk=self.held.pk, state=State.RUNNING).update(**values):
            raise _Stopped
        for name, value in values.items():
            setattr(self.held, name, value)
        if self.on_progress:
            self.on_progress(self.held.progress)
