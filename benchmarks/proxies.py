"""Ranks a pool by the proxies of sets and by METEOR over words, and scores pairs by METEOR; times are of a processor.

.venv/bin/python benchmarks/proxies.py FILE.jsonl [--captions 98070] [--queries 200] [--json]

FILE: an annotation file of TVR (field "desc"), repeated until there are as many captions; each is a moment of its own.
WordNet must be installed (`manage.py install_wordnet`).
"""

import argparse
import json
import os
import random
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
from annotation.pools.rules.pooling import DEPTH
from annotation.similarity.registry import similarity
from benchmarks.machine import machine

PAIRS = 20_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--captions", type=int, default=98_070)
    arguments.add_argument("--queries", type=int, default=200)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    rows = [json.loads(line)["desc"] for line in options.file.read_text(encoding="utf-8").splitlines()]
    captions = list(islice(cycle(rows), options.captions))
    queries = random.Random(1).sample(rows, options.queries)
    tops = [_top(name, queries, captions) for name in ("bow", "pos", "synset", "meteor over bow")]
    facts = {"captions": len(captions), "queries": len(queries), "top": tops, "meteor_pairs_per_second": _pairs(rows)}
    if options.json:
        print(json.dumps({**facts, **machine()}))
        return
    for row in tops:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    print(f"meteor: {facts['meteor_pairs_per_second']} pairs/s")


def _top(name: str, queries: list[str], captions: list[str]) -> dict[str, object]:
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
    meteor, rng = similarity("meteor"), random.Random(2)
    left, right = rng.choices(rows, k=PAIRS), rng.choices(rows, k=PAIRS)
    started = time.process_time()
    meteor.pairs(left, right)
    return round(PAIRS / (time.process_time() - started))


if __name__ == "__main__":
    main()
