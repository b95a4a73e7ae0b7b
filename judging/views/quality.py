"""What annotators could not judge."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from annotation.models import Project
from judging import selectors
from judging.forms import WithdrawForm
from judging.models import Pair
from judging.services import pairs

PER_PAGE = 30


@project_page(STAFF)
def flags(request: MemberRequest, project: Project) -> HttpResponse:
    """Flagged pairs, those that wait for a word first."""
    page = Paginator(selectors.flagged_pairs(project), PER_PAGE).get_page(request.GET.get("page"))
    numbers = selectors.annotator_numbers(project)
    rows = [(pair, selectors.flags_of(pair, numbers)) for pair in page]
    context = {"page": page, "rows": rows, "may_decide": request.membership.role in LEAD}
    return render(request, "judging/flags.html", context)


@login_required
@post_only("judging:pair-batch")
def pair_withdraw(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    pair, lead = _pair_of_lead(request, pair_uuid)
    form = WithdrawForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
        return redirect("judging:batch", pair.batch.uuid)
    pairs.pair_withdraw(pair=pair, lead=lead, reason=form.cleaned_data["reason"])
    messages.success(request, "Withdrawn. Nobody is asked for this pair any more.")
    return redirect("judging:batch", pair.batch.uuid)


@login_required
@post_only("judging:pair-batch")
def pair_restore(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    pair, lead = _pair_of_lead(request, pair_uuid)
    pairs.pair_restore(pair=pair, lead=lead, reason=request.POST.get("reason", ""))
    messages.success(request, "Put back: the pair is what its grades say.")
    return redirect("judging:batch", pair.batch.uuid)


def _pair_of_lead(request: HttpRequest, pair_uuid: UUID) -> tuple[Pair, Any]:
    pair = get_object_or_404(Pair.objects.select_related("batch__project"), uuid=pair_uuid)
    return pair, grant(request, pair.batch.project, LEAD).user


@login_required
def pair_batch(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """The batch that holds the pair."""
    pair = get_object_or_404(Pair.objects.select_related("batch__project"), uuid=pair_uuid)
    grant(request, pair.batch.project, STAFF)
    return redirect("judging:batch", pair.batch.uuid)
