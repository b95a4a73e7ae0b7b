"""Text that wants to be more than text, in every column that people can write."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.db import IntegrityError, transaction
from django.db.models import CharField, Field, FileField, JSONField, Model, TextField
from django.db.models.fields.json import JSONField as Json

from tests.factories import triggers_asleep

INJECTED = "data-injected"  # on every element that must not come to be
HTML = f"""'"><i {INJECTED} onfocus=injected() autofocus>"""
MORE = (
    f"<script {INJECTED}>injected()</script></title></textarea></script><svg {INJECTED} onload=injected()>"
    f"<img {INJECTED} src=x onerror=injected()> [a](javascript:injected()) ![b](https://elsewhere.example/p.png) "
    "{{7*7}} {% debug %} ${7*7} %(a)s {0.__class__} "
    "\\input{/etc/passwd} ^^5cinput /etc/passwd \\write18{id} &#60; &lt;i&gt; "
    "\u202elive\u202c \u2066\u200b\ufeff \x0b\x1b[31m\x7f \ud7ff "
    "=HYPERLINK(1) ]]> --> */ */} `${x}` \u2028 " + "Rindfleischetikettierungsueberwachungsaufgaben" * 3
)
WORDS = HTML + MORE
OURS = ("core", "accounts", "annotation", "judging", "models_runner")
CODES = {  # columns that the site itself writes or chooses from a list
    *("password", "digest", "session_key", "session_data", "similarity", "provider", "format", "form", "kind"),
    *("action", "what", "metric", "convention", "gain", "split", "currency", "pay_currency", "time_zone", "path"),
    *("before", "after"),
    *("checksum", "sha256", "archive_sha256", "content_sha256", "json_sha256", "parquet_sha256", "state_of_texts"),
    *("LeftFile.name", "Measure.name", "Measure.version", "Measure.normalisation", "step", "colour"),
}
SEEN = {"Guideline.body", "Guideline.levels", "Query.text", "Project.name", "User.username"}
LISTS = {"Guideline.levels", "GuidelineDraft.levels", "ScreeningQuestion.options"}  # of words, in JSON


def spoil() -> set[str]:
    """Overwrite every such column of every row, as if all people of the site were hostile; returns their names."""
    spoilt = set()
    with transaction.atomic(), triggers_asleep():
        for model in apps.get_models():
            if model._meta.app_label in OURS and model._meta.managed:
                spoilt |= set(_spoil_rows(model))
    assert spoilt >= SEEN, SEEN - spoilt
    return spoilt


def _spoil_rows(model: type[Model]) -> Iterator[str]:
    for field in model._meta.concrete_fields:
        name = f"{model.__name__}.{field.name}"
        if not is_written(field, name):
            continue
        rows = model._default_manager.all()
        for row in rows.only("pk", field.name):
            words = hostile(field, row.pk, getattr(row, field.name))
            with suppress(IntegrityError), transaction.atomic():  # some columns are empty while others are as they are
                model._default_manager.filter(pk=row.pk).update(**{field.name: words})
                yield name


def is_written(field: "Field[Any, Any]", name: str) -> bool:
    """By people, in words of their own."""
    if isinstance(field, JSONField | Json):
        return name in LISTS
    is_text = isinstance(field, CharField | TextField) and not isinstance(field, FileField)
    return is_text and not field.choices and field.name not in CODES and name not in CODES


def hostile(field: "Field[Any, Any]", pk: Any, before: Any) -> Any:
    """Of the row's own: what has to be one of its kind stays so."""
    if isinstance(before, list):
        return [f"{number}{HTML}" for number, _ in enumerate(before)]
    room = field.max_length or 2000
    own = str(pk)
    return own + WORDS[: room - len(own)]
