"""The policy: every number of a project on one page, and its earlier versions."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from annotation.access import LEAD, STAFF, MemberRequest, post_only, project_page
from annotation.exceptions import NotPossible
from annotation.models import Project
from judging import selectors
from judging.exceptions import GateTooShort, PolicyStale
from judging.models import Policy
from judging.services import policies
from judging.settings_forms import LABELS, PolicyForm
from judging.views.refusing import refused

PAGE = "settings/policy.html"


@project_page(STAFF)
def policy(request: MemberRequest, project: Project) -> HttpResponse:
    if not project.policies.exists():
        raise NotPossible("This project has no policy yet.")
    in_force = policies.policy_in_force(project.pk)
    form = PolicyForm(instance=in_force, initial={"version": in_force.version})
    return render(request, PAGE, _context(request, project, form))


def _context(request: MemberRequest, project: Project, form: PolicyForm) -> dict[str, Any]:
    names = selectors.actor_names(project, to=request.membership.role)
    history = [
        (step.policy, _maker(step.policy, names), [(LABELS[name][0], *values) for name, *values in step.changed])
        for step in selectors.policy_history(project)
    ]
    return {
        "form": form,
        "policy": policies.policy_in_force(project.pk),
        "history": history,
        "may_decide": request.membership.role in LEAD,
    }


def _maker(policy: Policy, names: dict[int, str]) -> str:
    return names.get(policy.created_by_id, "somebody who has left") if policy.created_by_id else "the system"


@project_page(LEAD)
@post_only("judging:policy")
def policy_publish(request: MemberRequest, project: Project) -> HttpResponse:
    """A new version with what the form changed; judgments keep the one they were given under."""
    before = policies.policy_in_force(project.pk)
    form = PolicyForm(request.POST, instance=Policy(project=project))
    if not form.is_valid():
        return refused(request, PAGE, _context(request, project, form), "Nothing was saved yet; look at the values.")
    try:
        made = policies.policy_publish(
            project=project, actor=request.user, seen=form.cleaned_data["version"], **form.policy_values()
        )
    except (PolicyStale, GateTooShort) as error:
        return refused(request, PAGE, _context(request, project, form), str(error), status=error.status)
    if made.version == before.version:
        messages.info(request, "Nothing was changed.")
    else:
        messages.success(request, f"Version {made.version} is in force.")
    return redirect("judging:policy", project.uuid)
