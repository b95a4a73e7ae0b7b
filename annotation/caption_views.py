"""The page where captions are rewritten and those that failed a check are decided."""

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import truncatechars

from annotation import caption_selectors as selectors
from annotation.access import STAFF, MemberRequest, post_only, project_page
from annotation.exceptions import NotPossible
from annotation.models import Caption, Job, Project
from annotation.services import captions as services
from annotation.services.rewriting import KIND, rewriting_start

PER_PAGE = 20
PAGE = "annotation:captions"
PROVIDERS = [(Caption.Provider.RULES.value, "Rules (offline)"), (Caption.Provider.OPENAI.value, "Chat API")]


class StartForm(forms.Form):
    provider = forms.ChoiceField(choices=PROVIDERS)


class DecideForm(forms.Form):
    caption = forms.UUIDField()
    act = forms.ChoiceField(choices=[(act, act) for act in ("accept", "edit", "redo")])
    text = forms.CharField(required=False, max_length=services.LONGEST)


@project_page(STAFF)
def captions(request: MemberRequest, project: Project) -> HttpResponse:
    """How the rewriting went, and every caption that waits for a person."""
    check = request.GET.get("check", "")
    if check not in Caption.Check.values:
        check = ""
    waiting = selectors.captions_in_review(project.corpus_id, check)
    page = Paginator(waiting, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "check": check,
        "keep": f"&check={check}" if check else "",
        "report": selectors.captions_report(project.corpus_id),
        "job": project.jobs.filter(kind=KIND).order_by("-pk").first(),
        "last": selectors.last_review(project.corpus_id, request.user.pk),
        "providers": PROVIDERS,
    }
    if not request.htmx:
        return render(request, "annotation/captions.html", context)
    answer = render(request, "annotation/captions.html#progress", context)
    if not project.jobs.filter(kind=KIND, state=Job.State.RUNNING).exists():
        answer["HX-Refresh"] = "true"  # what is to be decided is there now
    return answer


@post_only(PAGE)
@project_page(STAFF)
def start(request: MemberRequest, project: Project) -> HttpResponse:
    """Rewrite what is left, in the background."""
    form = StartForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose who rewrites: the rules or the chat API.")
        return redirect(PAGE, project.uuid)
    try:
        provider = form.cleaned_data["provider"]
        rewriting_start(corpus=project.corpus, provider=provider, actor=request.user, project=project)
    except NotPossible as error:
        messages.error(request, str(error))
    return redirect(PAGE, project.uuid)


@post_only(PAGE)
@project_page(STAFF)
def decide(request: MemberRequest, project: Project) -> HttpResponse:
    """Accept, edit or redo one caption."""
    form = DecideForm(request.POST)
    if not form.is_valid():
        return _said(request, project, None, "This form cannot be read. Load the page again.", status=422)
    caption = Caption.objects.filter(description__corpus=project.corpus_id, uuid=form.cleaned_data["caption"]).first()
    if caption is None:
        raise Http404
    try:
        _act(request, project, caption, form)
    except NotPossible as error:
        return _said(request, project, caption, str(error), status=409)
    shown = selectors.caption_shown(caption.pk)
    name = services.name_left_in(shown) if shown.state == Caption.State.EDITED else ""
    if not request.htmx:
        if name:
            messages.warning(request, f"Your caption still names a person: {name}. Undo takes it back.")
        return redirect(PAGE, project.uuid)
    context = {
        "caption": shown,
        "name_left": name,
        "project": project,
        "waiting": selectors.captions_in_review(project.corpus_id).count(),
    }
    return render(request, "annotation/_caption.html", context)


def _act(request: MemberRequest, project: Project, caption: Caption, form: DecideForm) -> None:
    act, text = form.cleaned_data["act"], form.cleaned_data["text"]
    if act == "redo":
        services.caption_redo(project=project, caption=caption, actor=request.user)
    elif act == "edit" or (act == "accept" and _is_other(text, caption.text)):
        services.caption_edit(project=project, caption=caption, text=text, actor=request.user)
    else:
        services.caption_accept(project=project, caption=caption, actor=request.user)


def _is_other(text: str, shown: str) -> bool:
    """Whether the box holds other words than the caption: who accepts means what they see."""
    return bool(text.split()) and text.split() not in (shown.split(), truncatechars(shown, services.LONGEST).split())


def _said(
    request: MemberRequest, project: Project, caption: Caption | None, error: str, *, status: int
) -> HttpResponse:
    if not request.htmx or caption is None:
        messages.error(request, error)
        return redirect(PAGE, project.uuid)
    context = {"caption": selectors.caption_shown(caption.pk), "project": project, "error": error}
    return render(request, "annotation/_caption.html", context, status=status)


@post_only(PAGE)
@project_page(STAFF)
def undo(request: MemberRequest, project: Project) -> HttpResponse:
    """Take back one's last decision."""
    try:
        services.caption_undo(project=project, actor=request.user)
        messages.success(request, "Your last decision is taken back.")
    except NotPossible as error:
        messages.error(request, str(error))
    return redirect(PAGE, project.uuid)
