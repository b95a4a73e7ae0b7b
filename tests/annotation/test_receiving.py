"""Files on their way in lie in the data folder, and what a killed process left of one goes."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.receiving import LEFT_AFTER_S, ReceivedOnDisk
from tests.factories import ProjectFactory, lead
from tests.judging.api.acts import bearer


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "data" / "receiving"
    return settings.FILE_UPLOAD_TEMP_DIR  # type: ignore[no-any-return]


def receive() -> TemporaryUploadedFile:
    handler = ReceivedOnDisk()
    handler.new_file("file", "run.json", "application/json", None)
    handler.receive_data_chunk(b"[]", 0)
    return handler.file_complete(2)


def test_a_file_lies_in_a_folder_that_is_the_sites_alone(folder: Path) -> None:
    file = receive()
    assert Path(file.temporary_file_path()).parent == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    file.close()
    assert list(folder.iterdir()) == []


def test_what_was_left_a_day_ago_goes_and_what_is_under_way_stays(folder: Path) -> None:
    under_way = receive()
    left = folder / "left.upload.gz"
    left.write_bytes(b"half")
    day_ago = time.time() - LEFT_AFTER_S - 60
    os.utime(left, (day_ago, day_ago))
    receive().close()
    assert list(folder.iterdir()) == [Path(under_way.temporary_file_path())]


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["annotation:import-new", "judging:judgment-import-new"])
def test_imports_are_received_there(door: str, folder: Path, client: Client) -> None:
    client.force_login(lead(ProjectFactory()))
    client.post(reverse(door), {"file": SimpleUploadedFile("some.json", b"[]")})
    assert folder.is_dir()


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["models_runner:run-new", "api:runs"])
def test_runs_are_received_there(door: str, folder: Path, client: Client) -> None:
    project = ProjectFactory()
    person = lead(project)
    client.force_login(person)
    form = {"file": SimpleUploadedFile("run.json", b"[]")}
    client.post(reverse(door, args=[project.uuid]), form, headers=bearer(person))
    assert folder.is_dir()
