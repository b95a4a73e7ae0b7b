"""How fast the descriptions of a TVR annotation file are rewritten, embedded, compared, and ranked for queries.

    python -m benchmarks.captions candidates FILE.jsonl [--queries 500]
    python -m benchmarks.captions embedding FILE.jsonl [--texts 2000] [--rounds 5] [--threads 1] [--json]
    python -m benchmarks.captions proxies FILE.jsonl [--captions 98070] [--queries 200] [--json]
    python -m benchmarks.captions rewriting FILE.jsonl [--rounds 5] [--json]

FILE: an annotation file of TVR (field "desc"). ``candidates`` ranks the top 40 of a pool of its size, and says how long
each step took. ``proxies`` ranks a pool by the proxies of sets and by METEOR over words, and scores pairs by METEOR;
descriptions are repeated until there are as many captions, each a moment of its own; times are of a processor; WordNet
must be installed (`manage.py install_wordnet`). ``rewriting`` rewrites the video-only descriptions by the rules, on one
core; the best and the worst round.

``embedding`` embeds the same texts in turns by ``SentenceTransformer.encode`` (``alone``), ``sentences.encode``
(``ours``) and ``vectors_of`` (``stored``, which also writes each vector to a PostgreSQL of its own and reads it back;
``known_s``: once they are stored). Ratios are the time of all rounds over that of all rounds alone. Figures:
docs/benchmarks/candidates.md, embedding.md and rewriting.md.
"""

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from annotation.captions.rewriting.lexicon import lexicon_for
from annotation.captions.rewriting.rules import rewrite
from annotation.pools.rules import DEPTH, top_moments
from annotation.similarity import sentences
from benchmarks.common import arguments, machine, show_lines, subcommand
from core.embedded.holding import hold_database

PAIRS = 20_000  # scored by METEOR
WARM = 64  # texts embedded before anything is timed


def main() -> None:
    parser = arguments(__doc__)
    whats = parser.add_subparsers(dest="what", required=True)
    for name, options in OPTIONS.items():
        subcommand(whats, name, **options).add_argument("file", type=Path)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines()]
    facts = MEASURED[options.what](rows, options)
    show_lines({**facts, **machine()}, as_json=options.json)


def candidates(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, object]:
    moments: dict[tuple[str, float, float], list[str]] = {}
    for row in rows:
        moments.setdefault((row["vid_name"], *row["ts"]), []).append(row["desc"])
    texts = [text for captions in moments.values() for text in captions]
    first = np.cumsum([0, *(len(captions) for captions in moments.values())][:-1]).astype(np.intp)
    started = time.perf_counter()
    vectors = sentences.encode(texts, model=sentences.DEFAULT)
    embedded = time.perf_counter()
    chosen = vectors[random.Random(1).sample(range(len(texts)), options.queries)]
    ranked = list(top_moments(chosen, vectors, first, depth=DEPTH))
    done = time.perf_counter()
    return {
        "moments": len(moments),
        "captions": len(texts),
        "queries": len(ranked),
        "depth": len(ranked[0][0]),
        "embedding_s": round(embedded - started, 2),
        "ranking_s": round(done - embedded, 3),
    }


def rewriting(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, object]:
    work = [(row["desc"], row["vid_name"]) for row in rows if row["type"] == "v"]
    rates = [len(work) / _seconds(work) for _ in range(options.rounds)]
    return {
        "descriptions": len(work),
        "per_second_first": round(rates[0]),  # with the lexicons being read
        "per_second_worst": round(min(rates)),
        "per_second_best": round(max(rates)),
    }


def _seconds(work: list[tuple[str, str]]) -> float:
    started = time.perf_counter()
    for description, video in work:
        rewrite(description, lexicon_for(video=video))
    return time.perf_counter() - started


def proxies(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, object]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
    texts = [row["desc"] for row in rows]
    captions = list(islice(cycle(texts), options.captions))
    queries = random.Random(1).sample(texts, options.queries)
    tops = [_top(name, queries, captions) for name in ("bow", "pos", "synset", "meteor over bow")]
    sizes = {"captions": len(captions), "queries": len(queries)}
    return {**sizes, "top": tops, "meteor_pairs_per_second": _pairs(texts)}


def _top(name: str, queries: list[str], captions: list[str]) -> dict[str, object]:
    from annotation.similarity.registry import similarity

    first = np.arange(len(captions), dtype=np.intp)
    ranked = similarity(name).top(queries, captions, first, depth=DEPTH)
    started = time.process_time()
    next(ranked)  # reads the captions
    read = time.process_time()
    rest = sum(len(moments) == DEPTH for moments, _ in ranked)
    assert rest == len(queries) - 1
    each = (time.process_time() - read) / rest
    return {"similarity": name, "captions_read_s": round(read - started, 1), "ms_per_query": round(1000 * each, 2)}


def _pairs(rows: list[str]) -> int:
    from annotation.similarity.registry import similarity

    meteor, rng = similarity("meteor"), random.Random(2)
    left, right = rng.choices(rows, k=PAIRS), rng.choices(rows, k=PAIRS)
    started = time.process_time()
    meteor.pairs(left, right)
    return round(PAIRS / (time.process_time() - started))


def embedding(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, object]:
    texts = random.Random(1).sample([row["desc"] for row in rows], min(options.texts, len(rows)))
    setup = sentences.Setup(device=options.device, threads=options.threads)
    with own_database(options.model, setup):
        return beside_library(texts, options.model, setup, options.rounds)


@contextmanager
def own_database(model: str, setup: sentences.Setup) -> Iterator[None]:
    """The site's settings and an empty PostgreSQL of its own, in a folder that goes at the end."""
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as var:
        settings = {"MOMENTJUDGE_VAR": var, "SENTENCE_MODEL": model, "SENTENCE_DEVICE": setup.device}
        os.environ.update(settings, SENTENCE_THREADS=str(setup.threads), DJANGO_SETTINGS_MODULE="config.settings.local")
        os.environ.pop("DATABASE_URL", None)  # would be somebody else's data
        import django
        from django.core.management import call_command
        from django.db import connection

        with hold_database(Path(var)):
            django.setup()
            call_command("migrate", verbosity=0, interactive=False)
            yield
            connection.close()


class Turns:
    """The seconds of one function, round by round."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.seconds, self.cpu = function, list[float](), list[float]()

    def take(self) -> Any:
        started, began = time.perf_counter(), time.process_time()
        result = self.function()
        self.seconds.append(time.perf_counter() - started)
        self.cpu.append(time.process_time() - began)
        return result

    def beside(self, alone: "Turns") -> dict[str, object]:
        pairs = zip(alone.seconds, self.seconds, strict=True)
        return {
            "ratio": round(sum(self.seconds) / sum(alone.seconds), 3),
            "cpu_ratio": round(sum(self.cpu) / sum(alone.cpu), 3),
            "ratios": [round(second / first, 3) for first, second in pairs],
        }


def beside_library(texts: list[str], model: str, setup: sentences.Setup, rounds: int) -> dict[str, object]:
    import torch

    from annotation.models import TextVector
    from annotation.pools.services.candidates import vectors_of

    sentences.encode(texts[:WARM], model=model, setup=setup)
    files = sentences.find(model, pooling=setup.pooling)
    loaded, batch = sentences._load(model, files.folder, files.pooling, setup.device, setup.threads)
    alone = Turns(lambda: loaded.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False))
    ours = Turns(lambda: sentences.encode(texts, model=model, setup=setup))
    stored, known = (Turns(lambda: vectors_of(texts, model=model)) for _ in range(2))
    turns = {"alone": alone, "ours": ours, "stored": stored, "known": known}
    for _ in range(rounds):
        theirs, vectors = alone.take(), ours.take()
        TextVector.objects.all().delete()
        assert np.array_equal(stored.take(), known.take())
    return {
        "model": model,
        "version": files.version,
        "device": str(loaded.device),
        "threads": torch.get_num_threads(),
        "texts": len(texts),
        "rounds": rounds,
        **{f"{name}_s": [round(value, 3) for value in each.seconds] for name, each in turns.items()},
        "texts_per_second": round(rounds * len(texts) / sum(ours.seconds)),
        **ours.beside(alone),
        **{f"stored_{name}": value for name, value in stored.beside(alone).items()},
        "largest_difference": float(np.abs(vectors - theirs).max()),
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "candidates": {"queries": 500},
    "embedding": {
        **{"texts": 2000, "rounds": 5, "threads": 1},  # one thread is what the site uses unless told otherwise
        **{"model": sentences.DEFAULT, "device": "auto"},
    },
    "proxies": {"captions": 98_070, "queries": 200},
    "rewriting": {"rounds": 5},
}
MEASURED: dict[str, Callable[[list[dict[str, Any]], argparse.Namespace], dict[str, object]]] = {
    act.__name__: act for act in (candidates, embedding, proxies, rewriting)
}

if __name__ == "__main__":
    main()
