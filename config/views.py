"""Pages that belong to no app."""

from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import STAFF
from accounts.models import Membership, User
from config.navigation import pages_of


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The person's projects; with a single one, straight to its first page."""
    user = cast(User, request.user)
    memberships = list(user.memberships.select_related("project").order_by("project__name"))
    if len(memberships) == 1:
        return redirect(first_page(memberships[0]))
    cards = [(membership, first_page(membership)) for membership in memberships]
    runs_one = any(membership.role in STAFF for membership in memberships)
    return render(request, "home.html", {"cards": cards, "runs_one": runs_one})


def first_page(membership: Membership) -> str:
    return reverse(pages_of(membership)[0][1], args=[membership.project.uuid])


def guide(request: HttpRequest) -> HttpResponse:
    return render(request, "help.html")
