"""settings.json and the guideline: by which rules and versions the data came to be."""

from collections import Counter
from pathlib import Path
from typing import Any

from django.forms.models import model_to_dict

from accounts.models import Project
from annotation.models import Pooling, Query
from annotation.pools.rules import pooling
from annotation.queries.selectors import DRAWS
from core.models import AuditEvent
from judging.guidelines.models import POLICY_VALUES
from judging.models import SEATS, WORDS, Guideline, Policy, ReleaseWords
from judging.releases.judged import measures_used, pairs_of_pools, pools_used
from judging.releases.judgments import versions_of
from judging.releases.layout import SETTINGS, guideline_file, write_json
from judging.releases.scope import Scope
from judging.work import rules

IMPORT = "release.import"  # the event that says what an imported release was made of


def write_settings(scope: Scope, folder: Path) -> dict[str, Any]:
    """Write settings.json and the text of every version of the guideline; what settings.json says."""
    told = settings_of(scope)
    write_json(folder / SETTINGS, told)
    for guideline in Guideline.objects.filter(project=scope.project):
        path = folder / guideline_file(guideline.version)
        path.write_text(guideline.body, encoding="utf-8", newline="")
    return told


def settings_of(scope: Scope) -> dict[str, Any]:
    project = scope.project
    versions = versions_of(scope.keys)
    return {
        "project": project.name,
        "corpus": {"name": project.dataset.corpus.name, "placeholder": project.dataset.corpus.is_placeholder},
        "similarity": project.dataset.similarity,
        "includes_pilot": scope.includes_pilot,
        "anonymised": scope.is_anonymised,
        "consensus": {
            "judgments_per_round": len(SEATS),
            "rounds": 2,
            "largest_spread": rules.MAX_SPREAD,
            "second_round": "of four grades one highest and one lowest are set aside",
            "relevance": "mean of the deciding grades, rounded up",
            "otherwise": "dropped",
        },
        "pooling": {"batch": pooling.BATCH_SIZE, "batches": pooling.BATCHES, "depth": pooling.DEPTH},
        "similarities": [
            {"number": number, "name": row.name, "model": row.model, "version": row.version}
            | {"normalisation": row.normalisation}
            for number, row in enumerate(measures_used(scope), start=1)
        ],
        "pools": [_pool(number, row, pairs_of_pools(scope)) for number, row in enumerate(pools_used(scope), start=1)],
        "query_sets": list(project.query_sets.order_by("pk").values("name", "priority", "is_paused", "is_pilot")),
        "splits": _splits(project),
        "draw": draw_of(project),
        "guidelines": _guidelines(project, versions),
        "policies": _policies(project, versions),
        "judged_under": [{"guideline": g, "policy": p, "judgments": n} for g, p, n in versions],
        "words": words_of(project),
    }


def words_of(project: Project) -> dict[str, str]:
    held = ReleaseWords.objects.filter(project=project).first() or ReleaseWords()
    return {name: getattr(held, name) for name in WORDS}


def draw_of(project: Project) -> dict[str, Any] | None:
    """Sizes, seed and counts of the draw that gave the splits; null where queries came another way."""
    last = AuditEvent.objects.filter(project=project, action__in=[*DRAWS, IMPORT]).order_by("-pk").first()
    if last is None:
        return None
    drawn: dict[str, Any] | None = last.data.get("draw") if last.action == IMPORT else last.data
    return drawn


def _pool(number: int, row: Pooling, pairs: dict[int, int]) -> dict[str, Any]:
    return {
        "number": number,
        "sources": [{"name": source.name, "other_queries": source.other_queries} for source in row.sources.all()],
        "depth": row.depth,
        "iou_min": row.iou_min,
        "split": row.split,
        "query_set": row.query_set.name if row.query_set else None,
        "seed": row.seed,
        "others": row.others,
        "pairs": pairs.get(row.pk, 0),
    }


def _splits(project: Project) -> dict[str, int]:
    counts = Counter(Query.objects.filter(project=project, is_placeholder=False).values_list("split", flat=True))
    return {split: counts[split] for split in Query.Split.values}


def _guidelines(project: Project, versions: list[tuple[int | None, int | None, int]]) -> list[dict[str, Any]]:
    rows = Guideline.objects.filter(project=project).order_by("version")
    return [
        {
            "version": row.version,
            "file": guideline_file(row.version),
            "judgments": sum(n for guideline, _, n in versions if guideline == row.version),
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


def _policies(project: Project, versions: list[tuple[int | None, int | None, int]]) -> list[dict[str, Any]]:
    rows = Policy.objects.filter(project=project).order_by("version")
    return [
        {
            "version": row.version,
            "judgments": sum(n for _, policy, n in versions if policy == row.version),
            **{name: _plain(value) for name, value in model_to_dict(row, POLICY_VALUES).items()},
        }
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else str(value)  # an amount of money, to the cent
