"""The tables of the papers over a release, beside what is published."""

from collections.abc import Sequence
from typing import NamedTuple

from django.http import Http404, HttpResponse
from django.shortcuts import render

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Project
from judging.models import Release
from models_runner.tables import files
from models_runner.tables import published_values as published
from models_runner.tables.selectors import CONVENTIONS, Cell, Line, Setting, Tables, tables, tables_asked

FORMS = {"csv": "text/csv", "tex": "application/x-tex"}


class Given(NamedTuple):
    """Ours and theirs at one mu."""

    cell: Cell
    published: float | None


class Row(NamedTuple):
    """One line of the main table; ``span`` lines share the setting that the first of them names."""

    setting: Setting | None
    span: int
    line: Line | None
    cells: Sequence[Given]


class SeedRow(NamedTuple):
    """One K of an experiment over its seeds, on validation and test; theirs beside it."""

    k: int
    cells: Sequence[tuple[Cell, published.Spread | None]]


@project_page(STAFF)
def benchmark_tables(request: MemberRequest, project: Project) -> HttpResponse:
    """Tables 5, 6 and 7 of the papers; the similarity upper bound."""
    asked = tables_asked(project, request.GET)
    if asked is None:
        return render(request, "models_runner/tables/tables.html", {"asked": None})
    found = tables(asked)
    context = {
        **{"asked": asked, "tables": found, "mus": published.MUS, "ks": published.KS, "facts": published},
        "releases": project.releases.filter(state=Release.State.READY),
        "conventions": CONVENTIONS,
        "splits": ("test", "val"),
        "rows": list(_rows(found)),
        "by_similarity": [Row(None, 1, line, _cells(found, None, line)) for line in found.by_similarity],
        "bounds": _bounds(found),
        "seeds": [(line, _seed_rows(found, line)) for line in found.chosen.lines],
        "columns": [(split, mu) for split in published.SPLITS for mu in published.MUS],
    }
    return render(request, "models_runner/tables/tables.html", context)


def _rows(found: Tables) -> list[Row]:
    rows = []
    for setting in found.settings:
        for place, line in enumerate(setting.shown):
            span = 0 if place else len(setting.shown)
            rows.append(Row(setting, span, line, _cells(found, setting, line)))
    return rows


def _cells(found: Tables, setting: Setting | None, line: Line | None) -> list[Given]:
    split, k = found.asked.split, found.asked.k
    return [
        Given(line.cell(split, k, mu) if line else Cell(), setting.published(split, k, mu) if setting else None)
        for mu in published.MUS
    ]


def _bounds(found: Tables) -> list[tuple[int, list[tuple[float | None, float]]]]:
    """For each K, the site's own run by similarity and the published values."""
    split = found.asked.split
    return [
        (k, [(found.similarity.get((split, k, mu)), given) for mu, given in zip(published.MUS, values, strict=True)])
        for k, values in published.SIMILARITY.items()
    ]


def _seed_rows(found: Tables, line: Line) -> list[SeedRow]:
    of = found.chosen
    places = [(split, mu) for split in published.SPLITS for mu in published.MUS]
    return [
        SeedRow(
            k,
            [
                (line.cell(split, k, mu), published.spread_of(of.baseline, of.top_n, k, mu, split))
                for split, mu in places
            ],
        )
        for k in published.KS
    ]


@project_page(STAFF)
def benchmark_tables_export(request: MemberRequest, project: Project, form: str) -> HttpResponse:
    """All that the page tells as CSV, or the main table of a split as LaTeX."""
    asked = tables_asked(project, request.GET)
    if asked is None or form not in FORMS:
        raise Http404
    write = files.as_csv if form == "csv" else files.as_latex
    name = f"tables-{asked.release.version}-{asked.convention}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(write(tables(asked)), content_type=f"{FORMS[form]}; charset=utf-8", headers=headers)
