"""Pages of files on their way in: the form that takes one, and what its owner sees of it and decides."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from accounts.access import post_only, staff_page
from accounts.models import User
from core.exceptions import NotPossible, StorageUnavailable
from core.files import receive_on_disk
from core.uploads import Row, UploadKind, report_download

IMPORTS_SHOWN = 20
View = Callable[..., HttpResponseBase]


def receives_file(
    *, limit: str, instead: str, refuse: Callable[..., HttpResponse | None] | None = None
) -> Callable[[View], View]:
    """Have a page take a file into a temporary one, of at most the megabytes of the setting ``limit``.

    The form's token stands in the body, so it is looked at only when it is settled where the body goes. ``refuse`` may
    answer somebody who may not upload now: nothing of the body is read then, so its token is not asked for.
    """

    def decorate(view: View) -> View:
        protected = csrf_protect(view)

        @csrf_exempt
        @wraps(view)
        def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            receive_on_disk(request, most_mb=getattr(settings, limit), instead=instead)
            if refuse and request.method == "POST" and (refusal := refuse(request, *args, **kwargs)):
                return refusal
            return protected(request, *args, **kwargs)

        return page

    return decorate


def save_form(
    form: forms.Form, save: Callable[..., Any], render_form: Callable[[forms.Form, int], HttpResponse], page: str
) -> HttpResponse:
    """Save what a form with a file holds and go to the ``page`` of the row; or show the form with what is wrong."""
    if not form.is_valid():
        return render_form(form, 422)
    try:
        row = save(**form.cleaned_data)
    except (NotPossible, StorageUnavailable) as error:
        form.add_error(None, str(error))
        return render_form(form, error.status)
    return redirect(page, row.uuid)


def upload_urls(
    kind: UploadKind[Row],
    prefix: str,
    *,
    page: str,
    back: str | Callable[[Row], HttpResponse],
    show: Callable[[HttpRequest, Row], HttpResponse],
) -> list[URLPattern]:
    """Return the pages of one upload, for its owner alone.

    Args:
        kind: the work that checks and imports it.
        prefix: of the addresses.
        page: full name of the page of one upload; the names of the others begin with it.
        back: full name of the page that lists them, or what leads to it where each has its own.
        show: renders the page: how far it is, what was found in it, and the question whether to import it.
    """

    def own(request: HttpRequest, import_uuid: UUID) -> Row:
        return get_object_or_404(kind.table, uuid=import_uuid, owner=request.user)

    @staff_page
    def import_page(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
        return show(request, own(request, import_uuid))

    @staff_page
    @post_only(page)
    def import_confirm(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
        row = own(request, import_uuid)
        kind.confirm(row=row, actor=cast(User, request.user), skip_bad=request.POST.get("skip_bad") == "yes")
        return redirect(page, row.uuid)

    @staff_page
    @post_only(page)
    def import_discard(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
        row = own(request, import_uuid)
        kind.discard(row=row, actor=cast(User, request.user))
        messages.success(request, "The file was discarded; nothing was imported.")
        return redirect(back) if isinstance(back, str) else back(row)

    @staff_page
    def import_report(request: HttpRequest, import_uuid: UUID) -> FileResponse:
        return report_download(own(request, import_uuid))

    one, name = f"{prefix}<uuid:import_uuid>/", page.partition(":")[2]
    return [
        path(one, import_page, name=name),
        path(f"{one}confirm/", import_confirm, name=f"{name}-confirm"),
        path(f"{one}discard/", import_discard, name=f"{name}-discard"),
        path(f"{one}report.csv", import_report, name=f"{name}-report"),
    ]
