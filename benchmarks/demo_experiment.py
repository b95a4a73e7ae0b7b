"""Whether the baselines learn anything: trained on the drawn demo corpus, beside random spans and shuffled links.

    python -m benchmarks.demo_experiment [--videos 200] [--seed 20260101] [--json]

The videos are drawn and encoded without GIFs, features are extracted from the files by the built-in extractors, every
training query gets the moments whose captions are most similar, and XML, ReLoCLNet and CONQUER are trained in small
sizes, each twice: as it should be, and with every query given the moments of another one. Validation and test moments
are graded as the script knows them. Method and figures: docs/benchmarks/demo-experiment.md. Exit status 1: a baseline
has not learnt, or it took longer than fifteen minutes by the clock.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from annotation.demo import Episode, ScriptedMoment, true_relevance, write_script
from annotation.queries import rules
from annotation.similarity.sentences import DEFAULT, encode
from annotation.train_sets.files import JsonTrainFile
from annotation.train_sets.ranks import TextRanker, TrainMoments, ranked_blocks
from benchmarks.common import ROOT, arguments, machine, say, show
from moment_retrieval import formats
from moment_retrieval.features.extractors.videos import clip_count
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.preprocessing import CLIP_S
from moment_retrieval.records import VideoCorpus, read_corpus
from moment_retrieval.tables import JudgedTable, RunTable
from moment_retrieval.training.events import read_events
from moment_retrieval.training.plan import Plan
from tools.demo_videos.render import render_episode

SEED = 20260101  # of the corpus, its queries and random spans
K, MU = 20, 0.5
MEASURE = f"ndcg@{K}_{MU}"
DRAWS, SHORTEST, LONGEST = 1_000, 2, 16  # random spans: how often, and their lengths in clips
ABOVE_RANDOM, ABOVE_SHUFFLED = 5.0, 1.5  # times as good a baseline is to be
LIMIT_S = 15 * 60
SPLITS = ("val", "test")
TOP_N = 40
JUDGED = {split: rules.Share(Fraction(20)) for split in rules.JUDGED}  # of the different captions; the others train
VIDEOS, SUBTITLES = "videos", "subtitles.jsonl"
PLAN_FILES = {  # of a plan
    **{"train": "train_top40.json", "val": "val.json", "test": "test.json", "corpus": "corpus.json"},
    **{"video": "video.h5", "subtitle": "subtitle.h5", "query": "query.h5"},
}
LEARNT, SHUFFLED = "learnt", "shuffled"
EPOCHS = 4
TRAINING: dict[str, Any] = {
    **{"padding": "compact", "batch": 64, "lr": 1e-3, "epochs": EPOCHS, "patience": 0, "device": "cpu", "threads": 1},
    "evaluations_per_epoch": 1 / EPOCHS,  # once, at the end: no weights are chosen on the validation split
}
SMALL = {"hidden": 64, "heads": 4, "dropout": 0.0}
OBJECTIVE = {"mask_positives": True, "span_weight": 0.05}
SETTINGS: dict[str, dict[str, Any]] = {
    "reloclnet": {"sizes": SMALL, "objective": OBJECTIVE},
    "xml": {"sizes": SMALL, "objective": OBJECTIVE, "decoding": {"end_offset_s": 0.0}},
    "conquer": {"sizes": {**SMALL, "inner": 128, "narrow": 32}, "decoding": {"videos": 20}},
}
FIRST_STAGE = "reloclnet"  # names CONQUER's candidates, for its control too: only CONQUER's own links are shuffled


def main() -> int:
    options = arguments(__doc__, videos=200, seed=SEED, workers=len(os.sched_getaffinity(0))).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = experiment(Path(folder), videos=options.videos, seed=options.seed, workers=options.workers)
    show(report, as_json=options.json)
    return 0 if report["learnt"] and report["in_time"] else 1


def experiment(folder: Path, *, videos: int, seed: int, workers: int) -> dict[str, Any]:
    """Do every part in a folder, in so many processes, and return the report, with the seconds of each part."""
    demo = Demo.of(videos=videos, seed=seed)
    parts: dict[str, Callable[[], object]] = {
        "videos": lambda: draw(demo, folder / VIDEOS, workers=workers),
        "training set and judged moments": lambda: write_files(demo, folder),
        "features": lambda: run(extractions(folder), workers=workers),
        "xml and reloclnet": lambda: run(trainings(folder, ("reloclnet", "xml")), workers=workers),
        "conquer": lambda: run(trainings(folder, ("conquer",)), workers=workers),
    }
    spent = {}
    for part, act in parts.items():
        began, processor_start = time.monotonic(), processor_seconds()
        act()
        seconds, processor = time.monotonic() - began, processor_seconds() - processor_start
        spent[part] = {"seconds": round(seconds, 1), "processor_seconds": round(processor, 1)}
        say(f"{part}: {spent[part]}")
    return report_of(folder, demo, seed, spent)


def run(commands: Iterable[Sequence[object]], *, workers: int) -> None:
    """Run commands of ``moment-retrieval``, so many at once, each in a process of one thread."""

    def run_one(words: Sequence[object]) -> None:
        command = [sys.executable, "-m", "moment_retrieval", *map(str, words)]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.run(command, cwd=ROOT, env=one_thread, capture_output=True, text=True, check=False)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: {process.stderr.strip()}")

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run_one, list(commands)))


def extractions(folder: Path) -> Iterator[Sequence[object]]:
    """Yield the commands that make features from the files of videos, subtitles and queries."""
    path = {kind: folder / name for kind, name in PLAN_FILES.items()}
    options: dict[str, Sequence[object]] = {
        "video": ("--corpus", path["corpus"], "--folder", folder / VIDEOS),
        "subtitle": ("--corpus", path["corpus"], "--subtitles", folder / SUBTITLES),
        "query": ("--queries", path["train"], path["val"], path["test"]),
    }
    for kind, words in options.items():
        yield "features", "extract", kind, "--to", path[kind], *words


def trainings(folder: Path, baselines: Iterable[str]) -> Iterator[Sequence[object]]:
    """Yield the commands that train baselines, each on its own links and on shuffled ones; their plans are written."""
    for baseline, links in product(baselines, (LEARNT, SHUFFLED)):
        training = folder / f"{baseline}-{links}"
        training.mkdir()
        plan_of(folder, baseline, links).write(training)
        yield "train", training


def plan_of(folder: Path, baseline: str, links: str) -> Plan:
    candidates = {"source": "checkpoint", "path": str(folder / f"{FIRST_STAGE}-{LEARNT}")}
    return Plan(
        baseline=baseline,
        **{kind: str(folder / name) for kind, name in PLAN_FILES.items()},
        **SETTINGS[baseline],
        **TRAINING,
        candidates=candidates if baseline == "conquer" else None,
        shuffle_links=links == SHUFFLED,
    )


def processor_seconds() -> float:
    """Return those of this process and of its children that ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def report_of(folder: Path, demo: Demo, seed: int, spent: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return the figures, and whether they are as wanted."""
    corpus = read_corpus(folder / PLAN_FILES["corpus"])
    judged = {name: formats.read_ground_truth(folder / PLAN_FILES[name], corpus=corpus) for name in SPLITS}
    chance = {name: by_chance(judged[name], corpus, seed) for name in SPLITS}
    scores = {baseline: scores_of(folder, baseline) for baseline in SETTINGS}
    totals = {name: round(sum(part[name] for part in spent.values()), 1) for name in ("seconds", "processor_seconds")}
    return {
        "machine": machine(),
        "seed": seed,
        "videos": len(demo.episodes),
        "moments": len(list(demo.moments)),
        "queries": {name: len(queries) for name, queries in demo.splits.items()},
        "parts": spent,
        **totals,
        "measure": MEASURE,
        "random spans": chance,
        "scores": scores,
        "learnt": all(has_learnt(scores[baseline], chance) for baseline in SETTINGS),
        "in_time": totals["seconds"] <= LIMIT_S,
    }


def scores_of(folder: Path, baseline: str) -> dict[str, dict[str, float]]:
    """Return the scores by links and split."""
    scores = {}
    for links in (LEARNT, SHUFFLED):
        metrics = read_events(folder / f"{baseline}-{links}")[-1]["metrics"]
        scores[links] = {name: round(values[MEASURE], 4) for name, values in metrics.items()}
    return scores


def has_learnt(scores: dict[str, dict[str, float]], chance: dict[str, float]) -> bool:
    """Whether a baseline beats chance and its control on the validation split."""
    learnt, shuffled = scores[LEARNT]["val"], scores[SHUFFLED]["val"]
    return learnt >= ABOVE_RANDOM * chance["val"] and learnt >= ABOVE_SHUFFLED * shuffled


def by_chance(judged: JudgedTable, corpus: VideoCorpus, seed: int) -> float:
    """Return the mean of many runs of random spans: video, length and start are each as likely as any other."""
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


# The dataset. Features come from the pixels of the video files and from subtitle and query texts, pseudo-positives
# from captions, as for any release; the script serves for grading, as annotators would grade.


class Query(NamedTuple):
    """A caption that serves as query, with one of the moments it was written for, by which moments are graded."""

    number: int
    moment: ScriptedMoment

    @property
    def text(self) -> str:
        return self.moment.caption


@dataclass(frozen=True)
class Demo:
    """The corpus and its queries; no text is in two splits."""

    episodes: list[Episode]
    splits: dict[str, list[Query]]

    @classmethod
    def of(cls, *, videos: int, seed: int) -> Demo:
        episodes = write_script(seed=seed, videos=videos)
        by_text = {moment.caption: moment for episode in episodes for moment in episode.moments}
        queries = {number: Query(number, by_text[text]) for number, text in enumerate(sorted(by_text), start=1)}
        splits = rules.draw({number: query.text for number, query in queries.items()}, JUDGED, seed)
        parts: dict[str, list[Query]] = {split: [] for split in ("train", "val", "test")}
        for number, split in splits.split_of.items():
            parts[split].append(queries[number])
        return cls(episodes, parts)

    @property
    def moments(self) -> Iterator[tuple[Episode, ScriptedMoment]]:
        """Yield all moments with their videos."""
        return ((episode, moment) for episode in self.episodes for moment in episode.moments)


def draw(demo: Demo, folder: Path, *, workers: int) -> None:
    """Render the videos."""
    folder.mkdir()
    paths = [folder / f"{episode.name}.mp4" for episode in demo.episodes]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:  # a fork of a process with threads may hang
        list(pool.map(render_episode, demo.episodes, paths))


def write_files(demo: Demo, folder: Path) -> None:
    """Write corpus, subtitles, pseudo-positives of training queries, and judged moments of the other splits."""
    corpus = {episode.name: [episode.duration_s, index] for index, episode in enumerate(demo.episodes)}
    (folder / PLAN_FILES["corpus"]).write_text(json.dumps(corpus))
    with (folder / SUBTITLES).open("w") as file:  # as in TVR's
        for episode in demo.episodes:
            lines = [{"text": line.text, "start": line.start_s, "end": line.end_s} for line in episode.subtitles]
            file.write(json.dumps({"vid_name": episode.name, "sub": lines}) + "\n")
    write_training(demo.splits["train"], demo, folder / PLAN_FILES["train"])
    for name in SPLITS:
        (folder / PLAN_FILES[name]).write_text(json.dumps(judged_moments(demo.splits[name], demo), ensure_ascii=False))


def write_training(queries: Sequence[Query], demo: Demo, path: Path) -> None:
    """The moments of the corpus whose captions are most similar to each query."""
    moments = TrainMoments()
    for episode, moment in demo.moments:
        times = {"duration_s": episode.duration_s, "start_s": moment.start_s, "end_s": moment.end_s}
        moments.add(video_name=episode.name, **times, caption=moment.caption)
    vectors_of = partial(encode, model=DEFAULT)
    ranker = TextRanker(vectors_of(moments.captions), np.arange(len(moments)), depth=TOP_N, vectors_of=vectors_of)
    block = [(query.number, query.text) for query in queries]
    with JsonTrainFile(path, moments, depth=TOP_N) as file:
        for ranked in ranked_blocks([block], ranker):
            file.add(ranked)


def judged_moments(queries: Sequence[Query], demo: Demo) -> list[dict[str, object]]:
    """Return every moment of the corpus that has something to do with a query, graded as the script knows it."""
    return [
        {
            "query_id": query.number,
            "query": query.text,
            "relevant_moment": [
                {
                    "video_name": episode.name,
                    "timestamp": [moment.start_s, moment.end_s],
                    "duration": episode.duration_s,
                    "caption": moment.caption,
                    "relevance": grade,
                }
                for episode, moment in demo.moments
                if (grade := true_relevance(query.moment, moment))
            ],
        }
        for query in queries
    ]


if __name__ == "__main__":
    sys.exit(main())
