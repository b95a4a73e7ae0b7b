"""Reads annotation files of other projects; ``FORMATS`` lists the forms that can be imported."""

from collections.abc import Mapping
from types import MappingProxyType

from annotation.importers.base import (
    BadLine,
    DescriptionRecord,
    Durations,
    Format,
    ImportFileError,
    Kind,
    VideoRecord,
)
from annotation.importers.tvr import read_durations, read_tvr, videos_of

__all__ = [
    "FORMATS",
    "BadLine",
    "DescriptionRecord",
    "Durations",
    "Format",
    "ImportFileError",
    "Kind",
    "VideoRecord",
    "read_durations",
    "read_tvr",
    "videos_of",
]

FORMATS: Mapping[str, Format] = MappingProxyType(
    {form.name: form for form in (Format("tvr", "TVR (one JSON object a line)", read_tvr),)}
)
