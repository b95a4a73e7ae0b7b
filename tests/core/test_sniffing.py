"""Uploads are recognised by their content."""

import gzip
import io

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.corpora.forms import ImportForm, SubtitlesForm
from annotation.topics.forms import TopicImportForm
from core.files import text_or_packed
from judging.imports.views import JudgmentImportForm
from models_runner.ground_truths.forms import GroundTruthForm, TruthRunForm, text_or_matrix
from models_runner.leaderboard.forms import RunForm
from tests.migrated import APPS

PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
NO_TEXTS = [PICTURE, b"\xff\xd8\xff\xe0\x00\x10JFIF", b"\0\0\0\x18ftypmp42", b"\x7fELF\x02\x01\x01", b"MZ\x90\x00\x03"]
NO_TEXTS += [b"%PDF-1.7\n1 0 obj", b"SQLite format 3\0", b"\x80\x04\x95\x10\0\0"]
PACKED = [gzip.compress(b"{}"), b"PK\x03\x04\x14\0"]
TEXTS = [b'{"a": 1}', "query,moment\né,1\n".encode(), b"\xef\xbb\xbfa,b", "a,b".encode("utf-16"), b"\xe9", b""]


def test_what_is_no_text_is_refused() -> None:
    for content in NO_TEXTS:
        with pytest.raises(forms.ValidationError):
            text_or_packed(io.BytesIO(content))


def test_texts_and_what_packs_them_pass_from_their_beginning() -> None:
    for content in TEXTS + PACKED:
        source = io.BytesIO(content)
        source.read(1)
        text_or_packed(source)
        assert source.tell() == 0


def test_every_form_that_takes_a_file_looks_into_it() -> None:
    """Whatever the name and the browser say."""

    def all_forms(kind: type[forms.BaseForm]) -> set[type[forms.BaseForm]]:
        return {one for child in kind.__subclasses__() for one in {child, *all_forms(child)}}

    ours = {one for one in all_forms(forms.BaseForm) if one.__module__.split(".")[0] in ("config", *APPS)}
    fields = {form: field for form in ours for field in form.base_fields.values() if isinstance(field, forms.FileField)}
    uploads = {ImportForm, JudgmentImportForm, RunForm, SubtitlesForm, TopicImportForm, GroundTruthForm, TruthRunForm}
    assert set(fields) == uploads
    for field in fields.values():
        with pytest.raises(forms.ValidationError, match="neither a text"):
            field.clean(SimpleUploadedFile("data.json", PICTURE, content_type="application/json"))
        assert {text_or_packed, text_or_matrix} & set(field.validators)
