"""Pages of topics: those of a project with the form for another, one with its versions, and files of them."""

from functools import partial

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.access import STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from accounts.uploads import IMPORTS_SHOWN, receives_file, save_form, upload_urls
from annotation.models import Topic, TopicImport
from annotation.topics import selectors, services
from annotation.topics.files import LABELS, LARGEST_FILE
from annotation.topics.forms import TopicChangeForm, TopicForm, TopicImportForm
from core.exceptions import NotPossible
from core.lists import page_of
from core.uploads import first_warnings

PER_PAGE = 50
PAGE = "annotation:topics"
TOPICS = Topic.objects.select_related("query__project", "query__query_set")


@project_page(STAFF)
def topics(request: MemberRequest, project: Project) -> HttpResponse:
    """The project's topics, and the form for one more."""
    return _topics(request, project, TopicForm())


def _topics(request: MemberRequest, project: Project, form: forms.Form, *, status: int = 200) -> HttpResponse:
    rows, words = selectors.topics_of(project), request.GET.get("q", "").replace("\0", "").strip()
    if words:
        rows = rows.filter(title__icontains=words)
    context = {
        "form": form,
        "page": page_of(request, rows, PER_PAGE),
        "words": words,
        "imports": request.user.topic_imports.filter(project=project).order_by("-id")[:IMPORTS_SHOWN],
    }
    return render(request, "annotation/topics/topics.html", context, status=status)


@project_action(STAFF, back=PAGE)
def topic_new(request: MemberRequest, project: Project) -> HttpResponse:
    """Write one topic."""
    form = TopicForm(request.POST)
    if form.is_valid():
        try:
            topic = services.topic_create(project=project, actor=request.user, **form.cleaned_data)
        except NotPossible as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Topic {topic.query.number} is stored.")
            return redirect(PAGE, project.uuid)
    return _topics(request, project, form, status=422)


@row_page(TOPICS, STAFF, project="query.project")
def topic(request: MemberRequest, row: Topic) -> HttpResponse:
    """One topic: the form of its next version, and the versions so far."""
    last = selectors.version_in_force(row)
    values = {name: getattr(last, name) for name in ("title", "description", "narrative")}
    return _topic(request, row, TopicChangeForm(initial={**values, "seen_version": last.version}))


def _topic(request: MemberRequest, row: Topic, form: forms.Form, *, status: int = 200) -> HttpResponse:
    is_ranked = selectors.is_ranked(row)
    form.fields["title"].widget.attrs["readonly"] = is_ranked
    versions = selectors.versions_with_uses(row)
    context = {"topic": row, "form": form, "versions": versions, "is_ranked": is_ranked}
    return render(request, "annotation/topics/topic.html", context, status=status)


@row_page(TOPICS, STAFF, project="query.project", back="annotation:topic")
def topic_change(request: MemberRequest, row: Topic) -> HttpResponse:
    form = TopicChangeForm(request.POST)
    if not form.is_valid():
        return _topic(request, row, form, status=422)
    try:
        version = services.topic_change(topic=row, actor=request.user, **form.cleaned_data)
    except NotPossible as error:
        form.add_error(None, str(error))
        return _topic(request, row, form, status=error.status)
    messages.success(request, f"Version {version.version} of topic {row.query.number} is in force.")
    return redirect("annotation:topic", row.uuid)


@receives_file(limit="IMPORT_MAX_MB", instead="import it with manage.py import_topics")
@project_page(STAFF)
def import_new(request: MemberRequest, project: Project) -> HttpResponse:
    """The form for a file, which goes into a temporary file of limited size."""

    def shown(form: forms.Form, status: int = 200) -> HttpResponse:
        context = {"form": form, "most_mb": min(settings.IMPORT_MAX_MB, LARGEST_FILE // 2**20)}
        return render(request, "annotation/topics/import_new.html", context, status=status)

    if request.method != "POST":
        return shown(TopicImportForm())
    create = partial(services.topic_import_create, actor=request.user, project=project)
    return save_form(TopicImportForm(request.POST, request.FILES), create, shown, "annotation:topic-import")


def import_page(request: HttpRequest, row: TopicImport) -> HttpResponse:
    """Show one file: how far it is, what was found in it, and the question whether to import it."""
    context = {"row": row, "label": LABELS.get(row.format, row.format), "warnings": first_warnings(row)}
    return render(request, "annotation/topics/import.html", context)


def list_of(row: TopicImport) -> HttpResponse:
    """Lead back to the topics of the project that a file is for."""
    return redirect(PAGE, row.project.uuid)


import_urls = upload_urls(
    services.IMPORTS, "topics/imports/", page="annotation:topic-import", back=list_of, show=import_page
)
