"""Curves for TensorBoard, from the events of a training."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

FOLDER = "tensorboard"


class Board:
    """Writes losses and metrics by step; what an earlier run wrote behind the step it went on from is left out."""

    def __init__(self, folder: Path, resumed_from: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder / FOLDER), purge_step=resumed_from + 1 if resumed_from else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.writer.close()

    def step(self, step: int, loss: float, terms: dict[str, float], lr: float) -> None:
        """One step's losses."""
        parts = {f"terms/{name}": value for name, value in terms.items()}
        for name, value in {"loss": loss, "rate": lr, **parts}.items():
            self.writer.add_scalar(f"train/{name}", value, step)

    def evaluation(self, step: int, split: str, metrics: dict[str, float], loss: float | None) -> None:
        """One evaluation."""
        for name, value in (metrics | ({} if loss is None else {"loss": loss})).items():
            self.writer.add_scalar(f"{split}/{name.replace('@', '_at_')}", value, step)
        self.writer.flush()
