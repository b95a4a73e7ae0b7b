"""Score a run on a release with ir_measures, over the very moments of its qrels.

MOMENTJUDGE_TOKEN=mj_... python docs/examples/score_release.py http://127.0.0.1:8000 UUID-OF-THE-PROJECT run.json
python docs/examples/score_release.py release-1/ run.json

The first form fetches the newest release of the project. The run is in the form of the published baselines: a list of
{query_id, relevant_moment: [{video_name, timestamp}, ...]}.
"""

import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import ir_measures
from ir_measures import RR, R, nDCG

from moment_retrieval.client import Client


def fetch(client, project, folder):
    """The folder of the newest release that is ready, fetched into ``folder``."""
    row = next(row for row in client.releases(project) if row["state"] == "ready")
    target = Path(folder) / f"release-{row['version']}"
    with ZipFile(client.release_zip(row["uuid"], f"{target}.zip")) as archive:
        archive.extractall(target)
    return target


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
    *where, run = sys.argv[1:]
    folder = where[0] if len(where) == 1 else fetch(Client(where[0], os.environ["MOMENTJUDGE_TOKEN"]), where[1], ".")
    with open(run, encoding="utf-8") as file:
        for measure, value in scored(folder, json.load(file)).items():
            print(f"{measure}\t{value:.4f}")
