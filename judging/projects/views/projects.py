"""A new project over an imported corpus.

The policy: every number of a project on one page, and its earlier versions.
"""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import LEAD, STAFF, MemberRequest, post_only, project_page, staff_page
from accounts.models import Project, User
from annotation.corpora.selectors import corpora_within_reach, projects_run_by
from annotation.models import Corpus
from core.exceptions import NotPossible
from core.texts import LONGEST_NAME
from judging.exceptions import GateTooShort, PolicyStale
from judging.models import Policy
from judging.people.selectors import actor_names
from judging.projects import policies
from judging.projects.forms import LABELS, PolicyForm
from judging.projects.selectors.settings import policy_history
from judging.projects.services import project_create, project_name_free
from judging.refusing import refused

PAGE = "judging/projects/project_new.html"


class ProjectForm(forms.Form):
    """Whose settings it begins with is one of the viewer's projects, those over the same corpus first."""

    name = forms.CharField(max_length=LONGEST_NAME, error_messages={"required": "Name the project."})
    settings_of = forms.ChoiceField(
        required=False, error_messages={"invalid_choice": "Choose one of your projects, or none."}
    )
    with_queries = forms.BooleanField(required=False)

    def __init__(self, *args: Any, corpus: Corpus, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = sorted(
            projects_run_by(user).select_related("dataset"), key=lambda project: project.dataset.corpus_id != corpus.pk
        )
        self.corpus, self.projects = corpus, {str(project.uuid): project for project in mine}
        field = self.fields["settings_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", ""), *((uuid, project.name) for uuid, project in self.projects.items())]

    @property
    def offered(self) -> list[tuple[str, str, bool]]:
        """UUID and name of a project, and whether it is over the same corpus."""
        return [(uuid, row.name, row.dataset.corpus_id == self.corpus.pk) for uuid, row in self.projects.items()]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        source = given["settings_of"] = self.projects.get(given.get("settings_of", ""))
        if given.get("with_queries") and (source is None or source.dataset.corpus_id != self.corpus.pk):
            self.add_error("with_queries", "Queries come only from a project over the same corpus; choose one above.")
        return given


@staff_page
def project_new(request: HttpRequest, corpus_uuid: UUID) -> HttpResponse:
    """The form for a name and whose settings it begins with; whoever sends it leads the project."""
    user = cast(User, request.user)
    corpus = get_object_or_404(corpora_within_reach(user), uuid=corpus_uuid, is_placeholder=False)
    context: dict[str, Any] = {
        "corpus": corpus,
        "form": ProjectForm(corpus=corpus, user=user, initial={"name": project_name_free(wanted=corpus.name)}),
    }
    if request.method != "POST":
        return render(request, PAGE, context)
    form = context["form"] = ProjectForm(request.POST, corpus=corpus, user=user)
    if not form.is_valid():
        return render(request, PAGE, context, status=422)
    try:
        project, _ = project_create(corpus=corpus, leads=[user], actor=user, **form.cleaned_data)
    except NotPossible as error:
        form.add_error("name", str(error))
        return render(request, PAGE, context, status=409)
    messages.success(request, f"{project.name} is made, and you lead it.")
    return redirect("annotation:corpus", project.uuid)


POLICY_PAGE = "judging/projects/policy.html"


@project_page(STAFF)
def policy(request: MemberRequest, project: Project) -> HttpResponse:
    if not project.policies.exists():
        raise NotPossible("This project has no policy yet.")
    in_force = policies.policy_in_force(project.pk)
    form = PolicyForm(instance=in_force, initial={"version": in_force.version})
    return render(request, POLICY_PAGE, _context(request, project, form))


def _context(request: MemberRequest, project: Project, form: PolicyForm) -> dict[str, Any]:
    names = actor_names(project, to=request.membership.role)
    history = [
        (step.policy, _maker(step.policy, names), [(LABELS[name][0], *values) for name, *values in step.changed])
        for step in policy_history(project)
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
        return refused(
            request, POLICY_PAGE, _context(request, project, form), "Nothing was saved yet; look at the values."
        )
    try:
        made = policies.policy_publish(
            project=project, actor=request.user, seen=form.cleaned_data["version"], **form.policy_values()
        )
    except (PolicyStale, GateTooShort) as error:
        return refused(request, POLICY_PAGE, _context(request, project, form), str(error), status=error.status)
    if made.version == before.version:
        messages.info(request, "Nothing was changed.")
    else:
        messages.success(request, f"Version {made.version} is in force.")
    return redirect("judging:policy", project.uuid)
