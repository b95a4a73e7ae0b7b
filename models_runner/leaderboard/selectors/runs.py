"""Runs, to those who may read or withdraw them."""

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.access import RUNNERS, grant
from accounts.models import Membership
from models_runner.leaderboard.selectors.shown_scores import sees_all
from models_runner.models import Run


def runs_visible_to(membership: Membership) -> QuerySet[Run]:
    """Return the viewer's own runs; to leads and admins, everybody's."""
    runs = Run.objects.filter(project=membership.project_id).select_related("release")
    return runs if sees_all(membership) else runs.filter(owner=membership.user_id)


def run_granted(request: HttpRequest, run_uuid: UUID) -> tuple[Run, Membership]:
    """Return a run of the viewer's own; leads and admins see every one."""
    run = get_object_or_404(Run.objects.select_related("project", "release"), uuid=run_uuid)
    membership = grant(request, run.project, RUNNERS)
    if not sees_all(membership) and run.owner_id != membership.user_id:
        raise PermissionDenied
    return run, membership


def run_withdrawable(request: HttpRequest, run_uuid: UUID) -> Run:
    """Return a run of the viewer's own; leads may withdraw every one."""
    run, membership = run_granted(request, run_uuid)
    if membership.role != Membership.Role.LEAD and run.owner_id != membership.user_id:
        raise PermissionDenied
    return run
