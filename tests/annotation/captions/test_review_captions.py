"""Captions in review as a file: written, decided outside, and stored."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Project
from annotation.models import Caption
from tests.annotation.captions.test_captions import waiting
from tests.factories import ProjectFactory, annotator, lead

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return ProjectFactory(name="TVR")  # type: ignore[no-any-return]


def write_review(folder: Path) -> tuple[Path, list[dict[str, str]]]:
    file = folder / "review.csv"
    call_command("review_captions", "TVR", out=file, stdout=StringIO())
    with file.open() as content:
        return file, list(csv.DictReader(content))


def decided(file: Path, rows: list[dict[str, str]], username: str | None) -> tuple[dict[str, int], str]:
    with file.open("w") as content:
        writer = csv.DictWriter(content, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    out, complaints = StringIO(), StringIO()
    call_command("review_captions", "TVR", decisions=file, username=username, stdout=out, stderr=complaints)
    return json.loads(out.getvalue()), complaints.getvalue()


def test_decisions_made_in_a_file(project: Project, tmp_path: Path) -> None:
    accepted, edited, untouched = (
        waiting(project, text=text) for text in ("Two men wave.", "=A man and Joey wave.", "?")
    )
    file, rows = write_review(tmp_path)
    assert [(row["wording"], row["failed"], row["decision"]) for row in rows] == [
        ("Two men wave.", "name", ""),
        ("'=A man and Joey wave.", "name", ""),
        ("?", "name", ""),
    ]
    rows[0] |= {"decision": "Accept"}
    rows[1] |= {"decision": "edit", "wording": "Two men wave back."}
    person = lead(project)
    counts, complaints = decided(file, rows, person.username)
    assert (counts, complaints) == ({"accept": 1, "edit": 1, "left": 1, "refused": 0}, "")
    captions_by_pk = {row.pk: (row.text, row.state, row.reviewed_by) for row in Caption.objects.all()}
    assert captions_by_pk[accepted.pk] == ("Two men wave.", "accepted", person)
    assert captions_by_pk[edited.pk] == ("Two men wave back.", "edited", person)
    assert captions_by_pk[untouched.pk] == ("?", "in_review", None)


@pytest.mark.parametrize("text", ["'Tis a man.", "=A man waves; -he leaves.", "Two men,＝wave.", "''=Two men."])
def test_a_wording_that_nobody_touched_comes_back_as_it_was(project: Project, tmp_path: Path, text: str) -> None:
    caption = waiting(project, text=text)
    file, rows = write_review(tmp_path)
    counts, _ = decided(file, [{**row, "decision": "edit"} for row in rows], lead(project).username)
    assert counts["edit"] == 1
    caption.refresh_from_db()
    assert caption.text == text


def test_a_line_that_cannot_be_saved_is_reported_and_the_others_are_saved(project: Project, tmp_path: Path) -> None:
    for _ in range(4):
        waiting(project)
    foreign = waiting(ProjectFactory())
    file, rows = write_review(tmp_path)
    assert str(foreign.uuid) not in file.read_text()
    rows[0] |= {"decision": "perhaps"}
    rows[1] |= {"decision": "accept", "caption": str(foreign.uuid)}
    rows[2] |= {"decision": "edit", "wording": " "}
    rows[3] |= {"decision": "accept"}
    counts, complaints = decided(file, rows, lead(project).username)
    assert counts == {"accept": 1, "edit": 0, "left": 0, "refused": 3}
    assert [line.split(":")[0] for line in complaints.splitlines()] == ["line 2", "line 3", "line 4"]


def test_it_is_somebody_of_the_staff_who_decides(project: Project, tmp_path: Path) -> None:
    waiting(project)
    file, rows = write_review(tmp_path)
    for username in (None, "nobody", annotator(project).username):
        with pytest.raises(CommandError, match="which lead or admin"):
            decided(file, rows, username)
