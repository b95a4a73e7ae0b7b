"""The search page: typed words, ranked moments of a trained checkpoint, and a chart of why each was found."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Project
from core.charts.canvas import Axis, Canvas, number
from models_runner.models import Training
from models_runner.search.forms import SearchForm
from models_runner.search.selectors import searchable, shown_hits, without_weights
from models_runner.search.services import SearchLate, SearchRefused, search_ask

PAGE = "models_runner/search/search.html"
RECENT, LAST = "searches", 6  # in the session; how many of a project
TRIES = 24  # of a page that waits for a training to be loaded
WIDTH, HEIGHT = 560.0, 120.0
TOP, LEFT, RIGHT, FOOT = 30.0, 56.0, 12.0, 44.0


def why_chart(
    start: Sequence[float],
    end: Sequence[float],
    span: tuple[float, float],
    *,
    clip_s: float,
    end_offset_s: float,
    duration_s: float | None,
) -> Canvas:
    """Draw a line for each boundary, by the probabilities of each clip, and the moment between them (``span``).

    Args:
        end_offset_s: from the beginning of the end's clip to where a moment ends that ends there.
        duration_s: of the video; None: as long as its clips.
    """
    starts = [(index * clip_s, value) for index, value in enumerate(start)]
    ends = [(index * clip_s + end_offset_s, value) for index, value in enumerate(end)]
    last = max(duration_s or 0.0, len(start) * clip_s, span[1])
    label = f"Start and end by probability; the moment from {span[0]:.1f} to {span[1]:.1f} s is marked"
    canvas = Canvas(label, WIDTH, TOP + HEIGHT + FOOT)
    axis, seconds = Axis.over("probability", 0, max(*start, *end), about=3), Axis.over("seconds", 0, last, about=6)

    def x(second: float) -> float:
        return LEFT + min(1.0, second / last) * (WIDTH - RIGHT - LEFT)

    def y(value: float) -> float:
        return TOP + HEIGHT - axis.share(value) * HEIGHT

    words = f"{span[0]:.1f} to {span[1]:.1f} s"
    canvas.mark("rect", "span", title=words, x=x(span[0]), y=TOP, width=x(span[1]) - x(span[0]), height=HEIGHT)
    canvas.words(0, 14, axis.name, "name", "start")
    for index, (css, words) in enumerate((("series-1", "start"), ("series-2", "end"), ("span", "the moment"))):
        canvas.mark("rect", css, x=150 + 100 * index, y=4, width=12, height=12, rx=2)
        canvas.words(168 + 100 * index, 14, words, "key", "start")
    for tick in axis.ticks:
        canvas.mark("line", "axis" if tick == 0 else "grid", x1=LEFT, y1=y(tick), x2=WIDTH - RIGHT, y2=y(tick))
        canvas.words(LEFT - 6, y(tick) + 4, axis.label(tick), anchor="end")
    for tick in (tick for tick in seconds.ticks if tick <= last):
        canvas.words(x(tick), TOP + HEIGHT + 18, seconds.label(tick))
    canvas.words((LEFT + WIDTH) / 2, TOP + HEIGHT + 38, "seconds of the video", "name")
    for points, css, name in ((starts, "series-1", "start"), (ends, "series-2", "end")):
        coordinates = " ".join(f"{number(x(second))},{number(y(value))}" for second, value in points)
        canvas.mark("polyline", f"line {css}", points=coordinates)
        second, most = max(points, key=lambda point: point[1])
        canvas.mark("circle", css, title=f"{name} at {second:.1f} s: {most:.3f}", cx=x(second), cy=y(most), r=4)
    return canvas


@project_page(STAFF)
def search(request: MemberRequest, project: Project) -> HttpResponse:
    """The form, and under it what was found for the query in the address."""
    newest, is_query = searchable(project).first(), "q" in request.GET
    query = request.GET.copy()
    if newest and not query.get("training"):
        query["training"] = str(newest.uuid)
    form = SearchForm(query if is_query else None, project=project, initial=query.dict())
    context: dict[str, Any] = {"form": form, "newest": newest, "recent": _recent(request, project)}
    context["without_weights"] = without_weights(project)
    if not is_query or not newest:
        return render(request, PAGE, context)
    if not form.is_valid():
        return render(request, PAGE, context, status=422)
    return _answered(request, project, form, context)


def _answered(request: MemberRequest, project: Project, form: SearchForm, context: dict[str, Any]) -> HttpResponse:
    form_data = form.cleaned_data
    training: Training = form_data["training"]
    try:
        result = search_ask(**form_data)
    except SearchRefused as error:
        return render(request, PAGE, {**context, "refused": error}, status=error.status)
    except SearchLate as error:
        return _late(request, error, context)
    _remember(request, project, form_data)
    clips = {"clip_s": result.answer.clip_s, "end_offset_s": result.answer.end_offset_s}
    rows = []
    for hit_view in shown_hits(project, result.answer):
        span = (hit_view.hit.start_s, hit_view.end_s)
        chart = why_chart(hit_view.why.start, hit_view.why.end, span, **clips, duration_s=hit_view.duration_s)
        rows.append({"shown": hit_view, "chart": chart.inline()})
    context |= {"rows": rows, "found": result, "training": training, "recent": _recent(request, project)}
    return render(request, PAGE, context)


def _late(request: MemberRequest, error: SearchLate, context: dict[str, Any]) -> HttpResponse:
    """A page that asks again by itself while a training is being loaded; else one that says so."""
    tried = request.GET.get("tried", "0")
    tries = 1 + (int(tried) if tried.isdecimal() and len(tried) < 4 else 0)
    if error.is_loading and tries <= TRIES:
        again = request.GET.copy()
        again["tried"] = str(tries)
        return render(request, PAGE, {**context, "loading": error, "again": again.urlencode()})
    return render(request, PAGE, {**context, "late": error}, status=200 if request.htmx else error.status)


def _remember(request: MemberRequest, project: Project, form_data: dict[str, Any]) -> None:
    """The last queries of a project, newest first, as addresses."""
    entry = [form_data["q"], urlencode({"q": form_data["q"], "training": form_data["training"].uuid})]
    by_project, key = request.session.get(RECENT, {}), str(project.uuid)
    before = by_project.get(key, [])
    if before[:1] != [entry]:
        others = [one for one in before if one != entry]
        request.session[RECENT] = {**by_project, key: [entry, *others][:LAST]}


def _recent(request: MemberRequest, project: Project) -> list[tuple[str, str]]:
    return [(text, address) for text, address in request.session.get(RECENT, {}).get(str(project.uuid), [])]
