"""README.md of an archive: what each file is, and how to load it. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from judging.releases import layout
from judging.releases.facts import plain_line

ABOUT = {
    layout.README: "this file",
    layout.DATASHEET: "what the data is, how it came to be, what it may be used for",
    layout.SETTINGS: "rules, versions, similarities, pools, splits and seeds, in numbers",
    layout.JUDGED_SPLITS["val"]: "ground truth of the validation queries, in the published form",
    layout.JUDGED_SPLITS["test"]: "ground truth of the test queries, in the published form",
    layout.VIDEO_CORPUS: "videos in the published form: name to [seconds, index]",
    layout.RAW: "single grades in the published form: pair, annotator number, grade",
    layout.QRELS: "settled pairs as TREC qrels",
    layout.PAIRS: "every pair with its moment, rank, state and relevance",
    layout.JUDGMENTS: "single grades with round, seat, position, guideline and policy version",
    layout.QUERIES: "every query with its split",
    layout.CANDIDATES: "the ranking that was judged from, with similarities",
    layout.BATCHES: "batches and rounds of each query, and the decision about its second batch",
    layout.MISSING: "queries to judge that are not in this release, and how far they are",
    layout.VIDEOS: "videos, in the order of their import",
    layout.MOMENTS: "every moment with the captions that serve; one JSON object a line",
    layout.POOL_ANSWERS: "what pooled systems answered, counted",
    layout.POOL_ENTRIES: "which moments pooled systems returned",
    layout.CROISSANT: "the release described for programs (Croissant 1.0)",
    layout.MANIFEST: "day of the last grade or decision, counts, size and SHA-256 of the files",
    layout.SUMS: "checksums for `sha256sum -c SHA256SUMS`",
    **{
        name: f"pseudo training set: the {depth} most similar moments of each training query"
        for depth, name in layout.TRAIN_FILES.items()
    },
}
PARTIAL = "\n\n**Partial:** queries to judge are missing; see `missing.csv`."
NO_GROUND_TRUTH = (
    "\n\n**No ground truth:** the judgments were imported without videos and times of their moments, so no run can be "
    "scored on this release; `val.json`, `test.json` and `qrels.txt` are empty."
)
FORM = """\
Text is UTF-8, times are seconds, an empty cell stands for nothing. Files join on `pair_id` and `query_id`; a moment is
a video with start and end. Rows of training sets are not judged: their `pair_id` only numbers them.
"""
LOADING = """\
## Loading

Ground truth, as the code published with TVR-Ranking reads it: a list of queries, each with its moments. Put `val.json`,
`test.json`, `train_top20.json` and `video_corpus.json` where that code looks for its annotations.

```python
import json

queries = json.load(open("val.json", encoding="utf-8"))
rows = [
    (query["query_id"], moment["video_name"], *moment["timestamp"], moment["relevance"])
    for query in queries
    for moment in query["relevant_moment"]
]
```

[ir_measures](https://ir-measur.es), with a run of your own in TREC form (`query Q0 moment rank score name`):

```python
import ir_measures
from ir_measures import nDCG

qrels = list(ir_measures.read_trec_qrels("qrels.txt"))
run = list(ir_measures.read_trec_run("run.txt"))
print(ir_measures.calc_aggregate([nDCG @ 20], qrels, run))
```

[ranx](https://amenra.github.io/ranx) reads the same files:

```
from ranx import Qrels, Run, evaluate

print(evaluate(Qrels.from_file("qrels.txt", kind="trec"), Run.from_file("run.txt", kind="trec"), "ndcg@20"))
```

These measures ask for the very moment of the qrels; NDCG@K,IoU≥μ, which lets overlapping moments count, is computed by
MomentJudge, for each split with a run of the queries of that split alone:

```bash
python -m moment_retrieval score RUN --ground-truth val.json
```
"""
BACK = "The whole release goes back into a site of its own by `manage.py import_release ARCHIVE`.\n"


def told_of(name: str) -> str:
    """What a file holds, in a few words; nothing where it is not known."""
    if name.startswith("guideline-v"):
        return f"the guideline, version {name.removeprefix('guideline-v').removesuffix('.md')}"
    return ABOUT.get(name, "")


def readme(settings: Mapping[str, Any], counts: Mapping[str, Any], names: Iterable[str]) -> str:
    imported = settings["corpus"]["placeholder"]
    remarks = (PARTIAL if counts["queries_unfinished"] else "") + (NO_GROUND_TRUTH if imported else "")
    pairs = sum(counts["pairs"].values())
    return (
        f"# {plain_line(settings['words']['title'] or settings['project'])}\n\n"
        f"{_counted(counts['queries'], 'judged query', 'judged queries')}, {_counted(pairs, 'pair')}, "
        f"{_counted(counts['judgments'], 'judgment')}.{remarks}\n\n"
        "## Files\n\n| file | holds |\n|---|---|\n"
        + "".join(f"| `{name}` | {told_of(name)} |\n" for name in sorted(names))
        + f"\n{FORM}\n"
        + ("" if imported else f"{LOADING}\n")
        + BACK
    )


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
