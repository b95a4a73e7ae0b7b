"""Embeds texts as the site does, without and with its database, beside ``SentenceTransformer.encode`` alone.

.venv/bin/python benchmarks/embedding.py FILE.jsonl [--texts 2000] [--rounds 5] [--threads 1] [--model NAME]
    [--device auto] [--json]

FILE: an annotation file of TVR (field "desc"). The ways take turns on the same texts and threads, so that they see the
same machine; the model is loaded once, before. ``alone``: the library. ``ours``: ``sentences.encode``. ``stored``:
``vectors_of``, which also writes each vector to a PostgreSQL of its own and reads it back; ``known_s`` is what it takes
once they are stored. Ratios are the time of all rounds over that of all rounds alone; those of processor time (the
database's is not in it) are disturbed less by other work on the machine.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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
    setup = sentences.Setup(device=options.device, threads=options.threads)
    with own_database(options.model, setup):
        facts = measure(texts, options.model, setup, options.rounds)
    print(json.dumps({**facts, **machine()}) if options.json else "\n".join(f"{k}: {v}" for k, v in facts.items()))


@contextmanager
def own_database(model: str, setup: sentences.Setup) -> Iterator[None]:
    """The site's settings and an empty PostgreSQL of its own, in a folder that goes at the end."""
    with TemporaryDirectory(prefix="momentjudge-benchmark-") as var:
        told = {"MOMENTJUDGE_VAR": var, "SENTENCE_MODEL": model, "SENTENCE_DEVICE": setup.device}
        os.environ.update(told, SENTENCE_THREADS=str(setup.threads), DJANGO_SETTINGS_MODULE="config.settings.local")
        os.environ.pop("DATABASE_URL", None)  # would be somebody else's data
        import django
        from django.core.management import call_command
        from django.db import connection

        from core.embedded import hold_database

        with hold_database(Path(var)):
            django.setup()
            call_command("migrate", verbosity=0, interactive=False)
            yield
            connection.close()


class Turns:
    """What one way took, round by round."""

    def __init__(self, way: Callable[[], Any]) -> None:
        self.way, self.seconds, self.cpu = way, list[float](), list[float]()

    def take(self) -> Any:
        started, began = time.perf_counter(), time.process_time()
        made = self.way()
        self.seconds.append(time.perf_counter() - started)
        self.cpu.append(time.process_time() - began)
        return made

    def beside(self, alone: "Turns") -> dict[str, object]:
        pairs = zip(alone.seconds, self.seconds, strict=True)
        return {
            "ratio": round(sum(self.seconds) / sum(alone.seconds), 3),
            "cpu_ratio": round(sum(self.cpu) / sum(alone.cpu), 3),
            "ratios": [round(second / first, 3) for first, second in pairs],
        }


def measure(texts: list[str], model: str, setup: sentences.Setup, rounds: int) -> dict[str, object]:
    import torch

    from annotation.models import TextVector
    from annotation.pools.services.candidates import vectors_of

    sentences.encode(texts[:WARM], model=model, setup=setup)
    found = sentences.find(model, pooling=setup.pooling)
    loaded, batch = sentences._load(model, found.folder, found.pooling, setup.device, setup.threads)
    alone = Turns(lambda: loaded.encode(texts, batch_size=batch, normalize_embeddings=True, show_progress_bar=False))
    ours = Turns(lambda: sentences.encode(texts, model=model, setup=setup))
    stored, known = (Turns(lambda: vectors_of(texts, model=model)) for _ in range(2))
    for _ in range(rounds):
        theirs, vectors = alone.take(), ours.take()
        TextVector.objects.all().delete()
        assert np.array_equal(stored.take(), known.take())
    return {
        "model": model,
        "version": found.version,
        "device": str(loaded.device),
        "threads": torch.get_num_threads(),
        "texts": len(texts),
        "rounds": rounds,
        **{
            f"{name}_s": [round(value, 3) for value in turns.seconds]
            for name, turns in {"alone": alone, "ours": ours, "stored": stored, "known": known}.items()
        },
        "texts_per_second": round(rounds * len(texts) / sum(ours.seconds)),
        **ours.beside(alone),
        **{f"stored_{name}": value for name, value in stored.beside(alone).items()},
        "largest_difference": float(np.abs(vectors - theirs).max()),
    }


if __name__ == "__main__":
    main()
