"""Being asked to stop: SIGTERM or SIGINT."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from torch import Tensor, nn

ASKED = (signal.SIGTERM, signal.SIGINT)


class Stopped(Exception):
    """Training was asked to stop; raised between parts of what takes long."""


class StopRequest:
    """Notes that a signal came; the training looks at the end of every step, on a CPU within it, too.

    Context manager: the signals have their old meaning afterwards. Outside the main thread, which alone may handle
    signals, ``ask`` does as well.
    """

    def __init__(self) -> None:
        self.asked = False
        self.before: dict[int, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self.ask) for number in ASKED}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def ask(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Stop as soon as may be."""
        self.asked = True

    def look(self) -> None:
        """Raise Stopped if asked."""
        if self.asked:
            raise Stopped


def look_within(model: nn.Module, look: Callable[[], None]) -> None:
    """Have ``look`` called behind each part of a model, forward and backward: a step of its own may take long."""

    def behind(part: nn.Module, given: Any, output: Any) -> None:
        look()
        for made in output if isinstance(output, tuple) else (output,):
            if isinstance(made, Tensor) and made.requires_grad:
                made.register_hook(lambda gradient: look())

    for part in model.modules():
        part.register_forward_hook(behind)
