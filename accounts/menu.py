"""The menu, which is the pages of the viewer's roles in the project at hand in groups, as ``settings.MENU`` lists them;
the start page, and help."""

from typing import Any, NamedTuple, cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts import access
from accounts.access import STAFF, benchmark_runners
from accounts.models import Membership, User

LAST = "project"  # in the session: the project visited last


class Page(NamedTuple):
    label: str
    url: str
    name: str  # of its route
    current: bool = False


class Group(NamedTuple):
    label: str
    pages: list[Page]

    @property
    def url(self) -> str:
        return self.pages[0].url

    @property
    def current(self) -> bool:
        return any(page.current for page in self.pages)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """``membership`` and the groups of pages it opens: of the page's project, else of the one visited last."""
    membership = _membership(request)
    if membership is None:
        return {"menu": []}
    menu = with_current(menu_of(membership), request)
    return {
        "membership": membership,
        "project": membership.project,
        "may_decide": membership.is_lead,
        "may_benchmark": membership.has(benchmark_runners()),
        "menu": menu,
        "has_groups": any(len(group.pages) > 1 for group in menu),
        "pages": next((group.pages for group in menu if group.current and len(group.pages) > 1), []),
    }


def menu_of(membership: Membership) -> list[Group]:
    """Return the menu of the person's roles: the pages of each that they may open, once."""
    groups: dict[str, dict[str, str]] = {}
    for role in membership.roles:
        for label, pages in settings.MENU[role].items():
            groups.setdefault(label, {}).update({name: text for text, name in pages if _may_open(membership, name)})
    return [
        Group(
            label if len(pages) > 1 else next(iter(pages.values())),
            [Page(text, reverse(name, args=[membership.project.uuid]), name) for name, text in pages.items()],
        )
        for label, pages in groups.items()
        if pages
    ]


def _may_open(membership: Membership, name: str) -> bool:
    if name not in settings.MENU_ROLES:
        return True
    roles = getattr(access, settings.MENU_ROLES[name])
    return membership.has(roles() if callable(roles) else roles)


def with_current(menu: list[Group], request: HttpRequest) -> list[Group]:
    """Mark the page at hand, or the one it belongs to: as ``settings.MENU_BELOW`` says, or the start of its address."""
    view_name = request.resolver_match.view_name if request.resolver_match else ""
    pages = [page for group in menu for page in group.pages]
    above = [page for page in pages if view_name in settings.MENU_BELOW.get(page.name, ())]
    beginnings = [page for page in pages if request.path.startswith(page.url)]
    here = above[0] if above else max(beginnings, key=lambda page: len(page.url), default=None)
    return [Group(label, [page._replace(current=page is here) for page in group]) for label, group in menu]


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
    return menu_of(membership)[0].url


def guide(request: HttpRequest) -> HttpResponse:
    return render(request, "help.html")
