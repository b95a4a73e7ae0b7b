"""The judged moments of a release, read from its archive once and kept as columns."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import numpy as np
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction

from core.exceptions import NotPossible
from core.stored_files import files_delete
from judging.models import Release
from judging.releases.layout import JUDGED_SPLITS
from judging.releases.selectors import archive_opened
from models_runner.models import ReadRelease, Run, Truth
from moment_retrieval import formats, serialization
from moment_retrieval.errors import EmptyFile
from moment_retrieval.tables import JudgedTable, similarity_labelled

DIGESTS = 1_000  # of truths, of 64 letters each
HELD = 4  # tables that a process keeps; the largest has about 10 MB


def truths_make(release: Release) -> list[Truth]:
    """A truth for each split of the release that has a judged query; those that are there stay."""
    held = {truth.split: truth for truth in release.truths.all()}
    missing = {str(split): name for split, name in JUDGED_SPLITS.items() if split not in held}
    if missing and not ReadRelease.objects.filter(release=release).exists():
        with TemporaryDirectory(prefix="momentjudge-truths-") as place:
            with archive_opened(release) as source, ZipFile(source) as archive:
                there = [name for name in missing.values() if name in archive.namelist()]
                archive.extractall(place, there)  # not its training sets, which are large
            for split, name in missing.items():
                if name in there and (judged := _read(Path(place) / name)) is not None:
                    held[split] = _truth_keep(release, split, judged)
    return [held[split] for split in sorted(held, reverse=True)]  # val before test


def _read(path: Path) -> JudgedTable | None:
    try:
        return formats.read_ground_truth(path, formats.Form.TVR_RANKING)
    except EmptyFile:
        return None


def _truth_keep(release: Release, split: str, judged: JudgedTable) -> Truth:
    truth = Truth(release=release, split=split, n_queries=len(judged), n_moments=len(judged.weights))
    truth.table.save("truth", ContentFile(serialization.truth_bytes(judged)), save=False)
    try:
        with transaction.atomic():
            truth.save()
    except IntegrityError:  # another process was quicker
        files_delete(str(truth.table.name))
        return Truth.objects.get(release=release, split=split)
    return truth


def truth_table(*, release: Release, split: str, labels: str = Run.Labels.JUDGED) -> JudgedTable:
    """What runs on this split are scored against, by people's grades or by those derived from similarity.

    Raises:
        NotPossible: the release has no judged query there.
    """
    truth = next((truth for truth in truths_make(release) if truth.split == split), None)
    if truth is None:
        raise NotPossible(f"Release {release.version} has no judged query of the split {split}.")
    name = str(truth.table.name)
    return _table(name) if labels == Run.Labels.JUDGED else _relabelled(name)


def truth_digest(*, release: Release, split: str) -> str:
    """Equal for equal judged moments of the split, whichever release holds them; empty where there are none."""
    name = Truth.objects.filter(release=release, split=split).values_list("table", flat=True).first()
    return _digest(str(name)) if name else ""


@lru_cache(maxsize=DIGESTS)
def _digest(name: str) -> str:
    judged = _table(name)
    digest = sha256("\0".join([*judged.query_ids, "", *judged.spans.names]).encode())
    for column in (judged.offsets, judged.spans.video, judged.spans.start_s, judged.spans.end_s, judged.weights):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=HELD)
def _table(name: str) -> JudgedTable:
    with default_storage.open(name) as file:
        return serialization.truth_of(file.read())


@lru_cache(maxsize=HELD)
def _relabelled(name: str) -> JudgedTable:
    return similarity_labelled(_table(name))
