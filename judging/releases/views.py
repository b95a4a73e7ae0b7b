"""All releases, each with its files and datasheet, what changed since another, and what the team says of them."""

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from accounts.access import LEAD, STAFF, MemberRequest, post_only, project_action, project_page
from accounts.models import Project
from core.forms import KeyForm, errors_as_messages, is_valid_or_message
from core.lists import csv_stream, page_of
from core.texts import uuid_or_none
from judging.exceptions import FormStale, NotPossibleNow
from judging.guidelines.selectors import markdown_html
from judging.models import WORDS, Release, ReleaseComparison, ReleaseWords
from judging.releases import compare, layout, selectors, services
from judging.releases.documents import description_of
from judging.releases.selectors import (
    STATES,
    datasheet_of,
    others,
    ready_release,
    release_file,
    release_granted,
    unfinished_queries,
)
from judging.releases.services import release_comparison_of, release_words_set

CHANGES_PER_PAGE = 50
LARGEST_DATASHEET = 1 << 20
PAGE = "judging:releases"
WORDS_PAGE = "judging/releases/words.html"
LONGEST = 10_000
SHORT = 3  # lines


class WordsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ReleaseWords
        fields = WORDS

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name, (label, help_text) in layout.TEXTS["fields"].items():
            field = self.fields[name]
            field.label, field.help_text = label, help_text
            if isinstance(field.widget, forms.Textarea):
                field.widget.attrs |= {"rows": SHORT, "maxlength": LONGEST}
                field.max_length = LONGEST  # type: ignore[attr-defined]


@project_page(STAFF)
def releases(request: MemberRequest, project: Project) -> HttpResponse:
    """All releases, newest first, and the button for another."""
    page = page_of(request, project.releases.all())
    if request.htmx:  # a release asks how far it is
        return render(request, "judging/releases/releases.html#list", {"page": page})
    context = {
        "page": page,
        "unfinished": unfinished_queries(project.pk).count(),
        "key": uuid4(),
        "pilot": project.queries.filter(query_set__is_pilot=True).count(),
    }
    return render(request, "judging/releases/releases.html", context)


@project_action(LEAD, back=PAGE)
def release_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Make a release; the same form sent again is answered with the one it made."""
    form = KeyForm(request.POST)
    if not is_valid_or_message(request, form):
        return redirect(PAGE, project.uuid)
    options: dict[str, Any] = {"includes_pilot": "include_pilot" in request.POST, **form.cleaned_data}
    options["is_anonymised"] = "anonymise" in request.POST
    with errors_as_messages(request, FormStale):
        new_release = services.release_create(project=project, actor=request.user, **options)
        is_new = new_release.state == Release.State.PREPARING
        messages.success(request, f"Release {new_release.version} {'was started' if is_new else 'was made before'}.")
    return redirect(PAGE, project.uuid)


@login_required
@post_only("judging:release")
def release_retry(request: HttpRequest, release_uuid: UUID) -> HttpResponse:
    """Build a release again that failed."""
    release = release_granted(request, release_uuid, LEAD)
    with errors_as_messages(request, NotPossibleNow):
        services.release_retry(release=release, actor=request.user)  # type: ignore[arg-type]
        messages.success(request, f"Release {release.version} was started again.")
    return redirect(PAGE, release.project.uuid)


@login_required
def release(request: HttpRequest, release_uuid: UUID) -> HttpResponse:
    """One release: counts, files with their sums, what is missing, the datasheet."""
    row = release_granted(request, release_uuid)
    counts = row.manifest.get("counts", {})
    datasheet = datasheet_of(row) if row.state == Release.State.READY else None
    files = sorted(row.manifest.get("files", {}).items())
    if files:
        files += [(layout.MANIFEST, {}), (layout.SUMS, {})]  # written after the sums of the others
    context = {
        "release": row,
        "counts": counts,
        "files": [(name, description_of(name), file) for name, file in files],
        "missing": [(STATES.get(state, state), n) for state, n in counts.get("missing", {}).items()],
        "before": others(row).filter(version__lt=row.version).first(),
        "datasheet": datasheet and markdown_html(datasheet[:LARGEST_DATASHEET].partition("\n")[2]),
    }
    return render(request, "judging/releases/release.html", context)


release_download, judgments_csv = login_required(release_file), project_page(STAFF)(selectors.judgments_csv)


@login_required
def release_changes(request: HttpRequest, release_uuid: UUID) -> HttpResponse:
    """Show the changes since an earlier release: the one before, or another that is chosen."""
    row = ready_release(request, release_uuid)
    before, choices, kind = _before(request, row), list(others(row)), _kind(request)
    context: dict[str, Any] = {"release": row, "before": before, "choices": choices, "kind": kind}
    if before is not None:
        comparison = release_comparison_of(before=before, after=row, now=timezone.now())
        kinds = [(name, words, comparison.counts.get(name, 0)) for name, words in compare.KINDS.items()]
        # changes are looked up by their numbers, so that the last page comes as fast as the first
        n_changes = sum(n for name, _, n in kinds if kind in ("", name))
        page = page_of(request, range(1, n_changes + 1), CHANGES_PER_PAGE)
        numbers = {"number_of_kind__in": page.object_list, "kind": kind} if kind else {"number__in": page.object_list}
        changes = comparison.changes.filter(**numbers).order_by("number")
        context |= {"found": comparison, "kinds": kinds, "page": page, "changes": changes}
    return render(request, "judging/releases/changes.html", context)


@login_required
def release_changes_csv(request: HttpRequest, release_uuid: UUID) -> HttpResponseBase:
    """Every change, not only what fits a page."""
    row = ready_release(request, release_uuid)
    before = _before(request, row)
    if before is None:
        return redirect("judging:release-changes", row.uuid)
    comparison = release_comparison_of(before=before, after=row, now=timezone.now())
    if comparison.state != ReleaseComparison.State.READY:
        return redirect(f"{reverse('judging:release-changes', args=[row.uuid])}?before={before.uuid}")
    name = f"release-{before.version}-to-{row.version}.csv"
    fields = compare.Change._fields
    kind = _kind(request)
    rows = comparison.changes.filter(kind=kind) if kind else comparison.changes.all()
    return csv_stream(name, fields, rows.values_list(*fields).iterator(chunk_size=2000))


def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("kind", "")
    return kind if kind in compare.KINDS else ""


def _before(request: HttpRequest, row: Release) -> Release | None:
    """The one asked for; without a word the newest before this one, or else any other."""
    other_releases = others(row)
    if before_uuid := request.GET.get("before"):
        return get_object_or_404(other_releases, uuid=uuid_or_none(before_uuid))
    return other_releases.filter(version__lt=row.version).first() or other_releases.first()


@project_page(STAFF)
def words(request: MemberRequest, project: Project) -> HttpResponse:
    return _page(request, WordsForm(instance=ReleaseWords.objects.filter(project=project).first()))


@post_only("judging:release-words")
@project_page(LEAD)
def words_save(request: MemberRequest, project: Project) -> HttpResponse:
    form = WordsForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    if release_words_set(project=project, actor=request.user, **form.cleaned_data):
        messages.success(request, "Saved. The next release says so.")
    return redirect("judging:release-words", project.uuid)


def _page(request: MemberRequest, form: WordsForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "may_write": request.membership.is_lead}
    return render(request, WORDS_PAGE, context, status=status)
