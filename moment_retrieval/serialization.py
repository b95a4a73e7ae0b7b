"""Tables as bytes, to be kept and read again in milliseconds: what was parsed and checked once is not parsed again."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from moment_retrieval.metrics.estimates import Pool
from moment_retrieval.tables import Floats, Ints, JudgedTable, MomentTable, Note, RunTable, Spans


def run_bytes(run: RunTable) -> bytes:
    """A run, without its lines."""
    return _packed(run)


def run_of(data: bytes) -> RunTable:
    """Unpack ``run_bytes`` data."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return RunTable(*_columns(archive))


def truth_bytes(judged: JudgedTable, pool: Pool | None = None) -> bytes:
    """Judged moments with what their file says of each, without its lines, and the pool that they are of."""
    more: dict[str, Any] = {}
    if pool is not None:
        packed = np.frombuffer(_packed(pool.unjudged), np.uint8)
        more = {"strata": pool.judged_stratum, "unjudged": packed, "unjudged_strata": pool.unjudged_stratum}
    return _packed(judged, kinds=_words(judged.kinds), notes=_words([list(note) for note in judged.notes]), **more)


def truth_of(data: bytes) -> JudgedTable:
    """Unpack ``truth_bytes`` data."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        kinds, notes = (
            tuple(_read_strings(archive["kinds"])),
            tuple(Note(*note) for note in _read_strings(archive["notes"])),
        )
        return JudgedTable(*_columns(archive), kinds=kinds, notes=notes)


def pool_of(data: bytes) -> Pool | None:
    """Unpack the pool of ``truth_bytes`` data; None where it has none."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        if "strata" not in archive:
            return None
        with np.load(io.BytesIO(archive["unjudged"].tobytes()), allow_pickle=False) as unjudged:
            table = JudgedTable(*_columns(unjudged))
        return Pool(archive["strata"], table, archive["unjudged_strata"])


def cut(run: RunTable, *, depth: int) -> RunTable:
    """The best ``depth`` of each query."""
    return run.taken(run.order < depth)


def answers_to(run: RunTable, query_ids: Iterable[str]) -> RunTable:
    """The run as far as it answers these queries."""
    id_set = set(query_ids)
    queries = [number for number, query_id in enumerate(run.query_ids) if query_id in id_set]
    if len(queries) == len(run):
        return run
    mask = np.zeros(len(run), np.bool_)
    mask[queries] = True
    rows = run.taken(mask[run.query])
    return RunTable(
        tuple(run.query_ids[number] for number in queries),
        np.cumsum([0, *np.diff(rows.offsets)[queries]]),
        rows.spans,
        rows.weights,
        tuple(run.texts[number] for number in queries) if run.texts else (),
        tuple(run.lines[number] for number in queries) if run.lines else (),
    )


def _packed(table: MomentTable[Any], **more: Any) -> bytes:
    target = io.BytesIO()
    np.savez_compressed(
        target,
        offsets=table.offsets,
        video=table.spans.video.astype(np.int32),
        start_s=table.spans.start_s,
        end_s=table.spans.end_s,
        weights=table.weights,
        query_ids=_words(table.query_ids),
        names=_words(table.spans.names),
        texts=_words(table.texts),
        **more,
    )
    return target.getvalue()


def _columns(archive: Any) -> tuple[tuple[str, ...], Ints, Spans, Floats, tuple[str, ...]]:
    names = tuple(_read_strings(archive["names"]))
    spans = Spans(archive["video"].astype(np.int64), names, archive["start_s"], archive["end_s"])
    return (
        tuple(_read_strings(archive["query_ids"])),
        archive["offsets"],
        spans,
        archive["weights"],
        tuple(_read_strings(archive["texts"])),
    )


def _words(words: Sequence[Any]) -> Any:
    """As UTF-8 in an array of bytes: arrays of text are as wide as their longest."""
    return np.frombuffer(json.dumps(list(words)).encode(), np.uint8)


def _read_strings(packed: Any) -> list[Any]:
    words: list[Any] = json.loads(packed.tobytes())
    return words
