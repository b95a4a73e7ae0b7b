"""Decide who may see a page: the viewer's roles in the project of the page, before its view runs."""

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request
from structlog.contextvars import bind_contextvars

from accounts.models import Membership, Project, User
from core.sql import row_first

Role = Membership.Role
ANNOTATOR = frozenset({Role.ANNOTATOR})
LEAD = frozenset({Role.LEAD})
ADMIN = frozenset({Role.ADMIN})
STAFF = frozenset(Membership.STAFF)
WRITER = frozenset({Role.WRITER})
CHECKER = frozenset({Role.CHECKER})
PAID = ANNOTATOR | WRITER | CHECKER  # whose work has hours
READERS = STAFF | {Role.CHECKER}  # of what all writers wrote
EVERYONE = ANNOTATOR | STAFF  # of those who judge and lead; participants see the leaderboard alone
RUNNERS = STAFF | {Role.PARTICIPANT}
Roles = frozenset[Membership.Role] | Callable[[], frozenset[Membership.Role]]  # called for each request
GRANTED = "WHERE accounts_project.uuid = %s AND accounts_membership.user_id = %s"
P = ParamSpec("P")
Row = TypeVar("Row", bound=Model)


class MemberRequest(HttpRequest):
    """A request of somebody with a role in the project of the page."""

    user: User
    htmx: HtmxDetails
    membership: Membership


RowView = Callable[[MemberRequest, Row], HttpResponseBase]
ProjectView = Callable[Concatenate[MemberRequest, Project, ...], HttpResponseBase]


def benchmark_runners() -> frozenset[Membership.Role]:
    """Return who makes features and starts benchmark runs: admins, and leads where the site lets them."""
    return STAFF if settings.LEADS_RUN_BENCHMARKS else ADMIN


def grant(request: HttpRequest, project: Project, roles: Roles) -> Membership:
    """The viewer's membership of the project; 404 for strangers, 403 for another role."""
    return grant_by(request, project.uuid, roles)


def grant_by(request: HttpRequest, project_uuid: UUID, roles: Roles) -> Membership:
    """``grant`` for a project known by its UUID: one statement says whether it exists and who the viewer is there."""
    membership = row_first(Membership, GRANTED, project_uuid, cast(int, request.user.pk), related="project")
    if membership is None:
        raise Http404
    if not membership.has(roles() if callable(roles) else roles):
        raise PermissionDenied
    cast(MemberRequest, request).membership = membership
    bind_contextvars(member=membership.label, project=str(project_uuid))  # for the logs
    return membership


def project_page(
    roles: Roles,
) -> Callable[
    [Callable[Concatenate[MemberRequest, Project, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, UUID, P], HttpResponseBase],
]:
    """A view of one project, named by UUID in the URL, for people of these roles."""

    def decorate(
        view: Callable[Concatenate[MemberRequest, Project, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, UUID, P], HttpResponseBase]:
        @login_required
        @wraps(view)
        def page(request: HttpRequest, project_uuid: UUID, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            membership = grant_by(request, project_uuid, roles)
            return view(cast(MemberRequest, request), membership.project, *args, **kwargs)

        return page  # type: ignore[return-value]

    return decorate


def grant_staff(person: User) -> list[Membership]:
    """Return the first two memberships as lead or admin of whatever project; 403 for whoever has none."""
    memberships = Membership.objects.filter(user=person, roles__overlap=Membership.STAFF).select_related("project")[:2]
    if not memberships:
        raise PermissionDenied
    return list(memberships)


def staff_page(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A page of no project, for leads and admins of any; whose only project it is sees that project's header."""

    @login_required
    @wraps(view)
    def page(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        memberships = grant_staff(cast(User, request.user))
        if len(memberships) == 1:
            cast(MemberRequest, request).membership = memberships[0]
        return view(request, *args, **kwargs)

    return page  # type: ignore[return-value]


def post_only(back: str) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """A view that changes something; whoever comes by GET, as after logging in, is sent to the page ``back``.

    The page takes what the view does, objects by their UUID.
    """

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST":
                return view(request, *args, **kwargs)
            return redirect(back, *(getattr(argument, "uuid", argument) for argument in [*args, *kwargs.values()]))

        return page

    return decorate


def project_action(roles: Roles, *, back: str) -> Callable[[ProjectView], Callable[..., HttpResponseBase]]:
    """Make a view that changes something of a project, for people of these roles; a GET goes to the page ``back``."""
    return lambda view: project_page(roles)(post_only(back)(view))


def row_page(
    rows: QuerySet[Row], roles: Roles, *, project: str = "project", back: str = ""
) -> Callable[[RowView[Row]], Callable[..., HttpResponseBase]]:
    """Make a page of one row, named by UUID in the URL, for people of these roles in its project.

    Args:
        rows: what the page may be of, with their projects selected beside them; 404 for others.
        project: how a row names its project.
        back: set where the page changes something: whoever comes by GET, as after logging in, is sent to that page.
    """
    project_of = attrgetter(project)

    def decorate(view: RowView[Row]) -> Callable[..., HttpResponseBase]:
        @login_required
        @wraps(view)
        def page(request: HttpRequest, **names: UUID) -> HttpResponseBase:
            [uuid] = names.values()
            if back and request.method != "POST":
                return redirect(back, uuid)
            row = get_object_or_404(rows, uuid=uuid)
            grant(request, project_of(row), roles)
            return view(cast(MemberRequest, request), row)

        return page

    return decorate


def person_of(request: Request) -> User:
    return cast(User, request.user)
