"""The tables of the papers over a release, beside what is published."""

from itertools import product

from django.http import Http404, HttpResponse
from django.shortcuts import render

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Project
from judging.models import Release
from models_runner.models import Training
from models_runner.tables import files
from models_runner.tables import published_values as published
from models_runner.tables.selectors import CONVENTIONS, Cell, Line, Setting, tables, tables_filters

FORMS = {"csv": ("text/csv", files.as_csv), "tex": ("application/x-tex", files.as_latex)}
COLUMNS = list(product(published.SPLITS, published.MUS))  # of a table over seeds


@project_page(STAFF)
def benchmark_tables(request: MemberRequest, project: Project) -> HttpResponse:
    """Show tables 5 to 8 of the papers, and what similarity itself scores."""
    filters = tables_filters(project, request.GET)
    if filters is None:
        return render(request, "models_runner/tables/tables.html", {"filters": None})
    result = tables(filters)
    context = {
        **{"filters": filters, "tables": result, "mus": published.MUS, "ks": published.KS, "facts": published},
        "releases": project.releases.filter(state=Release.State.READY),
        "conventions": CONVENTIONS,
        "splits": ("test", "val"),
        "rows": result.rows(filters.k),
        "by_similarity": result.rows_by_similarity(filters.k),
        "recall": result.recall_rows(),
        "bounds": [(k, result.bounds(k)) for k in published.KS],
        "seeds": [(line, _seed_rows(result.chosen, line)) for line in result.chosen.lines],
        "columns": COLUMNS,
        "n_unfinished": Training.objects.filter(
            experiment__release=filters.release, state__in=[Training.State.WAITING, *Training.AT_WORK]
        ).count(),
    }
    return render(request, "models_runner/tables/tables.html", context)


def _seed_rows(of: Setting, line: Line) -> list[tuple[int, list[tuple[Cell, published.Spread | None]]]]:
    """Return, for each K, an experiment over its seeds on validation and test; theirs beside it."""
    rows = []
    for k in published.KS:
        ours = [line.cell(split, k, mu) for split, mu in COLUMNS]
        theirs = [published.spread_of(of.baseline, of.top_n, k, mu, split) for split, mu in COLUMNS]
        rows.append((k, list(zip(ours, theirs, strict=True))))
    return rows


@project_page(STAFF)
def benchmark_tables_export(request: MemberRequest, project: Project, form: str) -> HttpResponse:
    """Send all that the page tells as CSV, or the main table of a split as LaTeX."""
    filters = tables_filters(project, request.GET)
    if filters is None or form not in FORMS:
        raise Http404
    kind, write = FORMS[form]
    name = f"tables-{filters.release.version}-{filters.convention}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(write(tables(filters)), content_type=f"{kind}; charset=utf-8", headers=headers)
