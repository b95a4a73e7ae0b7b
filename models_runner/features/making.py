"""Feature sets made and checked by a task that can be killed, with how far they are."""

import logging
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from core import clock
from core.exceptions import NotPossible
from core.jobs import Progress, durable
from models_runner.features.services import FEATURE_SETS, ITEMS, extractor_model_check, names_wanted
from models_runner.models import FeatureSet
from moment_retrieval.errors import ScoringError
from moment_retrieval.features import FeatureWriter, inspect
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Setup, extract
from moment_retrieval.hub import PACKAGED, fetch, is_path
from moment_retrieval.jsonfiles import is_out_of_room

STEPS = list(FeatureSet.Step.values)
OnProgress = Callable[[str], None]
logger = logging.getLogger(__name__)
MEGABYTE = 1_000_000
ATTEMPTS = 3  # starts, not errors as in JobKind, that bring nothing more: what is next kills its worker
FULL = "The disk of features is full. Make room, then go on: what was made is kept."
State, Step = FeatureSet.State, FeatureSet.Step


class _Progress(Progress[FeatureSet]):
    """Sets a row whose worker was killed no nearer to its beginning than it was: where it was killed stays known."""

    def __init__(self, feature_set: FeatureSet, on_progress: OnProgress | None) -> None:
        super().__init__(FEATURE_SETS, feature_set, on_progress)
        if feature_set.attempts > 1:
            self.every_s = 0.0  # to know at which item it is killed

    def begin(self, step: str, total: int) -> Callable[[int, int], None]:
        """Return what reports the items of the step that are done."""
        self.report(step, 0, total)
        return lambda n_done, _: self.report(step, min(n_done, total), total)

    def write(self, step: str, n_done: int, total: int) -> None:
        before, now = (STEPS.index(self.row.step), self.row.done), (STEPS.index(step), n_done)
        values: dict[str, object] = {"step": step, "done": n_done, "total": total} if now >= before else {}
        FEATURE_SETS.move(self.row, **values, **({"attempts": 0} if now > before else {}))


@durable(FEATURE_SETS.task, acks_late=False)
def feature_set_work(*, feature_set_id: int, on_progress: OnProgress | None = None) -> None:
    """Make what is left of a set, and check it; a repeat finds it done or at work."""
    with FEATURE_SETS.claim(feature_set_id) as feature_set:
        if feature_set is None:
            return
        if feature_set.attempts >= ATTEMPTS:
            raise NotPossible(_killed(feature_set))
        FEATURE_SETS.move(feature_set, attempts=feature_set.attempts + 1)
        progress = _Progress(feature_set, on_progress)
        try:
            if feature_set.is_ours:
                _extract(feature_set, progress)
            _check(feature_set, progress)
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


def _extract(feature_set: FeatureSet, progress: _Progress) -> None:
    path = Path(feature_set.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if feature_set.model:
        extractor_model_check(
            feature_set.extractor, feature_set.model
        )  # again: links and settings may have changed since it was named
        _download(feature_set.model, progress)
    advance = progress.begin(Step.EXTRACTING, len(names_wanted(feature_set.project, feature_set.kind)))
    setup = Setup(settings.SENTENCE_DEVICE, settings.SENTENCE_THREADS)
    extractor = extractor_of(
        ExtractorName(feature_set.extractor), Kind(feature_set.kind), model=feature_set.model, setup=setup
    )
    feature_set.made_by = extractor.name[:300]
    writer = FeatureWriter(path, width=extractor.width, attributes=extractor.attributes)
    try:
        items = ITEMS[feature_set.kind](feature_set.project, writer.__contains__)
        outcome = extract(items, extractor, writer, on_progress=advance)
        if not len(writer):
            name, reason = next(iter(outcome.reasons.items()), ("", "there is nothing to make them of"))
            first = f"No features could be made; first {name}" if name else "No features"
            raise NotPossible(f"{first}: {reason}.")
        writer.finish()
    finally:
        writer.close()
    feature_set.n_failed, feature_set.reasons = outcome.failures, outcome.reasons


def _download(model: str, progress: _Progress) -> None:
    """Have the model here before anything is read; one that is installed or a folder is."""
    if model in PACKAGED or is_path(model):
        return
    fetch(
        model, on_progress=lambda n, total: progress.report(Step.DOWNLOADING, n // MEGABYTE, max(1, total // MEGABYTE))
    )


def _check(feature_set: FeatureSet, progress: _Progress) -> None:
    names = names_wanted(feature_set.project, feature_set.kind)
    advance = progress.begin(Step.CHECKING, len(names))
    inspection = inspect(feature_set.path, feature_set.kind, names, on_progress=advance)
    measured = {
        "width": inspection.width,
        "n_items": inspection.count,
        "checksum": inspection.checksum,
        "attributes": inspection.attributes,
        "findings": inspection.findings,
    }
    values = {**measured, **{name: getattr(feature_set, name) for name in ("made_by", "n_failed", "reasons")}}
    FEATURE_SETS.move(feature_set, state=State.DONE, done=len(names), finished_at=clock.now(), **values)
    logger.info("feature set %s: %s of %s %s", feature_set.pk, values["n_items"], len(names), feature_set.kind)
