"""The guideline, as a page and beside the pair."""

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from annotation.access import EVERYONE, MemberRequest, project_page
from annotation.exceptions import NotPossible
from annotation.models import Project
from judging.markdown import markdown_html
from judging.services.policies import guideline_in_force


@project_page(EVERYONE)
def guideline(request: MemberRequest, project: Project) -> HttpResponse:
    if not project.guidelines.exists():
        raise NotPossible("This project has no guideline: its judgments were imported.")
    return render(request, "judging/guideline.html", guideline_context(project))


def guideline_context(project: Project) -> dict[str, Any]:
    version = guideline_in_force(project.pk)
    return {
        "guideline": version,
        "guideline_html": partial(markdown_html, version.body),  # rendered only where a template asks
        "examples": version.examples.select_related("moment"),
    }
