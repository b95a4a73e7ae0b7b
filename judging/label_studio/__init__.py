"""Judgments from a Label Studio export: which field says what, reading it piece by piece, and what is told of it."""

from judging.label_studio.gathering import Export, read_export
from judging.label_studio.mapping import BadMapping, Mapped, mapped

__all__ = ["BadMapping", "Export", "Mapped", "mapped", "read_export"]
