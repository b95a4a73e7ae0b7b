"""Rewrites the video-only descriptions of a TVR annotation file by the rules, and says how many a second.

.venv/bin/python benchmarks/rewriting.py FILE.jsonl [--rounds 5] [--json]   one core; the best and the worst round
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from annotation.captions.rewriting.lexicon import lexicon_for
from annotation.captions.rewriting.rules import rewrite
from benchmarks.machine import machine


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    rows = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines()]
    work = [(row["desc"], row["vid_name"]) for row in rows if row["type"] == "v"]
    rates = [len(work) / _seconds(work) for _ in range(options.rounds)]
    facts = {
        "descriptions": len(work),
        "per_second_first": round(rates[0]),  # with the lexicons being read
        "per_second_worst": round(min(rates)),
        "per_second_best": round(max(rates)),
        **machine(),
    }
    print(json.dumps(facts) if options.json else "\n".join(f"{name}: {value}" for name, value in facts.items()))


def _seconds(work: list[tuple[str, str]]) -> float:
    started = time.perf_counter()
    for description, video in work:
        rewrite(description, lexicon_for(video=video))
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
