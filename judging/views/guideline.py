"""The guideline in force, as a page and beside the pair; annotators confirm it there."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from annotation.access import ANNOTATOR, EVERYONE, LEAD, MemberRequest, post_only, project_page
from annotation.exceptions import NotPossible
from annotation.models import Membership, Project
from annotation.rules.standing import OUT
from judging import selectors
from judging.markdown import markdown_html
from judging.rules.way import may_confirm
from judging.services import guidelines
from judging.services.policies import guideline_in_force


@project_page(EVERYONE)
def guideline(request: MemberRequest, project: Project) -> HttpResponse:
    """The text; who judges is told what is new, and asked to confirm that they have read it."""
    if not project.guidelines.exists():
        raise NotPossible("This project has no guideline: its judgments were imported.")
    context = {**guideline_context(project), "may_decide": request.membership.role in LEAD}
    if request.membership.standing in OUT:
        context["examples"] = []  # their pictures are shown no more
    if request.membership.role == Membership.Role.ANNOTATOR:
        context |= _to_confirm(request, project)
    return render(request, "judging/guideline.html", context)


def _to_confirm(request: MemberRequest, project: Project) -> dict[str, Any]:
    read = selectors.guideline_confirmed(project=project, annotator=request.user)
    in_force = guideline_in_force(project.pk)
    if read == in_force:
        return {"read": read}
    said = selectors.changes_said(project, after=read.version) if read else []
    return {
        "read": read,
        "to_confirm": may_confirm(selectors.way_facts(project_id=project.pk, annotator_id=request.user.pk)),
        "said": said,
        "lines": selectors.guideline_changes(read, in_force) if read else [],
    }


@project_page(ANNOTATOR)
@post_only("judging:guideline")
def guideline_confirm(request: MemberRequest, project: Project) -> HttpResponse:
    """The annotator says that they have read the version of the form, and goes back to their desk."""
    given = request.POST.get("version", "")
    version = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    guidelines.guideline_confirm(project=project, annotator=request.user, version=version)
    messages.success(request, f"Thank you: you have confirmed version {version} of the guideline.")
    return redirect("judging:desk", project.uuid)


def guideline_context(project: Project) -> dict[str, Any]:
    version = guideline_in_force(project.pk)
    return {
        "guideline": version,
        "guideline_html": partial(markdown_html, version.body),  # rendered only where a template asks
        "examples": version.examples.select_related("moment"),
    }
