"""Embeds texts as the site does, beside ``SentenceTransformer.encode`` alone on the same texts and threads.

.venv/bin/python benchmarks/embedding.py FILE.jsonl [--texts 2000] [--rounds 5] [--threads 1] [--model NAME]
    [--device auto] [--json]

FILE: an annotation file of TVR (field "desc"). Both ways take turns, so that they see the same machine; the model is
loaded once, before. ``ratio`` is the time of all our rounds over that of all theirs; ``cpu_ratio`` is the same of
processor time, which other work on the machine disturbs less.
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from annotation.similarity import sentences
from benchmarks.machine import machine

WARM = 64  # texts embedded before anything is timed


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--texts", type=int, default=2000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=1, help="1 is what the site uses unless told otherwise")
    arguments.add_argument("--model", default=sentences.DEFAULT)
    arguments.add_argument("--device", default="auto")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    rows = [json.loads(line)["desc"] for line in options.file.read_text(encoding="utf-8").splitlines()]
    texts = random.Random(1).sample(rows, min(options.texts, len(rows)))
    facts = measure(
        texts, options.model, sentences.Setup(device=options.device, threads=options.threads), options.rounds
    )
    print(json.dumps({**facts, **machine()}) if options.json else "\n".join(f"{k}: {v}" for k, v in facts.items()))


def measure(texts: list[str], model: str, setup: sentences.Setup, rounds: int) -> dict[str, object]:
    import torch

    sentences.encode(texts[:WARM], model=model, setup=setup)
    found = sentences.find(model, pooling=setup.pooling)
    loaded, batch = sentences._load(model, found.folder, found.pooling, setup.device, setup.threads)
    alone, ours, alone_cpu, ours_cpu = [], [], [], []
    for _ in range(rounds):
        started, began = time.perf_counter(), time.process_time()
        theirs = loaded.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False)
        between, halfway = time.perf_counter(), time.process_time()
        vectors = sentences.encode(texts, model=model, setup=setup)
        alone.append(between - started)
        ours.append(time.perf_counter() - between)
        alone_cpu.append(halfway - began)
        ours_cpu.append(time.process_time() - halfway)
    return {
        "model": model,
        "version": found.version,
        "device": str(loaded.device),
        "threads": torch.get_num_threads(),
        "texts": len(texts),
        "rounds": rounds,
        "alone_s": [round(value, 2) for value in alone],
        "ours_s": [round(value, 2) for value in ours],
        "texts_per_second": round(rounds * len(texts) / sum(ours)),
        "ratio": round(sum(ours) / sum(alone), 3),
        "cpu_ratio": round(sum(ours_cpu) / sum(alone_cpu), 3),
        "ratios": [round(second / first, 3) for first, second in zip(alone, ours, strict=True)],
        "largest_difference": float(np.abs(vectors - theirs).max()),
    }


if __name__ == "__main__":
    main()
