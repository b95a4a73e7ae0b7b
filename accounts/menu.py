"""The menu, which is the pages of the viewer's roles in the project at hand, as ``settings.MENU`` lists them; the start
page, and help."""

from itertools import chain
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import STAFF, benchmark_runners
from accounts.models import Membership, User

LAST = "project"  # in the session: the project visited last


class Entry(NamedTuple):
    label: str
    url: str
    current: bool


def navigation(request: HttpRequest) -> dict[str, Any]:
    """``membership`` and the entries it opens: of the page's project, else of the one visited last."""
    membership = _membership(request)
    if membership is None:
        return {"entries": []}
    urls = {label: reverse(name, args=[membership.project.uuid]) for label, name in pages_of(membership)}
    beginnings = urls | settings.MENU_ADDRESSES
    current = [label for label in urls if request.path.startswith(beginnings[label])]
    here = max(current, key=lambda label: len(urls[label]), default="")  # a page below another is itself
    entries = [Entry(label, url, label == here) for label, url in urls.items()]
    return {
        "membership": membership,
        "project": membership.project,
        "may_decide": membership.is_lead,
        "may_benchmark": membership.has(benchmark_runners()),
        "entries": entries,
    }


def pages_of(membership: Membership) -> list[tuple[str, str]]:
    """Return the menu of the person's roles: the entries of each, once."""
    entries = chain.from_iterable(settings.MENU[role] for role in membership.roles)
    return list(dict(entries).items())


def _membership(request: HttpRequest) -> Membership | None:
    """The viewer's membership of the project at hand (set by the view through accounts.access), which is remembered.

    Pages of no project (help, account, errors) show the project visited last, or the person's only one.
    """
    membership: Membership | None = getattr(request, "membership", None)
    if membership is None:
        return _last_membership(request)
    name = str(membership.project.uuid)
    if request.session.get(LAST) != name:
        request.session[LAST] = name
    return membership


def _last_membership(request: HttpRequest) -> Membership | None:
    user = getattr(request, "user", None)  # none where a request is refused early
    at_home = request.resolver_match is not None and request.resolver_match.view_name == "home"
    if user is None or not user.is_authenticated or at_home:
        return None
    memberships: list[Membership] = list(user.memberships.select_related("project").order_by("pk"))
    last = request.session.get(LAST)
    visited = next((membership for membership in memberships if str(membership.project.uuid) == last), None)
    return memberships[0] if visited is None and len(memberships) == 1 else visited


@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The person's projects; with a single one, straight to its first page."""
    user = cast(User, request.user)
    memberships = list(user.memberships.select_related("project").order_by("project__name"))
    if len(memberships) == 1:
        return redirect(first_page(memberships[0]))
    project_links = [(membership, first_page(membership)) for membership in memberships]
    runs_one = any(membership.has(STAFF) for membership in memberships)
    return render(request, "home.html", {"cards": project_links, "runs_one": runs_one})


def first_page(membership: Membership) -> str:
    return reverse(pages_of(membership)[0][1], args=[membership.project.uuid])


def guide(request: HttpRequest) -> HttpResponse:
    return render(request, "help.html")
