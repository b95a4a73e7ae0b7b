"""Somebody who watches a moment."""

from typing import Any

from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from annotation.models import Moment
from annotation.previews.services import preview_save
from tests.factories import AssignmentFactory

GIF, MP4 = b"GIF89a" + bytes(200), b"0123456789"


def watched() -> tuple[Client, Moment]:
    """Somebody who judges a moment with a preview and its twin."""
    assignment = AssignmentFactory(batch__pairs=1)
    moment = assignment.batch.pairs.get().candidate.moment
    default_storage.delete(str(moment.preview.name))
    Moment.objects.filter(pk=moment.pk).update(preview="", preview_state="missing")
    assert preview_save(moment=moment, gif=GIF, clip=MP4)
    moment.refresh_from_db()
    return logged_in(assignment.annotator), moment


def logged_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def preview_urls(moment: Moment) -> list[str]:
    return [reverse(f"judging:{name}", args=[moment.preview_uuid]) for name in ("preview", "preview-clip")]
