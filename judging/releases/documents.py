"""README.md and datasheet.md of a release, with the counts they state.

Their texts are the templates beside the pages of releases. The datasheet follows Datasheets for Datasets (Gebru et al.
2021, arXiv:1803.09010). What people wrote is escaped: a viewer that runs HTML must find none of theirs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Count, Max
from django.template.loader import render_to_string

from annotation.models import Moment, Video
from annotation.pools.rules import strata_listed
from judging.models import BatchReview, Pair, Release
from judging.projects.selectors import released_edits
from judging.releases import layout
from judging.releases.selectors import STATES, Scope, described_in_train, facts_of


def counts_of(scope: Scope) -> dict[str, Any]:
    """Counts that are the same in every release of the same state; others are in the manifest only."""
    pairs = Pair.objects.filter(batch__query__in=scope.among).order_by()
    by_state = dict(pairs.order_by("state").values_list("state").annotate(n=Count("pk")))
    relevance = pairs.filter(state=Pair.State.SETTLED).order_by("relevance").values_list("relevance")
    facts = facts_of(scope.keys)
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
        **{name: getattr(facts, name) for name in ("judgments", "simulated_judgments", "annotators")},
        "videos": Video.objects.filter(corpus=corpus, corpus__is_placeholder=False).count(),
        "moments": moments.count(),
    }


def manifest_facts(release: Release, scope: Scope, counts: dict[str, Any]) -> dict[str, Any]:
    """Describe the release. Its number and the time of its making are in its row alone: one state is one archive."""
    facts = facts_of(scope.keys)
    reviews = BatchReview.objects.filter(batch__query__in=scope.among)
    decided = reviews.aggregate(last=Max("decided_at"))["last"]
    days = [time.date().isoformat() if time else None for time in (facts.judged_from, facts.judged_to, decided)]
    return {
        "project": scope.project.name,
        "as_of": max(filter(None, days), default=scope.project.created_at.date().isoformat()),
        "judged_from": days[0],
        "judged_to": days[1],
        "sentence_model": settings.SENTENCE_MODEL,
        "similarities": [
            {name: getattr(row, name) for name in ("name", "model", "version", "normalisation")}
            for row in scope.measures.values()
        ],
        "includes_pilot": release.includes_pilot,
        "anonymised": release.is_anonymised,
        "partial": scope.is_partial,
        **({"strata": strata_listed(scope.project.strata)} if scope.project.strata else {}),
        "pools": [
            {
                "opened_at": row.opened_at.isoformat() if row.opened_at else None,
                "sources": [source.name for source in row.sources.all()],
                **{name: getattr(row, name) for name in ("depth", "iou_min", "pairs")},
            }
            for row in scope.pools.values()
        ],
        "counts": {**counts, **released_edits(scope.project, scope.keys), **described_in_train(scope.project)},
    }


Facts = Mapping[str, Any]
UNSPECIFIED, UNKNOWN = "*Not said yet.*", "not known"
SPECIAL = re.compile(r"([\\`*_\[\]<>|&])")
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # shown as text in what people wrote


def plain_line(text: str) -> str:
    """Return the text as one line of plain text, for a heading or a cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def description_of(name: str) -> str:
    """Describe a file's content in a few words; empty where it is not known."""
    if name.startswith("guideline-v"):
        return f"the guideline, version {name.removeprefix('guideline-v').removesuffix('.md')}"
    return str(layout.TEXTS["files"].get(name, ""))


def readme(settings: Facts, counts: Facts, names: Iterable[str]) -> str:
    context = {
        "title": plain_line(settings["words"]["title"] or settings["project"]),
        "queries": _counted(counts["queries"], "judged query", "judged queries"),
        "pairs": _counted(sum(counts["pairs"].values()), "pair"),
        "judgments": _counted(counts["judgments"], "judgment"),
        "files": [(name, description_of(name)) for name in sorted(names)],
        "is_partial": counts["queries_unfinished"],
        "is_imported": settings["corpus"]["placeholder"],
    }
    return render_to_string("judging/releases/readme.md", context)


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def datasheet(settings: Facts, counts: Facts) -> str:
    """Return the datasheet of a release, from what settings.json says and what was counted."""
    team = dict(settings["words"])
    for name in ("url", "licence_url"):
        team[name] = team[name] and f"<{team[name]}>"
    team["licence"] = " ".join(filter(None, (team["licence"], team["licence_url"])))
    rates = sorted({(policy["pay_rate"], policy["pay_currency"]) for policy in settings["policies"]})
    grades = range(settings["consensus"]["highest_grade"], -1, -1)
    relevance = [(grade, counts["relevance"].get(str(grade), 0)) for grade in grades]
    missing = [(STATES[state], n) for state, n in counts["missing"].items()]
    judged_under = [
        (f"version {row['guideline']}" if row["guideline"] else UNKNOWN, row["policy"] or UNKNOWN, row["judgments"])
        for row in settings["judged_under"]
    ]
    is_paid = counts["judgments"] and any(row["policy"] for row in settings["judged_under"])
    context = {
        "title": plain_line(settings["words"]["title"] or settings["project"]),
        "words": {name: TAG.sub("&lt;", text) or UNSPECIFIED for name, text in team.items()},
        "settings": settings,
        "consensus": settings["consensus"],
        "batch": settings["pooling"]["batch"],
        "has_second_batch": settings["pooling"]["batches"] > 1,
        "strata": settings["pooling"].get("strata", []),
        "is_imported": settings["corpus"]["placeholder"],  # the pairs came from a file alone, without moments
        "counts_table": _counts_table(settings, counts),
        "relevance_table": _table(("relevance", "settled pairs"), relevance),
        "missing_table": _table(("queries that are not in it", "how many"), missing) if missing else "",
        "judged_under": counts["judgments"] and _table(("guideline", "policy", "judgments"), judged_under),
        "seed": str(settings["draw"].get("seed")) if settings["draw"] else "",
        "rates": ", ".join(f"{rate} {currency} an hour" for rate, currency in rates) if is_paid else "",
        "similarities": ", ".join(f"{row['name']} ({row['version']})" for row in settings["similarities"]),
    }
    return render_to_string("judging/releases/datasheet.md", context)


def _counts_table(settings: Facts, counts: Facts) -> str:
    rows = [
        *((name, counts[name]) for name in ("videos", "moments")),
        *((f"queries of the split {split}", n) for split, n in settings["splits"].items()),
        ("queries judged", counts["queries"]),
        ("queries of the same text, which share their relevance", counts["twins"]),
        *((f"pairs {state}", n) for state, n in sorted(counts["pairs"].items())),
        ("judgments", counts["judgments"]),
        ("of these, given by programs", counts["simulated_judgments"]),
        ("annotators", counts["annotators"]),
    ]
    return _table(("what", "how many"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|").replace("\n", " ")
