"""A collection small enough to train on in seconds, and from which something can be learnt.

Every video holds two moments, each with a pattern of its own in its clips and subtitles; the words of a query hold the
pattern of its moment. Queries of training and validation say the same in other words (noise).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from moment_retrieval.training.plan import Plan

VIDEO, SUBTITLE, QUERY = 16, 12, 10
CLIP_S = 1.5
SIZES = {"hidden": 32, "heads": 2, "clips": 20, "words": 8}
CONQUER_SIZES = {"inner": 32, "centres": 3, "narrow": 8}
Rows = np.ndarray
Moment = tuple[int, int, int]  # pattern, first clip, clip behind the last


class Collection:
    def __init__(self, videos: int = 12, paraphrases: int = 4, seed: int = 3) -> None:
        self.draw = np.random.default_rng(seed)
        self.paraphrases = paraphrases
        self.patterns = {
            size: self.draw.normal(size=(2 * videos, size)).astype(np.float32) for size in (VIDEO, SUBTITLE, QUERY)
        }
        self.names = [f"video_{number:02d}" for number in range(videos)]
        self.clips = {name: int(self.draw.integers(10, 17)) for name in self.names}
        self.moments = {name: self._moments(number, self.clips[name]) for number, name in enumerate(self.names)}

    def _moments(self, video: int, clips: int) -> list[Moment]:
        return [(2 * video, 1, 4), (2 * video + 1, clips - 4, clips - 1)]

    def _noise(self, count: int, size: int) -> Rows:
        return 0.3 * self.draw.normal(size=(count, size)).astype(np.float32)

    def _stream(self, name: str, size: int) -> Rows:
        rows = self._noise(self.clips[name], size)
        for pattern, first, end in self.moments[name]:
            rows[first:end] += self.patterns[size][pattern]
        return rows

    def _words(self, pattern: int) -> Rows:
        count = int(self.draw.integers(3, 6))
        return self._noise(count, QUERY) + self.patterns[QUERY][pattern]

    def write(self, folder: Path) -> None:
        write_features(folder / "video.h5", {name: self._stream(name, VIDEO) for name in self.names})
        write_features(folder / "subtitle.h5", {name: self._stream(name, SUBTITLE) for name in self.names})
        words: dict[str, Rows] = {}
        for split, first, times in (("train", 0, self.paraphrases), ("val", 5000, 1), ("test", 7000, 1)):
            queries = []
            for pattern, moment in enumerate(
                {"video_name": name, "timestamp": [first_clip * CLIP_S, end * CLIP_S]}
                for name in self.names
                for _, first_clip, end in self.moments[name]
            ):
                for time in range(times):
                    number = first + times * pattern + time
                    words[str(number)] = self._words(pattern)
                    queries.append((number, {**moment, "similarity": 0.9, "relevance": 4, "duration": 20.0}))
            write_json(folder / f"{split}.json", [query_of(number, [moment]) for number, moment in queries])
        write_features(folder / "query.h5", words)
        write_json(folder / "video_corpus.json", {name: count * CLIP_S for name, count in self.clips.items()})


def query_of(number: int, moments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [{"pair_id": number, **moment} for moment in moments]
    return {"query_id": number, "query": f"query {number}", "relevant_moment": rows}


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def write_features(path: Path, rows: Mapping[str, Rows]) -> None:
    with h5py.File(path, "w") as file:
        for name, values in rows.items():
            file[name] = values


def plan_of(baseline: str = "xml", **changes: Any) -> Plan:
    """A plan whose files lie beside its folder."""
    files = {name: f"../{name}.json" for name in ("train", "val", "test")}
    features = {name: f"../{name}.h5" for name in ("video", "subtitle", "query")}
    more = CONQUER_SIZES if baseline == "conquer" else {}
    sizes = {**SIZES, **more, **changes.pop("sizes", {})}
    how = {"padding": "compact", "epochs": 2, "batch": 16, "lr": 1e-3, "checkpoint_every_s": 3600.0}
    how |= {"baseline": baseline, "top_n": 1, "sizes": sizes, "device": "cpu", "threads": 1}
    return Plan.of({**files, **features, "corpus": "../video_corpus.json", **how, **changes})


def experiment(folder: Path, baseline: str = "xml", **changes: Any) -> Path:
    """A folder with a plan, and the collection beside it."""
    if not (folder / "video_corpus.json").exists():
        Collection().write(folder)
    name = changes.pop("name", baseline)
    target = folder / name
    target.mkdir()
    plan_of(baseline, **changes).write(target)
    return target
