"""README.md and datasheet.md of a release, with the counts they state.

The datasheet follows Datasheets for Datasets (Gebru et al. 2021, arXiv:1803.09010). What people wrote is escaped: a
viewer that runs HTML must find none of theirs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Count, Max

from annotation.models import Moment, Pooling, Video
from judging.models import BatchReview, Pair, Release
from judging.projects.selectors import released_edits
from judging.releases import layout
from judging.releases.selectors import (
    STATES,
    Scope,
    described_in_train,
    facts_of,
    measures_used,
    pairs_of_pools,
    pools_used,
)


def counts_of(scope: Scope) -> dict[str, Any]:
    """Counts that are the same in every release of the same state; others are told in the manifest only."""
    pairs = Pair.objects.filter(batch__query__in=scope.among).order_by()
    by_state = dict(pairs.order_by("state").values_list("state").annotate(n=Count("pk")))
    relevance = pairs.filter(state=Pair.State.SETTLED).order_by("relevance").values_list("relevance")
    given = facts_of(scope.keys)
    corpus = scope.project.dataset.corpus
    moments = Moment.objects.filter(video__corpus=corpus, video__corpus__is_placeholder=False)
    unfinished = [query for query in scope.missing if query.state != "pilot"]
    return {
        "queries": len(scope.own),
        "twins": len(scope.listed) - len(scope.own),
        "queries_unfinished": len(unfinished),
        "queries_pilot": len(scope.missing) - len(unfinished),
        "missing": scope.missing_by_state,
        "pairs": by_state,
        "relevance": {str(value): n for value, n in relevance.annotate(n=Count("pk"))},
        **{name: given[name] for name in ("judgments", "simulated_judgments", "annotators")},
        "videos": Video.objects.filter(corpus=corpus, corpus__is_placeholder=False).count(),
        "moments": moments.count(),
    }


def manifest_facts(release: Release, scope: Scope, counts: dict[str, Any]) -> dict[str, Any]:
    """What the release is. Its number and the time of its making are in its row alone: one state is one archive."""
    captions_edited, query_captions_edited = released_edits(scope.project, scope.keys)
    edits = {"captions_edited": captions_edited, "query_captions_edited": query_captions_edited}
    given = facts_of(scope.keys)
    reviews = BatchReview.objects.filter(batch__query__in=scope.among)
    decided = reviews.aggregate(last=Max("decided_at"))["last"]
    days = [given["judged_to"], decided.date().isoformat() if decided else None]
    return {
        "project": scope.project.name,
        "as_of": max(filter(None, days), default=scope.project.created_at.date().isoformat()),
        "judged_from": given["judged_from"],
        "judged_to": given["judged_to"],
        "sentence_model": settings.SENTENCE_MODEL,
        "similarities": [
            {name: getattr(row, name) for name in ("name", "model", "version", "normalisation")}
            for row in measures_used(scope)
        ],
        "includes_pilot": release.includes_pilot,
        "anonymised": release.is_anonymised,
        "partial": scope.is_partial,
        "pools": [_pool(row, pairs_of_pools(scope)) for row in pools_used(scope)],
        "counts": {**counts, **edits, **described_in_train(scope.project)},
    }


def _pool(row: Pooling, pairs: dict[int, int]) -> dict[str, Any]:
    return {
        "opened_at": row.opened_at.isoformat() if row.opened_at else None,
        "sources": [source.name for source in row.sources.all()],
        "depth": row.depth,
        "iou_min": row.iou_min,
        "pairs": pairs.get(row.pk, 0),
    }


SPECIAL = re.compile(r"([\\`*_\[\]<>|&])")
TAG = re.compile(r"<(?=[A-Za-z/!?])")


def plain_line(text: str) -> str:
    """Return the text as one line of plain text, for a heading or a cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """Return the paragraphs as their author formatted them, with HTML tags shown as text."""
    return TAG.sub("&lt;", text)


ABOUT = {
    layout.README: "what each file holds, its columns, and how they join",
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
NO_GROUND_TRUTH_REMARK = (
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
    imported = is_imported(settings)
    remarks = (PARTIAL if counts["queries_unfinished"] else "") + (NO_GROUND_TRUTH_REMARK if imported else "")
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


NOT_SAID = "*Not said yet.*"
PAIRS = (
    "An instance is a pair: a query (a sentence) with a moment (a video with start and end in seconds), and its "
    "relevance from 0 to 4. Videos themselves are not in it."
)
IMPORTED_PAIRS = (
    "An instance is an imported pair of a query with a moment, and its relevance from 0 to 4. Which video and which "
    "seconds the moment is, is not known here."
)
NAMES = (
    "**Does it name people?** Annotators are numbers{drawn}. Names, e-mail addresses, comments, times of grades "
    "and free words of leads are in no file."
)
DRAWN = ", drawn at random for this release alone"
GRADES = "Single grades are in it (`raw_annotation.csv`, `judgments.csv`), so another rule of consensus can be tried."
GROUND_TRUTH = (
    "It is made for ranked video moment retrieval: `val.json` and `test.json` are the ground truth, `train_top*.json` "
    "pseudo training sets by similarity that nobody judged."
)
NO_GROUND_TRUTH = (
    "It serves to study judgments and their agreement. **It has no ground truth that a run could be scored on:** "
    "videos and times of imported moments are not known, so `val.json`, `test.json` and `qrels.txt` are empty."
)
Facts = Mapping[str, Any]


def datasheet(settings: Facts, counts: Facts) -> str:
    """The datasheet of a release, from what settings.json says and what was counted."""
    words = settings["words"]
    parts = [
        f"# {plain_line(words['title'] or settings['project'])}: datasheet",
        "The questions are those of *Datasheets for Datasets*. Figures were counted when the release was made; "
        "`manifest.json` names the day of its last grade or decision, and the days on which grades were given.",
        _section("Motivation", _motivation(words)),
        _section("Composition", [*_composition(settings, counts), *_missing(counts)]),
        _section("Collection process", _collection(settings, counts)),
        _section("Preprocessing and labelling", _preprocessing(settings)),
        _section("Uses", _uses(settings)),
        _section("Distribution", _distribution(words)),
        _section("Maintenance", _maintenance(words)),
    ]
    return "\n\n".join(parts) + "\n"


def is_imported(settings: Facts) -> bool:
    """The pairs came from a file of judgments alone, without moments."""
    return bool(settings["corpus"]["placeholder"])


def _section(title: str, paragraphs: Sequence[str]) -> str:
    return "\n\n".join([f"## {title}", *paragraphs])


def _answer(question: str, words: str) -> str:
    return f"**{question}** {prose(words) or NOT_SAID}"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def _motivation(words: Facts) -> list[str]:
    return [
        _answer("What is it?", words["description"]),
        _answer("Why was it made?", words["motivation"]),
        _answer("Who made it?", words["creators"]),
        _answer("Who paid for it?", words["funding"]),
    ]


def _composition(settings: Facts, counts: Facts) -> list[str]:
    splits, pairs, relevance = settings["splits"], counts["pairs"], counts["relevance"]
    rows = [
        ("videos", counts["videos"]),
        ("moments", counts["moments"]),
        *((f"queries of the split {split}", n) for split, n in splits.items()),
        ("queries judged", counts["queries"]),
        ("queries of the same text, which share their relevance", counts["twins"]),
        *((f"pairs {state}", pairs[state]) for state in sorted(pairs)),
        ("judgments", counts["judgments"]),
        ("of these, given by programs", counts["simulated_judgments"]),
        ("annotators", counts["annotators"]),
    ]
    return [
        IMPORTED_PAIRS if is_imported(settings) else PAIRS,
        _table(("what", "how many"), rows),
        _table(("relevance", "settled pairs"), [(grade, relevance.get(str(grade), 0)) for grade in range(4, -1, -1)]),
        "Pairs without consensus have the state `dropped`, pairs that a lead took out `withdrawn`; neither has a "
        "relevance. Moments that no pair names were not judged, which does not mean that they are irrelevant.",
        NAMES.format(drawn=DRAWN if settings["anonymised"] else "")
        + (" Texts of queries are those of the imported file." if is_imported(settings) else ""),
    ]


def _missing(counts: Facts) -> list[str]:
    if not counts["missing"]:
        return ["**Is anything missing?** No: every query to judge is in it."]
    rows = [(STATES[state], n) for state, n in counts["missing"].items()]
    return [
        "**Is anything missing?** Yes; `missing.csv` lists these queries.",
        _table(("queries that are not in it", "how many"), rows),
    ]


def _collection(settings: Facts, counts: Facts) -> list[str]:
    paid = sorted({(policy["pay_rate"], policy["pay_currency"]) for policy in settings["policies"]})
    parts = [*(_imported(settings) if is_imported(settings) else _judged(settings)), _under(settings, counts)]
    if settings["draw"]:
        parts.append(f"The splits were drawn at random with the seed {settings['draw'].get('seed')}.")
    if counts["judgments"] and any(row["policy"] for row in settings["judged_under"]):
        parts.append("Policies set these rates of pay: " + ", ".join(f"{r} {c} an hour" for r, c in paid) + ".")
    return [*parts, _answer("What else is to be said of the collection?", settings["words"]["collection"])]


def _judged(settings: Facts) -> list[str]:
    consensus, pool = settings["consensus"], settings["pooling"]
    return [
        f"For each query the moments were ranked by the similarity of the query to their captions. The first "
        f"{pool['batch']} were judged; where a lead decided so, the next {pool['batch']} too. `batches.csv` has "
        "these decisions, `settings.json` the similarity, its version, and pools of systems' results, if any.",
        f"{consensus['judgments_per_round']} annotators graded each pair, without knowing its rank or each other's "
        f"grades. Grades at most {consensus['largest_spread']} apart settled it, and its relevance is their mean, "
        f"rounded up. Otherwise {consensus['judgments_per_round']} others graded it; {consensus['second_round']}, and "
        "the other two decided likewise. What was then still apart was dropped.",
    ]


def _imported(settings: Facts) -> list[str]:
    consensus = settings["consensus"]
    return [
        "The judgments were imported from a file. How they were collected is not known here: neither what chose the "
        "moments of a query, nor what annotators saw and knew, nor when they judged.",
        f"The relevance was computed from the imported grades. A pair has at most four; {consensus['second_round']}. "
        f"Two grades at most {consensus['largest_spread']} apart settled it, and its relevance is their mean, rounded "
        "up. Every other pair was dropped, also one with one or three grades.",
    ]


def _under(settings: Facts, counts: Facts) -> str:
    if not counts["judgments"]:
        return "Nothing was judged yet."
    rows = []
    for row in settings["judged_under"]:
        guideline = f"version {row['guideline']}" if row["guideline"] else "not known"
        rows.append((guideline, row["policy"] or "not known", row["judgments"]))
    return _table(("guideline", "policy", "judgments"), rows)


def _preprocessing(settings: Facts) -> list[str]:
    if is_imported(settings):
        return ["Texts of queries are as they were imported, if they came with texts; no similarity is known.", GRADES]
    names = ", ".join(f"{row['name']} ({row['version']})" for row in settings["similarities"])
    return [
        "Queries and captions are descriptions in which names of persons were replaced. `moments.jsonl` says of each "
        "caption what made it; descriptions as they were are not in it.",
        f"Similarities: {names}, rounded to 1e-6." if names else "No similarity was computed yet.",
        GRADES,
    ]


def _uses(settings: Facts) -> list[str]:
    words = settings["words"]
    return [
        NO_GROUND_TRUTH if is_imported(settings) else GROUND_TRUTH,
        _answer("What else can it be used for?", words["uses"]),
        _answer("What should it not be used for?", words["limits"]),
    ]


def _distribution(words: Facts) -> list[str]:
    licence = " ".join(filter(None, (words["licence"], words["licence_url"] and f"<{words['licence_url']}>")))
    return [
        _answer("How is it distributed?", words["distribution"]),
        _answer("Under which licence?", licence),
        _answer("Where is it?", words["url"] and f"<{words['url']}>"),
        _answer("How is it cited?", words["citation"]),
    ]


def _maintenance(words: Facts) -> list[str]:
    return [
        _answer("Who maintains it, and how?", words["maintenance"]),
        _answer("Who can be asked?", words["contact"]),
        "Releases are numbered and never changed; a correction is a new release.",
    ]
