"""Captions: the page where they are rewritten and decided, and the page of the chat model's prompt."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import truncatechars
from django.utils import timezone
from django_htmx.http import HttpResponseClientRefresh

from accounts.access import STAFF, MemberRequest, project_action, project_page
from accounts.models import Project
from annotation.captions import selectors
from annotation.captions.services import captions as services
from annotation.captions.services import prompts as prompt_services
from annotation.captions.services.captions import checks_failed
from annotation.captions.services.rewriting import KIND, caption_redo, rewriting_start
from annotation.models import Caption, PromptDraft, PromptTrial
from core.exceptions import NotPossible
from core.forms import SubmitForm, errors_as_messages, refused
from core.lists import page_of
from core.models import Job
from core.texts import uuid_or_none

PAGE = "annotation:captions"
SOON = timedelta(minutes=2)  # a check that is not there by then is not waited for
TO_SET = "set REWRITING_MODEL and REWRITING_API_KEY"


class StartForm(forms.Form):
    provider = forms.ChoiceField(choices=[(name, name) for name in (Caption.Provider.RULES, Caption.Provider.OPENAI)])


class DecideForm(forms.Form):
    caption = forms.UUIDField()
    act = forms.ChoiceField(choices=[(act, act) for act in ("accept", "edit", "redo")])
    text = forms.CharField(required=False, max_length=services.LONGEST)


class CorrectForm(forms.Form):
    caption = forms.UUIDField()
    act = forms.ChoiceField(choices=[(act, act) for act in ("accept", "edit", "reject")])
    before = forms.CharField()
    text = forms.CharField(required=False)


@project_page(STAFF)
def captions(request: MemberRequest, project: Project) -> HttpResponse:
    """How the rewriting went and every caption that waits for a person, or one that a worker is busy with, as it is."""
    if request.htmx and "caption" in request.GET:
        return _answer(request, project, _caption(project, uuid_or_none(request.GET["caption"])))
    check = _check(request.GET.urlencode())
    waiting = selectors.captions_in_review(project.dataset.corpus_id, check)
    page = page_of(request, waiting)
    context = {
        "page": page,
        "job": project.jobs.filter(kind=KIND).order_by("-pk").first(),
        "last": selectors.last_review(project.dataset.corpus_id, request.user.pk),
        "providers": [
            {"name": Caption.Provider.RULES, "label": "Rules (offline)", "lacks": ""},
            {"name": Caption.Provider.OPENAI, "label": "Chat API", "lacks": _chat_missing()},
        ],
        **_counters(project, check),
    }
    if not request.htmx:
        return render(request, "annotation/captions/captions.html", context)
    answer = render(request, "annotation/captions/captions.html#progress", context)
    if not project.jobs.filter(kind=KIND, state__in=Job.AT_WORK).exists():
        answer["HX-Refresh"] = "true"  # what is to be decided is there now
    return answer


def _chat_missing() -> str:
    """Name the settings that the chat API lacks; empty where it is set up."""
    return "" if settings.REWRITING_MODEL and settings.REWRITING_API_KEY else TO_SET


@project_action(STAFF, back=PAGE)
def start(request: MemberRequest, project: Project) -> HttpResponse:
    """Rewrite what is left, in the background."""
    form = StartForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose who rewrites: the rules or the chat API.")
        return redirect(PAGE, project.uuid)
    provider = form.cleaned_data["provider"]
    with errors_as_messages(request, NotPossible):
        rewriting_start(corpus=project.dataset.corpus, provider=provider, actor=request.user, project=project)
    return redirect(PAGE, project.uuid)


@project_action(STAFF, back=PAGE)
def decide(request: MemberRequest, project: Project) -> HttpResponse:
    """Accept or edit one caption, or ask for another wording of it."""
    form = DecideForm(request.POST)
    if not form.is_valid():
        return _unreadable(request, project, PAGE)
    caption = _caption(project, form.cleaned_data["caption"])
    try:
        _act(request, project, caption, form)
    except NotPossible as error:
        return _answer(request, project, caption, error=str(error), status=409)
    return _answer(request, project, caption)


def _act(request: MemberRequest, project: Project, caption: Caption, form: DecideForm) -> None:
    act, text = form.cleaned_data["act"], form.cleaned_data["text"]
    if act == "redo":
        caption_redo(project=project, caption=caption, actor=request.user)
    elif act == "edit" or (act == "accept" and _is_other(text, caption.text)):
        services.caption_edit(project=project, caption=caption, text=text, actor=request.user)
    else:
        services.caption_accept(project=project, caption=caption, actor=request.user)


def _is_other(text: str, wording: str) -> bool:
    """Whether the box holds other words than the caption: who accepts means what they see."""
    shown_text = truncatechars(wording, services.LONGEST)
    return bool(text.split()) and text.split() not in (wording.split(), shown_text.split())


def _answer(
    request: MemberRequest, project: Project, caption: Caption, *, error: str = "", status: int = 200
) -> HttpResponse:
    """The caption as it is now, with the counters; the page again for whoever came without htmx."""
    row = selectors.captions_shown().get(pk=caption.pk)
    is_unchecked = row.state == Caption.State.EDITED and not row.name_model
    name_left = services.name_left_in(row) if is_unchecked else ""
    if not request.htmx:
        if error:
            messages.error(request, error)
        elif name_left:
            messages.warning(request, f"Your caption still names a person: {name_left}. Undo takes it back.")
        elif row.redo and row.redo.is_at_work:
            messages.info(request, "Another wording is on its way. Load the page again to see it.")
        return redirect(PAGE, project.uuid)
    context = {
        "caption": row,
        "project": project,
        "error": error,
        "name_left": name_left,
        "is_awaited": is_unchecked and row.reviewed_at and timezone.now() - row.reviewed_at < SOON,
        "fails": [str(check.label) for check in checks_failed(row)],
        "least": settings.CAPTION_SIMILARITY_MIN,
    }
    if request.method == "POST" or not (row.redo and row.redo.is_at_work):
        shown_query = urlsplit(request.htmx.current_url or "").query  # of the page that this fragment is for
        context |= {"renewed": True, **_counters(project, _check(shown_query))}
    return render(request, "annotation/captions/_caption.html", context, status=status)


@project_action(STAFF, back="annotation:corpus")
def correct(request: MemberRequest, project: Project) -> HttpResponse:
    """Correct, reject or accept again a caption on its video's page, whether or not it passed the checks."""
    form = CorrectForm(request.POST)
    if not form.is_valid():
        return _unreadable(request, project, "annotation:corpus")
    values, error = form.cleaned_data, ""
    caption = _caption(project, values["caption"])
    decisions: dict[str, Callable[..., None]] = {
        "accept": services.caption_accept,
        "reject": partial(services.caption_reject, before=values["before"]),
        "edit": partial(services.caption_edit, before=values["before"], text=values["text"]),
    }
    try:
        decisions[values["act"]](project=project, caption=caption, actor=request.user)
    except NotPossible as refusal:
        error = str(refusal)
    row = selectors.captions_shown().get(pk=caption.pk)
    if not request.htmx:
        if error:
            messages.error(request, error)
        return redirect("annotation:video", project.uuid, row.moment.video.uuid)
    context = {"caption": row, "project": project, "error": error, "typed": values["text"] if error else ""}
    return render(request, "annotation/captions/_correct.html", context, status=409 if error else 200)


def _unreadable(request: MemberRequest, project: Project, page: str) -> HttpResponse:
    messages.error(request, "This form could not be read. Here is the page as it is now.")
    return HttpResponseClientRefresh() if request.htmx else redirect(page, project.uuid)


def _caption(project: Project, uuid: UUID | None) -> Caption:
    return get_object_or_404(Caption, description__corpus=project.dataset.corpus_id, uuid=uuid)


def _counters(project: Project, check: str) -> dict[str, object]:
    """Return all that a decision changes on the page."""
    return {"report": selectors.captions_report(project.dataset.corpus_id), "check": check}


def _check(query: str) -> str:
    """Return the check by which a page with this query string is narrowed."""
    check = QueryDict(query).get("check", "")
    return check if check in Caption.Check.values else ""


@project_action(STAFF, back=PAGE)
def undo(request: MemberRequest, project: Project) -> HttpResponse:
    """Take back one's last decision."""
    with errors_as_messages(request, NotPossible):
        services.caption_undo(project=project, actor=request.user)
        messages.success(request, "Your last decision is taken back.")
    return redirect(PAGE, project.uuid)


EMPTY_EXAMPLES = 2  # shown below those there are


class PromptForm(SubmitForm):
    text = forms.CharField(
        label="Prompt",
        max_length=prompt_services.LONGEST_PROMPT,
        widget=forms.Textarea(attrs={"rows": 11}),
        error_messages={"required": "Enter the prompt."},
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=prompt_services.LARGEST_SEED,
        help_text="Optional: providers that know seeds draw the same answer again.",
    )
    then = forms.ChoiceField(required=False, choices=[(act, act) for act in ("", "try", "others", "publish")])


@project_page(STAFF)
def prompts(request: MemberRequest, project: Project) -> HttpResponse:
    """The versions of the corpus's prompt, the draft of the next one, and its last trial."""
    context = _prompts_context(project)
    page = "annotation/captions/prompts.html"
    return render(request, f"{page}#trial" if request.htmx else page, context)


@project_action(STAFF, back="annotation:prompts")
def prompt_save(request: MemberRequest, project: Project) -> HttpResponse:
    """Save the draft; then try it, publish it, or neither."""
    form = PromptForm(request.POST)
    pairs = zip(request.POST.getlist("description"), request.POST.getlist("caption"), strict=False)
    examples = [pair for pair in pairs if any(pair)]
    try:
        if not form.is_valid():
            raise NotPossible(form.first_error())
        values, actor = form.cleaned_data, request.user
        prompt_services.prompt_draft_save(
            project=project,
            actor=actor,
            text=values["text"],
            examples=examples,
            seed=values["seed"],
            looked_at=request.POST.get("looked_at", ""),
        )
        if values["then"] == "publish":
            version = prompt_services.prompt_publish(project=project, actor=actor).version
            messages.success(request, f"Version {version} is in force: rewritings that begin from now on use it.")
        elif values["then"]:
            others = values["then"] == "others"
            prompt_services.prompt_trial_start(project=project, actor=actor, other_descriptions=others)
        else:
            messages.success(request, "The draft is saved.")
    except NotPossible as error:
        context = _prompts_context(project) | {"form": form, "examples": _with_empty(examples)}
        return refused(request, "annotation/captions/prompts.html", context, str(error))
    return redirect("annotation:prompts", project.uuid)


@project_action(STAFF, back="annotation:prompts")
def prompt_discard(request: MemberRequest, project: Project) -> HttpResponse:
    """Delete the draft."""
    if prompt_services.prompt_draft_discard(project=project):
        messages.success(request, "The draft is discarded.")
    return redirect("annotation:prompts", project.uuid)


def _prompts_context(project: Project) -> dict[str, object]:
    corpus_id = project.dataset.corpus_id
    versions = list(selectors.prompts_with_uses(corpus_id))
    draft = PromptDraft.objects.filter(corpus=corpus_id).select_related("base", "edited_by").first()
    source = draft or versions[0]
    trial = PromptTrial.objects.filter(corpus=corpus_id).select_related("prompt").order_by("-pk").first()
    return {
        "versions": versions,
        "in_force": versions[0],
        "next_version": versions[0].version + 1,
        "draft": draft,
        "state": prompt_services.prompt_state(corpus_id),
        "form": PromptForm(initial={"text": source.text, "seed": source.seed}),
        "examples": _with_empty(source.examples),
        "trial": trial,
        "is_earlier_draft": bool(trial and draft and not prompt_services.tries_draft(trial, draft)),
        "missing": _chat_missing(),
    }


def _with_empty(examples: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [*examples, *[("", "")] * EMPTY_EXAMPLES]
