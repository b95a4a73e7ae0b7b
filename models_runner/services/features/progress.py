"""How far a feature set is, written down while it is made."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from annotation import clock
from models_runner.models import FeatureSet

EVERY_S = 2.0  # how often progress is written
STEPS = list(FeatureSet.Step.values)
OnProgress = Callable[[str], None]


class Stopped(Exception):
    """Somebody cancelled or deleted the set while it was being made."""


class Progress:
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
        if not FeatureSet.objects.filter(pk=self.held.pk, state=FeatureSet.State.RUNNING).update(**values):
            raise Stopped
        for name, value in values.items():
            setattr(self.held, name, value)
        if self.on_progress:
            self.on_progress(self.held.progress)
