"""Feature sets made and checked by a task that can be killed, with how far they are."""

import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any

from django.conf import settings

from annotation.similarity.registry import model_check
from core import clock
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import JobKind, Stopped, durable
from core.texts import storable
from models_runner.features.services import ITEMS, TASK, features_file_delete, names_wanted
from models_runner.models import FeatureSet
from moment_retrieval.errors import ScoringError
from moment_retrieval.features import FeatureWriter, inspect
from moment_retrieval.features.extractors import ExtractorName, Kind, Setup, extract, extractor_of
from moment_retrieval.jsonfiles import is_out_of_room

EVERY_S = 2.0  # how often progress is written
STEPS = list(FeatureSet.Step.values)
OnProgress = Callable[[str], None]
logger = logging.getLogger(__name__)
ATTEMPTS = 3  # starts that bring nothing more, after which it is given up: what is next kills its worker
FULL = "The disk of features is full. Make room, then go on: what was made is kept."
State, Step = FeatureSet.State, FeatureSet.Step


class Progress:
    """Writes down how far a set is, and notices that it was cancelled or deleted. A set that begins again, its worker
    having been killed, is told no nearer to its beginning than it was: where it was killed must stay known."""

    def __init__(self, feature_set: FeatureSet, on_progress: OnProgress | None) -> None:
        self.feature_set, self.on_progress = feature_set, on_progress
        self.every_s = EVERY_S if feature_set.attempts == 1 else 0.0  # to know at which item it is killed
        self.written_at = monotonic()
        self.at_step, self.total = feature_set.step, feature_set.total

    def step(self, step: str, total: int) -> None:
        """A step begins."""
        self.at_step, self.total = step, total
        self._write(0)

    def advance(self, n_done: int, _: int) -> None:
        """So many items of the step are done."""
        if monotonic() - self.written_at >= self.every_s:
            self._write(min(n_done, self.total))

    def _write(self, n_done: int) -> None:
        self.written_at = monotonic()
        values: dict[str, Any] = {"moved_at": clock.now()}
        before, now = (STEPS.index(self.feature_set.step), self.feature_set.done), (STEPS.index(self.at_step), n_done)
        if now >= before:
            values |= {"step": self.at_step, "done": n_done, "total": self.total}
        if now > before:
            values["attempts"] = 0
        if not FeatureSet.objects.filter(pk=self.feature_set.pk, state=FeatureSet.State.RUNNING).update(**values):
            raise Stopped
        for name, value in values.items():
            setattr(self.feature_set, name, value)
        if self.on_progress:
            self.on_progress(self.feature_set.progress)


class _FeatureSets(JobKind[FeatureSet]):
    def sweep(self, now: datetime) -> None:
        """Wake the task again, with one message at a time: a set may wait behind a training."""
        super().sweep(now)
        self.rows().filter(moved_at__lte=now - self.late).update(moved_at=now)


FEATURE_SETS = _FeatureSets(
    TASK,
    lambda: FeatureSet.objects.filter(state=State.RUNNING).select_related("project"),
    lock="feature-set",
    expected=(ScoringError, MomentJudgeError, OSError),
)


@durable(TASK, acks_late=False)
def feature_set_work(*, feature_set_id: int, on_progress: OnProgress | None = None) -> None:
    """Make what is left of a set, and check it; a repeat finds it done or at work."""
    with FEATURE_SETS.claim(feature_set_id) as feature_set:
        if feature_set is None:
            return
        if feature_set.attempts >= ATTEMPTS:
            _fail(feature_set, _killed(feature_set))
            return
        feature_set.attempts += 1
        FeatureSet.objects.filter(pk=feature_set.pk).update(attempts=feature_set.attempts)
        progress = Progress(feature_set, on_progress)
        try:
            if feature_set.is_ours:
                _extract(feature_set, progress)
            _check(feature_set, progress)
        except Stopped:
            _after_stop(feature_set)
        except (ScoringError, OSError) as error:
            if is_out_of_room(error):
                raise NotPossible(FULL) from error
            raise


def _killed(feature_set: FeatureSet) -> str:
    if not feature_set.total:
        return f"Its worker was killed before the first item, {feature_set.attempts} times in a row."
    number, names = min(feature_set.done + 1, feature_set.total), names_wanted(feature_set.project, feature_set.kind)
    item_name = f" ({names[number - 1]})" if number <= len(names) else ""
    often = f"{feature_set.attempts} times in a row"
    return f"Its worker was killed at item {number:,} of {feature_set.total:,}{item_name} or just behind it, {often}."


def _extract(feature_set: FeatureSet, progress: Progress) -> None:
    path = Path(feature_set.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    progress.step(Step.EXTRACTING, len(names_wanted(feature_set.project, feature_set.kind)))
    if feature_set.model:
        model_check(feature_set.model)  # again: links and settings may have changed since it was named
    setup = Setup(settings.SENTENCE_DEVICE, settings.SENTENCE_THREADS)
    extractor = extractor_of(
        ExtractorName(feature_set.extractor), Kind(feature_set.kind), model=feature_set.model, setup=setup
    )
    feature_set.made_by = extractor.name[:300]
    writer = FeatureWriter(path, width=extractor.width)
    try:
        items = ITEMS[feature_set.kind](feature_set.project, writer.__contains__)
        outcome = extract(items, extractor, writer, on_progress=progress.advance)
        if not len(writer):
            name, reason = next(iter(outcome.reasons.items()), ("", "there is nothing to make them of"))
            first = f"No features could be made; first {name}" if name else "No features"
            raise NotPossible(f"{first}: {reason}.")
        writer.finish()
    finally:
        writer.close()
    feature_set.n_failed, feature_set.reasons = outcome.failures, outcome.reasons


def _check(feature_set: FeatureSet, progress: Progress) -> None:
    names = names_wanted(feature_set.project, feature_set.kind)
    progress.step(Step.CHECKING, len(names))
    inspection = inspect(feature_set.path, feature_set.kind, names, on_progress=progress.advance)
    measured = {
        "width": inspection.width,
        "n_items": inspection.count,
        "checksum": inspection.checksum,
        "findings": inspection.findings,
    }
    values = {**measured, **{name: getattr(feature_set, name) for name in ("made_by", "n_failed", "reasons")}}
    now = clock.now()
    at_work = FeatureSet.objects.filter(pk=feature_set.pk, state=State.RUNNING)
    if not at_work.update(state=State.DONE, done=len(names), finished_at=now, moved_at=now, **values):
        raise Stopped
    logger.info("feature set %s: %s of %s %s", feature_set.pk, values["n_items"], len(names), feature_set.kind)


def _after_stop(feature_set: FeatureSet) -> None:
    """Cancelled sets keep what was made; of deleted ones nothing stays."""
    if feature_set.is_ours and not FeatureSet.objects.filter(pk=feature_set.pk).exists():
        features_file_delete(Path(feature_set.path))


@FEATURE_SETS.failure
def _fail(feature_set: FeatureSet, error: str) -> None:
    values = {"state": State.FAILED, "error": storable(error)[:2000] or "unknown"}
    if FeatureSet.objects.filter(pk=feature_set.pk, state=State.RUNNING).update(**values):
        logger.warning("feature set %s failed: %s", feature_set.pk, error)
    else:
        _after_stop(feature_set)
