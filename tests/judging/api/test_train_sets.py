"""Pseudo training sets by the API."""

from hashlib import sha256
from pathlib import Path

import pytest

from accounts.models import Membership, Project
from annotation.train_sets.services import train_set_start
from tests.annotation.train_sets.train_sets import filled, small_blocks, write_train_set
from tests.factories import MembershipFactory, ProjectFactory, admin
from tests.judging.api.acts import Program, refusal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    small_blocks(tmp_path, monkeypatch)
    return filled(ProjectFactory())


def test_a_set_is_found_and_fetched(project: Project) -> None:
    row, program = write_train_set(project), Program(admin(project))
    (train_set,) = program.get("train-sets", project).json()["results"]
    assert (train_set["uuid"], train_set["depth"], train_set["state"], train_set["rows"]) == (
        str(row.uuid),
        3,
        "done",
        21,
    )
    for form in ("json", "parquet"):
        answer = program.client.get(train_set[form]["url"])
        file = answer.getvalue()  # type: ignore[attr-defined]
        assert (len(file), sha256(file).hexdigest()) == (train_set[form]["bytes"], train_set[form]["sha256"])


def test_one_at_work_has_no_files(project: Project) -> None:
    row, program = train_set_start(project=project, depth=3, actor=None, wake=False), Program(admin(project))
    (train_set,) = program.get("train-sets", project).json()["results"]
    assert (train_set["state"], train_set["step"], train_set["json"], train_set["parquet"]) == (
        "running",
        "embedding",
        None,
        None,
    )
    assert refusal(program.get("train-set-json", row)) == (404, "not_found")


def test_files_are_for_leads_and_admins_of_the_project(project: Project) -> None:
    row = write_train_set(project)
    annotator = Program(MembershipFactory(project=project).user)
    strangers = [Program(MembershipFactory(role=role).user) for role in Membership.Role]
    for name in ("train-set-json", "train-set-parquet"):
        assert refusal(annotator.get(name, row)) == (403, "permission_denied")
        assert {refusal(stranger.get(name, row)) for stranger in strangers} == {(404, "not_found")}
