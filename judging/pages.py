"""Pages of a project and of its rows, as an exam or a pair: who may see them is decided before the view runs."""

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Concatenate, TypeVar, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from accounts.access import MemberRequest, grant, post_only, project_page
from accounts.models import Membership, Project

Row = TypeVar("Row", bound=Model)
RowView = Callable[[MemberRequest, Row], HttpResponseBase]
ProjectView = Callable[Concatenate[MemberRequest, Project, ...], HttpResponseBase]


def project_action(
    roles: frozenset[Membership.Role], *, back: str
) -> Callable[[ProjectView], Callable[..., HttpResponseBase]]:
    """Make a view that changes something of a project, for people of these roles; a GET goes to the page ``back``."""
    return lambda view: project_page(roles)(post_only(back)(view))


def row_page(
    rows: QuerySet[Row], roles: frozenset[Membership.Role], *, project: str = "project", back: str = ""
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
