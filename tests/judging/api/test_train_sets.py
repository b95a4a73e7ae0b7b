"""Pseudo training sets by the API."""

from hashlib import sha256
from pathlib import Path

import pytest

from accounts.models import Project
from annotation.train_sets.services import train_set_start
from tests.annotation.train_sets.train_sets import filled, small_blocks, write_train_set
from tests.factories import ProjectFactory, admin
from tests.judging.api.acts import Program, refusal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    small_blocks(tmp_path, monkeypatch)
    return filled(ProjectFactory())


def test_a_set_is_found_and_fetched(project: Project) -> None:
    row, program = write_train_set(project), Program(admin(project))
    (train_set,) = program.get("train-sets", project).json()["results"]
    assert (train_set["uuid"], train_set["depth"]) == (str(row.uuid), 3)
    assert (train_set["state"], train_set["rows"]) == ("done", 21)
    for form in ("json", "parquet"):
        answer = program.client.get(train_set[form]["url"])
        file = answer.getvalue()  # type: ignore[attr-defined]
        assert (len(file), sha256(file).hexdigest()) == (train_set[form]["bytes"], train_set[form]["sha256"])


def test_one_at_work_has_no_files(project: Project) -> None:
    row, program = train_set_start(project=project, depth=3, actor=None, wake=False), Program(admin(project))
    (train_set,) = program.get("train-sets", project).json()["results"]
    assert (train_set["state"], train_set["step"]) == ("running", "embedding")
    assert (train_set["json"], train_set["parquet"]) == (None, None)
    assert refusal(program.get("train-set-json", row)) == (404, "not_found")
