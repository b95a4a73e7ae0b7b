"""Whether the baselines learn anything: trained on the drawn demo corpus, beside random spans and shuffled links.

    python -m benchmarks.demo_experiment [--videos 200] [--seed 20260101] [--folder DIR] [--json]

The videos are drawn and encoded without GIFs, features are extracted from the files by the built-in extractors, every
training query gets the moments whose captions are most similar, and XML, ReLoCLNet and CONQUER are trained in small
sizes, each twice: as it should be, and with every query given the moments of another one. Validation and test moments
are graded as the script knows them. What is done in ``--folder`` is kept, with the seconds it took, and not done again.
Method and figures: docs/benchmarks/demo-experiment.md. Exit status 1: a baseline has not learnt, or it took longer than
fifteen minutes by the clock; on a machine that does other work, see what two cores of its own would have taken.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import demo_material as material
from benchmarks.common import ROOT, arguments, machine
from moment_retrieval import formats
from moment_retrieval.features.extractors.videos import clip_count
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.records import VideoCorpus, read_corpus
from moment_retrieval.tables import JudgedTable, RunTable
from moment_retrieval.training.events import read_events
from moment_retrieval.training.plan import Plan

SEED = 20260101  # of the corpus, its queries and random spans
K, MU = 20, 0.5
MEASURE = f"ndcg@{K}_{MU}"
DRAWS, SHORTEST, LONGEST = 1_000, 2, 16  # random spans: how often, and their lengths in clips
ABOVE_RANDOM, ABOVE_SHUFFLED = 5.0, 1.5  # times as good a baseline is to be
LIMIT_S, CORES = 15 * 60, 2
TEXTS, FILES = "text features", "training set and judged moments"  # parts that one process does; others use all cores
SPLITS = ("val", "test")
LEARNT, SHUFFLED = "learnt", "shuffled"
EPOCHS = 4
SMALL = {"hidden": 64, "heads": 4, "dropout": 0.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "reloclnet": {"sizes": SMALL, "objective": {"mask_positives": True, "span_weight": 0.05}},
    "xml": {
        "sizes": SMALL,
        "objective": {"mask_positives": True, "span_weight": 0.05},
        "decoding": {"end_offset_s": 0.0},
    },
    "conquer": {"sizes": {**SMALL, "inner": 128, "narrow": 32}, "decoding": {"videos": 20}},
}
FIRST_STAGE = "reloclnet"  # names CONQUER's candidates, for its control too: only CONQUER's own links are shuffled


@dataclass(frozen=True)
class Place:
    """Where the experiment lies; ``run`` keeps what was done and what it took."""

    folder: Path
    workers: int

    @property
    def videos(self) -> Path:
        return self.folder / "videos"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def experiment(self, baseline: str, way: str) -> Path:
        return self.folder / f"{baseline}-{way}"

    def run(self, part: str, act: Callable[[], object]) -> None:
        """Do a part that was not done."""
        spent = self.spent
        if part in spent:
            return
        began, used = time.monotonic(), processor_seconds()
        act()
        spent[part] = {
            "seconds": round(time.monotonic() - began, 1),
            "processor_seconds": round(processor_seconds() - used, 1),
        }
        (self.folder / "parts.json").write_text(json.dumps(spent))
        print(f"{part}: {spent[part]}", file=sys.stderr, flush=True)

    @property
    def spent(self) -> dict[str, dict[str, float]]:
        path = self.folder / "parts.json"
        return json.loads(path.read_text()) if path.exists() else {}


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        report = experiment(Place(folder, options.workers), videos=options.videos, seed=options.seed)
    print(json.dumps(report, indent=1) if options.json else table(report))
    return 0 if report["learnt"] and report["in_time"] else 1


def parse() -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--videos", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path)
    return parser.parse_args()


def experiment(place: Place, *, videos: int, seed: int) -> dict[str, Any]:
    """Everything, and whether it went as it should."""
    place.data.mkdir(parents=True, exist_ok=True)
    demo = material.Demo.of(videos=videos, seed=seed)
    place.run("videos", lambda: material.draw(demo, place.videos, workers=place.workers))
    place.run("video features", lambda: material.watch(demo, place.videos, place.data, workers=place.workers))
    place.run(TEXTS, lambda: material.read(demo, place.data))
    place.run(FILES, lambda: material.write_files(demo, place.data))
    place.run("xml and reloclnet", lambda: train(place, ("reloclnet", "xml")))
    place.run("conquer", lambda: train(place, ("conquer",)))
    return report_of(place, demo, seed)


def train(place: Place, baselines: Iterable[str]) -> None:
    """Some baselines, each learning and with links shuffled, in processes of one thread."""
    folders = []
    for baseline in baselines:
        for way in (LEARNT, SHUFFLED):
            folders.append(place.experiment(baseline, way))
            folders[-1].mkdir(exist_ok=True)
            plan_of(place, baseline, way).write(folders[-1])
    with ThreadPoolExecutor(place.workers) as pool:
        list(pool.map(_train, folders))


def plan_of(place: Place, baseline: str, way: str) -> Plan:
    candidates = {"source": "checkpoint", "path": str(place.experiment(FIRST_STAGE, LEARNT))}
    files = {kind: str(place.data / name) for kind, name in material.FILES.items()}
    return Plan(
        baseline=baseline,
        **files,
        **SETTINGS[baseline],
        candidates=candidates if baseline == "conquer" else None,
        shuffle_links=way == SHUFFLED,
        padding="compact",
        batch=64,
        lr=1e-3,
        epochs=EPOCHS,
        evaluations_per_epoch=1 / EPOCHS,  # once, at the end: no weights are chosen on the validation split
        patience=0,
        device="cpu",
        threads=1,
    )


def _train(folder: Path) -> None:
    command = [sys.executable, "-m", "moment_retrieval", "train", str(folder)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=one_thread, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{folder.name}: {done.stderr.strip()}")


def processor_seconds() -> float:
    """Of this process and of those that ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def two_core_seconds(spent: dict[str, dict[str, float]]) -> float:
    """By processor seconds, about what two cores of its own take: what several processes do is shared evenly."""
    return sum(part["processor_seconds"] / (1 if name in (TEXTS, FILES) else CORES) for name, part in spent.items())


def report_of(place: Place, demo: material.Demo, seed: int) -> dict[str, Any]:
    """Figures, and whether they are as asked for."""
    corpus = read_corpus(place.data / material.FILES["corpus"])
    judged = {name: formats.read_ground_truth(place.data / material.FILES[name], corpus=corpus) for name in SPLITS}
    chance = {name: by_chance(judged[name], corpus, seed) for name in SPLITS}
    scores = {baseline: scores_of(place, baseline) for baseline in SETTINGS}
    spent = place.spent
    seconds, processor = (sum(part[name] for part in spent.values()) for name in ("seconds", "processor_seconds"))
    on_two_cores = two_core_seconds(spent)
    return {
        "machine": machine(),
        "seed": seed,
        "videos": len(demo.episodes),
        "moments": len(list(demo.moments)),
        "queries": {name: len(queries) for name, queries in demo.splits.items()},
        "ceiling": ceiling(demo),
        "parts": spent,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "two_core_seconds": round(on_two_cores, 1),
        "measure": MEASURE,
        "random spans": chance,
        "scores": scores,
        "trainings": {path.name: training_of(path) for path in folders(place)},
        "learnt": all(has_learnt(scores[baseline], chance) for baseline in SETTINGS),
        "in_time": seconds <= LIMIT_S,
        "in_time_on_two_cores": on_two_cores <= LIMIT_S,
    }


def folders(place: Place) -> list[Path]:
    return [place.experiment(baseline, way) for baseline in SETTINGS for way in (LEARNT, SHUFFLED)]


def scores_of(place: Place, baseline: str) -> dict[str, dict[str, float]]:
    """By way and split."""
    return {
        way: {name: round(metrics[MEASURE], 4) for name, metrics in _last(place.experiment(baseline, way)).items()}
        for way in (LEARNT, SHUFFLED)
    }


def _last(folder: Path) -> dict[str, dict[str, float]]:
    return read_events(folder)[-1]["metrics"]


def training_of(folder: Path) -> dict[str, Any]:
    """What one training did."""
    events = read_events(folder)
    start, done = events[0], events[-1]
    told = {"samples": start["samples"], "steps": done["step"], "best_step": done["best_step"]}
    recall = done.get("candidates", {}).get("recall")
    return told if recall is None else {**told, "candidates": recall}


def has_learnt(scores: dict[str, dict[str, float]], chance: dict[str, float]) -> bool:
    """On the validation split, as it was asked for."""
    learnt, shuffled = scores[LEARNT]["val"], scores[SHUFFLED]["val"]
    return learnt >= ABOVE_RANDOM * chance["val"] and learnt >= ABOVE_SHUFFLED * shuffled


def by_chance(judged: JudgedTable, corpus: VideoCorpus, seed: int) -> float:
    """The mean of many runs of random spans: a video, a length and a place, each as likely as any other."""
    draw = np.random.default_rng(seed)
    clips = np.array([clip_count(duration) for duration in corpus.durations_s.values()])
    shape, scores = (len(judged.query_ids), K), []
    for _ in range(DRAWS):
        video = draw.integers(len(clips), size=shape)
        length = np.minimum(draw.integers(SHORTEST, LONGEST, size=shape, endpoint=True), clips[video])
        first = draw.integers(clips[video] - length, endpoint=True)
        times = first * CLIP_S, (first + length) * CLIP_S
        run = RunTable.from_arrays(judged.query_ids, video, *times, names=list(corpus.durations_s))
        scores.append(next(iter(evaluate(run, judged, ks=(K,), mus=(MU,)).mean.values())))
    return round(float(np.mean(scores)), 4)


def ceiling(demo: material.Demo) -> float:
    """The share of moments that some stretch of whole clips overlaps by enough."""
    reached = [best_iou(moment.start_s, moment.end_s) >= MU for _, moment in demo.moments]
    return sum(reached) / len(reached)


def best_iou(start_s: float, end_s: float) -> float:
    """Of all stretches of clips with what lies between two times."""
    first, last = int(start_s / CLIP_S), int(end_s / CLIP_S) + 1
    spans = [(i * CLIP_S, j * CLIP_S) for i in range(first, last) for j in range(i + SHORTEST, last + SHORTEST)]
    return max(
        (min(end, end_s) - max(start, start_s)) / (max(end, end_s) - min(start, start_s)) for start, end in spans
    )


def table(report: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [
        "| baseline | val | links shuffled | ratio | test | links shuffled | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for baseline, scores in report["scores"].items():
        cells = [baseline]
        for name in SPLITS:
            learnt, shuffled = scores[LEARNT][name], scores[SHUFFLED][name]
            cells += [f"{learnt:.4f}", f"{shuffled:.4f}", f"{learnt / max(shuffled, 1e-4):.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    chance = report["random spans"]
    lines.append(f"| random spans | {chance['val']:.4f} | | | {chance['test']:.4f} | | |")
    lines += ["", "| part | seconds | processor seconds |", "|---|--:|--:|"]
    parts = {**report["parts"], "in all": {name: report[name] for name in ("seconds", "processor_seconds")}}
    lines += [f"| {name} | {part['seconds']:.0f} | {part['processor_seconds']:.0f} |" for name, part in parts.items()]
    lines += [
        "",
        f"Two cores of its own would take about {report['two_core_seconds']:.0f} s, of {LIMIT_S} asked for.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
