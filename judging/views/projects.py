"""A new project over an imported corpus."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.access import staff_page
from annotation.exceptions import NotPossible
from annotation.models import User
from annotation.selectors import corpora_within_reach
from annotation.services.names import LONGEST_NAME
from judging.services.projects import project_create

PAGE = "judging/project_new.html"


class ProjectForm(forms.Form):
    name = forms.CharField(max_length=LONGEST_NAME, error_messages={"required": "Name the project."})


@staff_page
def project_new(request: HttpRequest, corpus_uuid: UUID) -> HttpResponse:
    """The form for a name; whoever sends it leads the project."""
    user = cast(User, request.user)
    corpus = get_object_or_404(corpora_within_reach(user), uuid=corpus_uuid, is_placeholder=False)
    context: dict[str, Any] = {"corpus": corpus, "form": ProjectForm(initial={"name": corpus.name})}
    if request.method != "POST":
        return render(request, PAGE, context)
    form = context["form"] = ProjectForm(request.POST)
    if not form.is_valid():
        return render(request, PAGE, context, status=422)
    try:
        project, _ = project_create(name=form.cleaned_data["name"], corpus=corpus, leads=[user], actor=user)
    except NotPossible as error:
        form.add_error("name", str(error))
        return render(request, PAGE, context, status=409)
    messages.success(request, f"{project.name} is made, and you lead it.")
    return redirect("annotation:corpus", project.uuid)
