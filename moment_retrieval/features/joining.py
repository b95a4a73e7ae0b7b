"""Join files of features as the published ones were made: rows of length one, those of each file beside each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from moment_retrieval.errors import BrokenFeatures, NotWritable, ScoringError
from moment_retrieval.features.attributes import Attributes, description
from moment_retrieval.features.checks import LENGTH_SLACK
from moment_retrieval.features.files import FeatureWriter, open_features
from moment_retrieval.features.stores import FeatureStore, Rows
from moment_retrieval.preprocessing import NORM_EPSILON, l2_normalised

OnProgress = Callable[[int, int], None]


class Normalisation(StrEnum):
    """Scaling of each file's rows before they are joined."""

    L2 = "l2"  # divided by their length; rows of zeros stay
    NONE = "none"


@dataclass
class Joining:
    """Outcome, by the names of the first file."""

    width: int
    n_joined: int = 0  # those of an earlier call among them
    shortened: list[str] = field(default_factory=list)  # names whose files differ by more than a clip
    reasons: dict[str, str] = field(default_factory=dict)  # why names were left out


def join_features(
    paths: Sequence[str | Path],
    target: str | Path,
    *,
    normalisation: Normalisation = Normalisation.L2,
    on_progress: OnProgress | None = None,
) -> Joining:
    """Write the features of several files beside each other, in their order; a call that was cut short goes on.

    A video has as many rows as the file that has fewest for it. A name that a file lacks is left out, with the reason.

    Args:
        paths: two or more HDF5 files or LMDB folders.
        target: the HDF5 file to write; none of ``paths``.
        on_progress: called with names looked at, and all.

    Raises:
        BrokenFeatures: a file cannot be read, or the target was made otherwise.
        NotWritable: there are fewer than two files, or the target is one of them.
    """
    if len(paths) < 2:
        raise NotWritable("name two files of features or more to join")
    if Path(target).resolve() in [Path(path).resolve() for path in paths]:
        raise NotWritable(f"{target} is one of the files to join; name another to write")
    stores = [open_features(path) for path in paths]
    joining = Joining(width=sum(store.width for store in stores))
    names = stores[0].names
    with FeatureWriter(target, width=joining.width, attributes=joined_attributes(stores, normalisation)) as writer:
        for number, name in enumerate(names, start=1):
            try:
                if name not in writer:
                    writer.add(name, _joined(stores, name, normalisation, joining))
                joining.n_joined += 1
            except ScoringError as error:
                joining.reasons[name] = str(error)
            if on_progress:
                on_progress(number, len(names))
        if not len(writer):
            raise BrokenFeatures(f"{Path(target).name}: the files have no name in common")
    for store in stores:
        store.close()
    return joining


def joined_attributes(stores: Sequence[FeatureStore], normalisation: Normalisation) -> Attributes:
    """Return the attributes of the joined file: those that all have in common, and each file with its own."""
    shared = set.intersection(*(set(store.attributes.items()) for store in stores))
    sources = " | ".join(
        f"{store.path.name} ({description(store.attributes) or f'numbers in a row: {store.width}'})" for store in stores
    )
    how = f"row / (L2 norm + {NORM_EPSILON:g}), of each file alone" if normalisation is Normalisation.L2 else "none"
    return {**dict(shared), "extractor": "join", "normalisation": how, "sources": sources[:2_000]}


def _joined(stores: Sequence[FeatureStore], name: str, normalisation: Normalisation, joining: Joining) -> Rows:
    parts = [store.rows(name) for store in stores]
    counts = [len(part) for part in parts]
    count = min(counts)
    if max(counts) - count > LENGTH_SLACK:
        joining.shortened.append(name)
    if normalisation is Normalisation.L2:
        parts = [l2_normalised(part) for part in parts]
    return np.concatenate([part[:count] for part in parts], axis=1)
