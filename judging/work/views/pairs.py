"""Lists of pairs that were flagged, dropped or withdrawn, and what a lead says to them. Admins may look."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import LEAD, STAFF, MemberRequest, project_page, row_page
from accounts.models import Project
from core.forms import is_valid_or_message
from core.lists import csv_download, page_of
from core.refusals import refusal_log
from judging.exceptions import NotPossibleNow
from judging.models import Flag, Pair
from judging.work.forms import BoundsForm, PairFilterForm, ReasonForm, WordForm
from judging.work.selectors.flags import DROPPED, FLAGGED, WITHDRAWN, listed, pairs_listed
from judging.work.services import pairs

pair_page = partial(row_page, Pair.objects.select_related("batch__project"), project="batch.project")
RECUT = "The clip is being cut anew. The old one is shown until it is there."
CHUNK = 500
LISTS = {FLAGGED: "judging:flags", DROPPED: "judging:dropped", WITHDRAWN: "judging:withdrawn"}
OUT = [
    (Pair.Reason.NO_CONSENSUS.value, "no consensus"),
    (Pair.Reason.NO_SECOND_ROUND.value, "no second round"),
    (Pair.Reason.WITHDRAWN_BY_LEAD.value, "withdrawn by a lead"),
    (Pair.Reason.FLAGGED_TWICE.value, "flagged twice"),
]
REASONS = {FLAGGED: Flag.Reason.choices, DROPPED: OUT[:2], WITHDRAWN: OUT[2:]}
COLUMNS = ("query_number", "query", "split", "batch", "rank", "similarity", "video", "start_s", "end_s", "state")
MORE_COLUMNS = ("reason", "withdrawn_because", "withdrawn_by", "withdrawn_at", "grades", "second_grades", "flags")


def _page(
    request: MemberRequest, project: Project, which: str, *, note: str = "", of: Pair | None = None, status: int = 200
) -> HttpResponse:
    """Show flagged, dropped or withdrawn pairs, flagged ones that wait for an answer unless others are requested; with
    a ``note`` beside the pair ``of`` which it is."""
    pair_filter = _filter(request, which)
    page = page_of(request, pairs_listed(project, which, **pair_filter))
    context = {
        "page": page,
        "rows": listed(project, list(page), to_lead=request.membership.is_lead),
        "which": which,
        "filter": pair_filter,
        "reasons": REASONS[which],
        "words": dict(OUT),
        "note": note,
        "noted": of,
    }
    return render(request, "judging/work/pairs_out.html", context, status=status)


pairs_out = project_page(STAFF)(_page)


def _filter(request: MemberRequest, which: str) -> dict[str, Any]:
    """Return what the query parameters ask for; a value that makes no sense asks for nothing."""
    form = PairFilterForm(request.GET, reasons=REASONS[which])
    form.is_valid()
    cleaned = form.cleaned_data
    status = cleaned.get("status") or "waiting"
    return {
        "words": cleaned.get("q", ""),
        **{name: cleaned.get(name, "") for name in ("split", "reason")},
        "status": "" if status == "all" else status,
        "annotator": cleaned.get("annotator"),
    }


@project_page(STAFF)
def pairs_out_csv(request: MemberRequest, project: Project, which: str) -> HttpResponse:
    """The whole list as asked for, not only what fits a page; annotators by number."""
    matching = pairs_listed(project, which, **_filter(request, which)).iterator(chunk_size=CHUNK)
    chunks = iter(lambda: list(islice(matching, CHUNK)), [])
    rows = (_csv_row(row) for chunk in chunks for row in listed(project, chunk, to_lead=request.membership.is_lead))
    return csv_download(f"{which}-pairs.csv", [*COLUMNS, *MORE_COLUMNS], rows)


def _csv_row(row: dict[str, Any]) -> list[object]:
    pair, event = row["pair"], row["withdrawal"]
    query, candidate, moment = pair.batch.query, pair.candidate, pair.candidate.moment
    withdrawal = [""] * 3
    if event:
        withdrawal = [event.data["reason"], row["who"], event.created_at.isoformat(timespec="seconds")]
    rounds = [[f"{who}:{grade}" for who, grade, of in row["grades"] if of == number] for number in (1, 2)]
    return [
        *(query.number, query.text, query.split, pair.batch.number, candidate.rank, candidate.similarity),
        *(moment.video.name, moment.start_s, moment.end_s, pair.state, pair.reason),
        *withdrawal,
        *map(" ".join, rounds),
        "; ".join(_flag_in_words(who, flag) for who, flag in row["flags"]),
    ]


def _flag_in_words(number: int | None, flag: Flag) -> str:
    words = f"{number}: {flag.get_reason_display()}" + (f" ({flag.comment})" if flag.comment else "")
    if answer := getattr(flag, "answer", None):
        words += f" > {answer.get_kind_display()}" + (f" ({answer.text})" if answer.text else "")
    return words


@pair_page(LEAD, back="judging:pair-batch")
def pair_withdraw(request: MemberRequest, pair: Pair) -> HttpResponse:
    form = ReasonForm(request.POST)
    if is_valid_or_message(request, form):
        pairs.pair_withdraw(pair=pair, lead=request.user, reason=form.cleaned_data["reason"])
        messages.success(request, "Withdrawn. Nobody is asked for this pair any more.")
    return _back(request, pair)


@pair_page(LEAD, back="judging:pair-batch")
def pair_restore(request: MemberRequest, pair: Pair) -> HttpResponse:
    pairs.pair_restore(pair=pair, lead=request.user, reason=request.POST.get("reason", ""))
    messages.success(request, "Put back: the pair is what its grades say.")
    return _back(request, pair)


@pair_page(LEAD, back="judging:pair-batch")
def flag_dismiss(request: MemberRequest, pair: Pair) -> HttpResponse:
    """The pair can be judged as it is; the lead's word stays with the flag."""
    form = WordForm(request.POST)
    if not form.is_valid():
        return _refused(request, pair, form.first_error())
    return _decided(request, pair, "Dismissed. The pair is judged as it is.", pairs.flags_dismiss, **form.cleaned_data)


@pair_page(LEAD, back="judging:pair-batch")
def pair_recut(request: MemberRequest, pair: Pair) -> HttpResponse:
    """Cut the clip anew."""
    return _decided(request, pair, RECUT, pairs.recut_request)


@pair_page(LEAD, back="judging:pair-batch")
def pair_bounds(request: MemberRequest, pair: Pair) -> HttpResponse:
    """Cut the clip anew between other bounds, as long as nobody has judged the moment."""
    form = BoundsForm(request.POST)
    if not form.is_valid():
        return _refused(request, pair, form.first_error())
    bounds = (form.cleaned_data["start_s"], form.cleaned_data["end_s"])
    return _decided(request, pair, RECUT, pairs.recut_request, bounds=bounds)


def _decided(
    request: MemberRequest, pair: Pair, message: str, service: Callable[..., object], **values: Any
) -> HttpResponse:
    try:
        service(pair=pair, lead=request.user, **values)
    except NotPossibleNow as error:
        return _refused(request, pair, str(error), status=error.status)
    messages.success(request, message)
    return _back(request, pair)


def _refused(request: MemberRequest, pair: Pair, note: str, *, status: int = 422) -> HttpResponse:
    """The flagged pairs again, with why nothing was done beside this one."""
    return refusal_log(request, _page(request, pair.batch.project, FLAGGED, note=note, of=pair, status=status), note)


def _back(request: MemberRequest, pair: Pair) -> HttpResponse:
    """To the list the form was on, as it was asked for; else to the pair's batch."""
    page = LISTS.get(request.POST.get("list", ""))
    if page is None:
        return redirect("judging:batch", pair.batch.uuid)
    query = QueryDict(request.POST.get("asked", "")).urlencode()
    return redirect(reverse(page, args=[pair.batch.project.uuid]) + (f"?{query}" if query else ""))


@pair_page(STAFF)
def pair_batch(request: MemberRequest, pair: Pair) -> HttpResponse:
    """The batch that holds the pair."""
    return redirect("judging:batch", pair.batch.uuid)
