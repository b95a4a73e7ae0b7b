"""The guideline in force, which annotators confirm, and the lead's editor of the next version."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import ANNOTATOR, EVERYONE, LEAD, MemberRequest, project_action, project_page, row_page
from accounts.models import Membership, Project
from accounts.rules import OUT
from core.forms import refused_form
from judging.guidelines import services
from judging.guidelines.forms import ClipsForm, ExampleForm, GradeChoiceForm, GuidelineForm
from judging.guidelines.selectors import guideline_changes, guideline_in_force, guideline_text, markdown_html
from judging.models import Guideline, GuidelineDraft
from judging.projects.selectors import clips_matching, moments_of
from judging.qualification.rules.onboarding import may_confirm
from judging.qualification.selectors.exam_attempts import onboarding_facts
from judging.work.rules import rules_of

EDIT, EXAMPLES = "judging/guidelines/edit.html", "judging/guidelines/examples.html"


@project_page(EVERYONE)
def guideline(request: MemberRequest, project: Project) -> HttpResponse:
    """The text; annotators see what is new, and confirm that they have read it."""
    if not project.guidelines.exists():
        return render(request, "judging/guidelines/none.html")
    context = guideline_context(project)
    if request.membership.status in OUT:
        context["examples"] = []  # their pictures are shown no more
    if request.membership.is_annotator:
        context |= _to_confirm(request, project)
    return render(request, "judging/guidelines/guideline.html", context)


def _to_confirm(request: MemberRequest, project: Project) -> dict[str, Any]:
    read = project.guidelines.filter(confirmations__annotator=request.user).order_by("-version").first()
    in_force = guideline_in_force(project.pk)
    if read == in_force:
        return {"read": read}
    may = may_confirm(onboarding_facts(project_id=project.pk, annotator_id=request.user.pk))
    if read is None:
        return {"read": None, "to_confirm": may}
    notes = project.guidelines.filter(version__gt=read.version).exclude(changes="").order_by("version")
    return {"read": read, "to_confirm": may, "notes": notes, "lines": guideline_changes(read, in_force)}


@project_action(ANNOTATOR, back="judging:guideline")
def guideline_confirm(request: MemberRequest, project: Project) -> HttpResponse:
    """The annotator says that they have read the version of the form, and goes back to their desk."""
    value = request.POST.get("version", "")
    version = int(value) if value.isascii() and value.isdecimal() and len(value) < 9 else 0
    services.guideline_confirm(project=project, annotator=request.user, version=version)
    messages.success(request, f"Thank you: you have confirmed version {version} of the guideline.")
    return redirect("judging:desk", project.uuid)


def guideline_context(project: Project) -> dict[str, Any]:
    version = guideline_in_force(project.pk)
    return {
        "guideline": version,
        "guideline_html": partial(markdown_html, version.body),  # rendered only where a template asks
        "examples": version.examples.select_related("moment"),
        "is_unedited": version.body == guideline_text(top_grade=project.top_grade),
    }


@project_page(EVERYONE)
def versions(request: MemberRequest, project: Project) -> HttpResponse:
    rows = project.guidelines.select_related("created_by").order_by("-version")
    return render(request, "judging/guidelines/versions.html", {"versions": rows})


@row_page(Guideline.objects.select_related("project"), EVERYONE)
def version(request: MemberRequest, guideline: Guideline) -> HttpResponse:
    """One version as it was read, and what it changed."""
    before = guideline.project.guidelines.filter(version__lt=guideline.version).order_by("-version").first()
    context = {
        "guideline": guideline,
        "guideline_html": markdown_html(guideline.body),
        "examples": guideline.examples.select_related("moment"),
        "before": before,
        "lines": guideline_changes(before, guideline) if before else [],
        "in_force": guideline_in_force(guideline.project_id),
    }
    return render(request, "judging/guidelines/version.html", context)


@project_page(LEAD)
def edit(request: MemberRequest, project: Project) -> HttpResponse:
    """The editor; with answers about the clips in the address, it begins with the first text filled with them."""
    context = _edit_context(project, None)
    clips = ClipsForm(request.GET if "subjects" in request.GET else None)
    if clips.is_valid():
        context["form"].initial["body"] = clips.text(top_grade=project.top_grade)
        messages.info(request, "The text is filled with your answers. Save the draft to keep it.")
    return render(request, EDIT, context | {"clips": clips})


def _edit_context(project: Project, form: GuidelineForm | None) -> dict[str, Any]:
    """The editor with what was sent, else with the draft, else with the version in force."""
    draft = _draft(project)
    in_force = guideline_in_force(project.pk)
    if form is None:
        text: Guideline | GuidelineDraft = draft or in_force
        levels = {f"level_{grade}": line for grade, line in enumerate(text.levels)}
        initial = {"body": text.body, "changes": draft.changes if draft else "", **levels}
        form = GuidelineForm(initial=initial, grades=rules_of(project).grades)
    context = {"form": form, "draft": draft, "in_force": in_force, "next_version": in_force.version + 1}
    return context | {"clips": ClipsForm()}


def _draft(project: Project) -> GuidelineDraft | None:
    drafts = GuidelineDraft.objects.select_related("base", "edited_by")
    return drafts.filter(project=project).first()


@project_action(LEAD, back="judging:guideline-edit")
def draft_save(request: MemberRequest, project: Project) -> HttpResponse:
    """Keep what was written; nobody judges by it before it is published."""
    form = GuidelineForm(request.POST, grades=rules_of(project).grades)
    if not form.is_valid():
        return refused_form(request, EDIT, _edit_context(project, form), form)
    services.draft_save(project=project, actor=request.user, **form.draft_values())
    following = {"review": "judging:guideline-review", "examples": "judging:guideline-examples"}
    following_page = following.get(request.POST.get("then", ""))
    if following_page is None:
        messages.success(request, "The draft is saved. Nobody judges by it until you publish it.")
    return redirect(following_page or "judging:guideline-edit", project.uuid)


@project_action(LEAD, back="judging:guideline-edit")
def preview(request: MemberRequest, project: Project) -> HttpResponse:
    """How the text will look; for htmx the part beside the editor, else the whole page. Nothing is kept."""
    form = GuidelineForm(request.POST, grades=rules_of(project).grades)
    text = request.POST.get("body", "")[:50_000]
    form.is_valid()
    context = _edit_context(project, form) | {"preview_html": markdown_html(text)}
    form.errors.clear()
    return render(request, f"{EDIT}#preview" if request.htmx else EDIT, context)


@project_page(LEAD)
def review(request: MemberRequest, project: Project) -> HttpResponse:
    """Show what the draft would change, and for how many, before it is published."""
    draft = _draft(project)
    if draft is None:
        return redirect("judging:guideline-edit", project.uuid)
    in_force = guideline_in_force(project.pk)
    annotators = project.memberships.filter(roles=[Membership.Role.ANNOTATOR], user__is_active=True)
    stopped = annotators.filter(status=Membership.Status.QUALIFIED)  # until they have read the new version
    context = {
        "draft": draft,
        "in_force": in_force,
        "next_version": in_force.version + 1,
        "lines": guideline_changes(in_force, draft),
        "to_confirm": stopped.count(),
        "examples": draft.examples.select_related("moment"),
    }
    return render(request, "judging/guidelines/review.html", context)


@project_action(LEAD, back="judging:guideline-review")
def draft_publish(request: MemberRequest, project: Project) -> HttpResponse:
    published = services.draft_publish(project=project, actor=request.user)
    messages.success(
        request, f"Version {published.version} is in force. Annotators confirm it before their next batch."
    )
    return redirect("judging:guideline", project.uuid)


@project_action(LEAD, back="judging:guideline-edit")
def draft_discard(request: MemberRequest, project: Project) -> HttpResponse:
    if services.draft_discard(project=project):
        messages.success(request, "The draft is gone; the version in force stays as it is.")
    return redirect("judging:guideline-edit", project.uuid)


@project_page(LEAD)
def examples(request: MemberRequest, project: Project) -> HttpResponse:
    return render(request, EXAMPLES, _examples_context(request, project, ExampleForm(initial=request.GET.dict())))


def _examples_context(request: MemberRequest, project: Project, form: ExampleForm) -> dict[str, Any]:
    text: Guideline | GuidelineDraft = _draft(project) or guideline_in_force(project.pk)
    examples_by_grade = {row.grade: row for row in text.examples.select_related("moment")}
    words = request.GET.get("words", "")
    return {
        "form": form,
        "levels": [(grade, line, examples_by_grade.get(grade)) for grade, line in reversed([*enumerate(text.levels)])],
        "words": words,
        "clips": clips_matching(project, words=words),
        "query_text": form["query_text"].value() or next((row.query_text for row in examples_by_grade.values()), ""),
        "draft": isinstance(text, GuidelineDraft),
    }


@project_action(LEAD, back="judging:guideline-examples")
def example_set(request: MemberRequest, project: Project) -> HttpResponse:
    form = ExampleForm(request.POST)
    if not form.is_valid():
        return refused_form(request, EXAMPLES, _examples_context(request, project, form), form)
    cleaned = form.cleaned_data
    moment = get_object_or_404(moments_of(project), uuid=cleaned["moment"])
    services.draft_example_set(
        project=project, actor=request.user, grade=cleaned["grade"], query_text=cleaned["query_text"], moment=moment
    )
    messages.success(request, f"The draft shows this clip for grade {cleaned['grade']}.")
    return redirect("judging:guideline-examples", project.uuid)


@project_action(LEAD, back="judging:guideline-examples")
def example_remove(request: MemberRequest, project: Project) -> HttpResponse:
    form = GradeChoiceForm(request.POST)
    if not form.is_valid():
        context = _examples_context(request, project, ExampleForm())
        return refused_form(request, EXAMPLES, context, form)
    services.draft_example_remove(project=project, actor=request.user, grade=form.cleaned_data["grade"])
    messages.success(request, f"The draft has no example of grade {form.cleaned_data['grade']} any more.")
    return redirect("judging:guideline-examples", project.uuid)
