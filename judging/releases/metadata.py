"""croissant.json (Croissant 1.0), settings.json and the guideline: how to read the data and how it was made."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.forms.models import model_to_dict

from accounts.models import Project
from annotation.models import Query, Topic
from annotation.pools import rules as pool_rules
from annotation.pools.services.new_moments import pools_of_moments
from annotation.queries.selectors import DRAWS
from core.models import AuditEvent
from judging.guidelines.models import POLICY_VALUES, PUBLISHED
from judging.models import WORDS, Guideline, Policy, ReleaseWords
from judging.releases.layout import COLUMNS, JUDGMENTS, PAIRS, QRELS, QUERIES, SETTINGS, guideline_file, write_json
from judging.releases.selectors import Scope, versions_of

CONTEXT = json.loads(Path(__file__).with_name("croissant_context.json").read_text(encoding="utf-8"))
TYPES = {
    "json": "application/json",
    "jsonl": "application/jsonlines",
    "csv": "text/csv",
    "md": "text/markdown",
    "txt": "text/plain",
}
WHOLE, REAL, TEXT = "sc:Integer", "sc:Float", "sc:Text"
KINDS = {
    **dict.fromkeys(
        ("pair_id", "query_id", "rank", "relevance", "batch", "worker", "round", "seat", "position"), WHOLE
    ),
    **dict.fromkeys(("guideline", "policy", "judged_as", "caption"), WHOLE),
    **dict.fromkeys(("start", "end", "similarity"), REAL),
}
QREL = ("query_id", "iteration", "moment", "relevance")
RECORDS = {
    "pairs": (PAIRS, "Every pair: a query with a moment, its state and its relevance.", ["pair_id"]),
    "judgments": (JUDGMENTS, "Every single grade, by annotator number.", ["pair_id", "round", "seat"]),
    "queries": (QUERIES, "Every query with its split.", ["query_id"]),
}


def croissant(
    manifest: Mapping[str, Any], settings: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the description; ``settings`` is what settings.json holds, ``files`` size and SHA-256 of each by name."""
    words = settings["words"]
    about = {
        "name": words["title"] or manifest["project"],
        "description": words["description"] or _description(manifest, settings["consensus"]),
        "version": f"0.0.0+{manifest['content_sha256'][:12]}",
        "datePublished": manifest["as_of"],
        "license": words["licence_url"] or words["licence"],
        "url": words["url"],
        "citeAs": words["citation"],
        "creator": {"@type": "sc:Organization", "name": words["creators"]} if words["creators"] else None,
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **{name: value for name, value in about.items() if value},
        "distribution": [_file(name, files[name]) for name in sorted(files)],
        "recordSet": [*(_table(name, *record) for name, record in RECORDS.items()), _qrels()],
    }


def _description(manifest: Mapping[str, Any], consensus: Mapping[str, Any]) -> str:
    counts = manifest["counts"]
    return (
        f"Queries and video moments with their relevance from 0 to {consensus['highest_grade']}: "
        f"{sum(counts['pairs'].values()):,} pairs of {counts['queries']:,} queries, {counts['judgments']:,} judgments."
    )


def _file(name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{facts['bytes']} B",
        "encodingFormat": TYPES.get(name.rsplit(".", 1)[-1], "text/plain"),
        "sha256": facts["sha256"],
    }


def _table(name: str, file: str, description: str, key: list[str]) -> dict[str, Any]:
    fields = []
    for column in COLUMNS[file]:
        source = {"fileObject": {"@id": file}, "extract": {"column": column}}
        fields.append(_field(f"{name}/{column}", KINDS.get(column, TEXT), source))
    return {
        **{"@type": "cr:RecordSet", "@id": name, "name": name, "description": description},
        **{"key": [{"@id": f"{name}/{column}"} for column in key], "field": fields},
    }


def _qrels() -> dict[str, Any]:
    """Lines without a head: each cell is taken out by its position."""
    fields = []
    for column in QREL:
        regex = r"^" + r" ".join(r"(\S+)" if other == column else r"\S+" for other in QREL)
        source = {"fileObject": {"@id": QRELS}, "extract": {"fileProperty": "lines"}, "transform": {"regex": regex}}
        fields.append(_field(f"qrels/{column}", TEXT if column == "moment" else WHOLE, source))
    return {
        "@type": "cr:RecordSet",
        "@id": "qrels",
        "name": "qrels",
        "description": "Settled pairs as TREC qrels; a moment is video:start-end, blanks and % percent-encoded.",
        "field": fields,
    }


def _field(name: str, kind: str, source: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": name, "name": name.partition("/")[2], "dataType": kind, "source": source}


SECOND_ROUNDS = {  # by the judges of a round
    2: "of four grades one highest and one lowest are set aside",
    3: "of six grades one highest and one lowest are set aside",
}
IMPORT = "release.import"  # the event that says what an imported release was made of


def write_settings(scope: Scope, folder: Path) -> dict[str, Any]:
    """Write settings.json and the text of every version of the guideline; what settings.json says."""
    described = settings_of(scope)
    write_json(folder / SETTINGS, described)
    for guideline in Guideline.objects.filter(project=scope.project):
        path = folder / guideline_file(guideline.version)
        path.write_text(guideline.body, encoding="utf-8", newline="")
    return described


def settings_of(scope: Scope) -> dict[str, Any]:
    project = scope.project
    versions = versions_of(scope.keys)
    splits = Counter(Query.objects.filter(project=project, is_placeholder=False).values_list("split", flat=True))
    return {
        "project": project.name,
        "corpus": {"name": project.dataset.corpus.name, "placeholder": project.dataset.corpus.is_placeholder},
        "similarity": project.dataset.similarity,
        "includes_pilot": scope.includes_pilot,
        "anonymised": scope.is_anonymised,
        "consensus": {
            "highest_grade": project.top_grade,
            "judgments_per_round": project.judges,
            "rounds": project.max_rounds,
            "largest_spread": project.max_spread,
            "second_round": SECOND_ROUNDS[project.judges] if project.max_rounds == 2 else "none",
            "relevance": "mean of the deciding grades, rounded up",
            "otherwise": "dropped",
        },
        "pooling": {
            "batch": project.batch_size,
            "batches": 1 + project.has_second_batch,
            "depth": pool_rules.depth_of(project.batch_size, pool_rules.strata_of(project.strata)),
            **({"strata": pool_rules.strata_listed(project.strata)} if project.strata else {}),
        },
        "similarities": [
            {"number": number, "name": row.name, "model": row.model, "version": row.version}
            | {"normalisation": row.normalisation}
            for number, row in scope.measures.items()
        ],
        "pools": [_pool(number, row) for number, row in scope.pools.items()],
        "query_sets": list(project.query_sets.order_by("pk").values("name", "priority", "is_paused", "is_pilot")),
        **({"moments_from_runs": n_new} if (n_new := len(pools_of_moments(project.dataset.corpus_id))) else {}),
        **({"topics": n_topics} if (n_topics := Topic.objects.filter(query__project=project).count()) else {}),
        "splits": {split: splits[split] for split in Query.Split.values},
        "draw": draw_of(project),
        "guidelines": _guidelines(project, versions),
        "policies": _policies(project, versions),
        "judged_under": [row._asdict() for row in versions],
        "words": model_to_dict(ReleaseWords.objects.filter(project=project).first() or ReleaseWords(), WORDS),
    }


def draw_of(project: Project) -> dict[str, Any] | None:
    """Sizes, seed and counts of the draw that gave the splits; null where queries came another way."""
    last = AuditEvent.objects.filter(project=project, action__in=[*DRAWS, IMPORT]).order_by("-pk").first()
    if last is None:
        return None
    draw: dict[str, Any] | None = last.data.get("draw") if last.action == IMPORT else last.data
    return draw


def _pool(number: int, row: Any) -> dict[str, Any]:
    return {
        "number": number,
        "sources": [{"name": source.name, "other_queries": source.other_queries} for source in row.sources.all()],
        **{name: getattr(row, name) for name in ("depth", "iou_min", "split")},
        **({"makes_moments": True} if row.makes_moments else {}),
        "query_set": row.query_set.name if row.query_set else None,
        **{name: getattr(row, name) for name in ("seed", "others", "pairs")},
    }


def _guidelines(project: Project, versions: list[Any]) -> list[dict[str, Any]]:
    rows = Guideline.objects.filter(project=project).order_by("version")
    return [
        {
            "version": row.version,
            "file": guideline_file(row.version),
            "judgments": sum(under.judgments for under in versions if under.guideline == row.version),
            "levels": row.levels,
            "changes": row.changes,
            "examples": [
                {"grade": e.grade, "query": e.query_text, "video_name": e.moment.video.name}
                | {"start": e.moment.start_s, "end": e.moment.end_s}
                for e in row.examples.select_related("moment__video").order_by("-grade")
            ],
        }
        for row in rows
    ]


def _policies(project: Project, versions: list[Any]) -> list[dict[str, Any]]:
    rows = Policy.objects.filter(project=project).order_by("version")
    return [
        {
            "version": row.version,
            "judgments": sum(under.judgments for under in versions if under.policy == row.version),
            **{PUBLISHED.get(name, name): _plain(value) for name, value in model_to_dict(row, POLICY_VALUES).items()},
        }
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else str(value)  # an amount of money, to the cent
