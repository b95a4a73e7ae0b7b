"""Score a run on a release with ir_measures, over the very moments of its qrels.

python docs/examples/score_release.py release-1/ run.json

The run is in the form of the published baselines: a list of
{query_id, relevant_moment: [{video_name, timestamp}, ...]}.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import quote

import ir_measures
from ir_measures import RR, R, nDCG


def name_of(moment):
    """A moment as qrels.txt writes it."""
    start, end = moment["timestamp"]
    video = re.sub(r"[\s%]", lambda match: quote(match[0]), moment["video_name"])
    return f"{video}:{start!r}-{end!r}"


def scored(folder, queries):
    """Measures of a run; the earlier a moment comes in a query's list, the better it was found."""
    qrels = list(ir_measures.read_trec_qrels(str(Path(folder) / "qrels.txt")))
    run = [
        ir_measures.ScoredDoc(str(query["query_id"]), name_of(moment), -rank)
        for query in queries
        for rank, moment in enumerate(query["relevant_moment"])
    ]
    return ir_measures.calc_aggregate([nDCG @ 20, R(rel=3) @ 20, RR(rel=3)], qrels, run)


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        for measure, value in scored(sys.argv[1], json.load(file)).items():
            print(f"{measure}\t{value:.4f}")
