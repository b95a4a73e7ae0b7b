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
from moment_retrieval.features import FeatureWriter
from moment_retrieval.features.extractors import Film, Kind, Line, Sentence, Speech, Way, extract, extractor_of
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


@dataclass(frozen=True)
class Place:
    """The folder of the experiment, and how many processes work in it at once."""

    folder: Path
    workers: int

    @property
    def videos(self) -> Path:
        return self.folder / "videos"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def experiment(self, baseline: str, links: str) -> Path:
        return self.folder / f"{baseline}-{links}"


def main() -> int:
    options = arguments(__doc__, videos=200, seed=SEED, workers=len(os.sched_getaffinity(0))).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = experiment(Place(Path(folder), options.workers), videos=options.videos, seed=options.seed)
    show(report, as_json=options.json)
    return 0 if report["learnt"] and report["in_time"] else 1


def experiment(workspace: Place, *, videos: int, seed: int) -> dict[str, Any]:
    """Do every part and return the report, with the seconds of each part."""
    demo = Demo.of(videos=videos, seed=seed)
    workspace.data.mkdir()
    parts: dict[str, Callable[[], object]] = {
        "videos": lambda: draw(demo, workspace.videos, workers=workspace.workers),
        "video features": lambda: watch(demo, workspace.videos, workspace.data, workers=workspace.workers),
        "text features": lambda: read(demo, workspace.data),
        "training set and judged moments": lambda: write_files(demo, workspace.data),
        "xml and reloclnet": lambda: train(workspace, ("reloclnet", "xml")),
        "conquer": lambda: train(workspace, ("conquer",)),
    }
    spent = {}
    for part, act in parts.items():
        began, processor_start = time.monotonic(), processor_seconds()
        act()
        seconds, processor = time.monotonic() - began, processor_seconds() - processor_start
        spent[part] = {"seconds": round(seconds, 1), "processor_seconds": round(processor, 1)}
        say(f"{part}: {spent[part]}")
    return report_of(workspace, demo, seed, spent)


def train(workspace: Place, baselines: Iterable[str]) -> None:
    """Train some baselines, each on its own links and on shuffled ones, in processes of one thread."""
    folders = []
    for baseline, links in product(baselines, (LEARNT, SHUFFLED)):
        folders.append(workspace.experiment(baseline, links))
        folders[-1].mkdir(exist_ok=True)
        plan_of(workspace, baseline, links).write(folders[-1])
    with ThreadPoolExecutor(workspace.workers) as pool:
        list(pool.map(_train, folders))


def plan_of(workspace: Place, baseline: str, links: str) -> Plan:
    candidates = {"source": "checkpoint", "path": str(workspace.experiment(FIRST_STAGE, LEARNT))}
    files = {kind: str(workspace.data / name) for kind, name in PLAN_FILES.items()}
    return Plan(
        baseline=baseline,
        **files,
        **SETTINGS[baseline],
        **TRAINING,
        candidates=candidates if baseline == "conquer" else None,
        shuffle_links=links == SHUFFLED,
    )


def _train(folder: Path) -> None:
    command = [sys.executable, "-m", "moment_retrieval", "train", str(folder)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    training = subprocess.run(command, cwd=ROOT, env=one_thread, capture_output=True, text=True, check=False)
    if training.returncode:
        raise RuntimeError(f"{folder.name}: {training.stderr.strip()}")


def processor_seconds() -> float:
    """Return those of this process and of its children that ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def report_of(workspace: Place, demo: Demo, seed: int, spent: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return the figures, and whether they are as wanted."""
    corpus = read_corpus(workspace.data / PLAN_FILES["corpus"])
    judged = {name: formats.read_ground_truth(workspace.data / PLAN_FILES[name], corpus=corpus) for name in SPLITS}
    chance = {name: by_chance(judged[name], corpus, seed) for name in SPLITS}
    scores = {baseline: scores_of(workspace, baseline) for baseline in SETTINGS}
    seconds, processor = (sum(part[name] for part in spent.values()) for name in ("seconds", "processor_seconds"))
    folders = [workspace.experiment(*pair) for pair in product(SETTINGS, (LEARNT, SHUFFLED))]
    return {
        "machine": machine(),
        "seed": seed,
        "videos": len(demo.episodes),
        "moments": len(list(demo.moments)),
        "queries": {name: len(queries) for name, queries in demo.splits.items()},
        "parts": spent,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "measure": MEASURE,
        "random spans": chance,
        "scores": scores,
        "trainings": {path.name: training_of(path) for path in folders},
        "learnt": all(has_learnt(scores[baseline], chance) for baseline in SETTINGS),
        "in_time": seconds <= LIMIT_S,
    }


def scores_of(workspace: Place, baseline: str) -> dict[str, dict[str, float]]:
    """Return the scores by links and split."""
    ends = {links: read_events(workspace.experiment(baseline, links))[-1]["metrics"] for links in (LEARNT, SHUFFLED)}
    return {
        links: {name: round(values[MEASURE], 4) for name, values in metrics.items()} for links, metrics in ends.items()
    }


def training_of(folder: Path) -> dict[str, Any]:
    """Return the sizes of one training."""
    events = read_events(folder)
    start, end = events[0], events[-1]
    recall = end.get("candidates", {}).get("recall")
    sizes = {"samples": start["samples"], "steps": end["step"], "best_step": end["best_step"]}
    return sizes if recall is None else {**sizes, "candidates": recall}


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
    def queries(self) -> list[Query]:
        return [query for split in self.splits.values() for query in split]

    @property
    def moments(self) -> Iterator[tuple[Episode, ScriptedMoment]]:
        """Yield all moments with their videos."""
        return ((episode, moment) for episode in self.episodes for moment in episode.moments)


def draw(demo: Demo, folder: Path, *, workers: int) -> None:
    """Render the videos."""
    folder.mkdir()
    paths = [film_of(episode, folder).path for episode in demo.episodes]
    with _processes(workers) as pool:
        list(pool.map(render_episode, demo.episodes, paths))


def _processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"))  # a fork of a process with threads may hang


def film_of(episode: Episode, folder: Path) -> Film:
    return Film(episode.name, folder / f"{episode.name}.mp4")


def watch(demo: Demo, videos: Path, folder: Path, *, workers: int) -> None:
    """Extract video features from the files."""
    films = [film_of(episode, videos) for episode in demo.episodes]
    width = extractor_of(Way.PIXELS, Kind.VIDEO).width
    with FeatureWriter(folder / PLAN_FILES["video"], width=width) as writer, _processes(workers) as pool:
        for film, rows in zip(films, pool.map(_features, films), strict=True):
            writer.add(film.name, rows)


def _features(film: Film) -> np.ndarray:
    (rows,) = extractor_of(Way.PIXELS, Kind.VIDEO).rows([film])
    return rows


def read(demo: Demo, folder: Path) -> None:
    """Extract features of subtitles and queries."""
    speeches = [speech_of(episode) for episode in demo.episodes]
    sentences = [Sentence(str(query.number), query.text) for query in demo.queries]
    for items, kind in ((speeches, Kind.SUBTITLE), (sentences, Kind.QUERY)):
        extractor = extractor_of(Way.WORDS, kind)
        with FeatureWriter(folder / PLAN_FILES[kind.value], width=extractor.width) as writer:
            outcome = extract(items, extractor, writer)
        if outcome.failures:
            raise RuntimeError(f"{kind.value} features are missing: {outcome.reasons}")


def speech_of(episode: Episode) -> Speech:
    lines = [Line(line.start_s, line.end_s, line.text) for line in episode.subtitles]
    return Speech(episode.name, clip_count(episode.duration_s), lines)


def write_files(demo: Demo, folder: Path) -> None:
    """The corpus, the pseudo-positives of training queries, and judged moments of the other splits."""
    corpus = {episode.name: [episode.duration_s, index] for index, episode in enumerate(demo.episodes)}
    (folder / PLAN_FILES["corpus"]).write_text(json.dumps(corpus))
    write_training(demo.splits["train"], demo, folder / PLAN_FILES["train"])
    for name in ("val", "test"):
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
