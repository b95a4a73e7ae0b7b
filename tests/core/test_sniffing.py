"""Uploads are recognised by their content."""

import gzip
import io

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.corpora.views import ImportForm
from core.files import text_or_packed
from judging.imports.views import JudgmentImportForm
from models_runner.leaderboard.forms import RunForm
from tests.migrated import APPS

PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
NO_TEXTS = {
    "png": PICTURE,
    "gif": b"GIF89a\x01\x00\x01\x00",
    "jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "mp4": b"\0\0\0\x18ftypmp42",
    "elf": b"\x7fELF\x02\x01\x01",
    "exe": b"MZ\x90\x00\x03",
    "pdf": b"%PDF-1.7\n1 0 obj",
    "hdf5": b"\x89HDF\r\n\x1a\n",
    "sqlite": b"SQLite format 3\0",
    "pickle": b"\x80\x04\x95\x10\0\0",
    "7z": b"7z\xbc\xaf\x27\x1c\x00",
}
TEXTS = {
    "json": b'{"a": 1}',
    "csv": "query,moment\né,1\n".encode(),
    "bom": b"\xef\xbb\xbfa,b",
    "utf-16": "a,b".encode("utf-16"),
    "latin-1": "é".encode("latin-1"),
    "gz": gzip.compress(b"{}"),
    "zip": b"PK\x03\x04\x14\0",
    "empty": b"",
}


@pytest.mark.parametrize("name", NO_TEXTS)
def test_what_is_no_text_is_refused(name: str) -> None:
    with pytest.raises(forms.ValidationError):
        text_or_packed(io.BytesIO(NO_TEXTS[name]))


@pytest.mark.parametrize("name", TEXTS)
def test_texts_and_what_packs_them_pass_from_their_beginning(name: str) -> None:
    source = io.BytesIO(TEXTS[name])
    source.read(1)
    text_or_packed(source)
    assert source.tell() == 0


def test_every_form_that_takes_a_file_looks_into_it() -> None:
    """Whatever the name and the browser say."""

    def all_forms(kind: type[forms.BaseForm]) -> set[type[forms.BaseForm]]:
        return {one for child in kind.__subclasses__() for one in {child, *all_forms(child)}}

    ours = {one for one in all_forms(forms.BaseForm) if one.__module__.split(".")[0] in ("config", *APPS)}
    fields = {form: field for form in ours for field in form.base_fields.values() if isinstance(field, forms.FileField)}
    assert set(fields) == {ImportForm, JudgmentImportForm, RunForm}
    for field in fields.values():
        with pytest.raises(forms.ValidationError, match="neither a text"):
            field.clean(SimpleUploadedFile("data.json", PICTURE, content_type="application/json"))
        assert text_or_packed in field.validators
