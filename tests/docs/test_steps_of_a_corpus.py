"""The commands of docs/admins.md take the TVR validation release from its file to training sets; slow: it embeds all of
it."""

import csv
import json
import shlex
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from accounts.models import Project
from annotation.models import Candidate, Caption
from tests.docs.pages import blocks

DATA = Path(settings.MOMENTJUDGE_SHARED) / "data" / "tvr"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.django_db,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no shared data at {DATA}; set MOMENTJUDGE_SHARED"),
]
FIRST, LAST = "import_corpus", "query_statistics"


def commands() -> list[list[str]]:
    """The commands of the page for admins from the import to the statistics, as words."""
    (block,) = (b for b in blocks() if b.page.name == "admins.md" and "manage.py review_captions" in b.text)
    words = [shlex.split(line)[2:] for line in block.text.splitlines() if line.startswith(".venv/bin/python manage.py")]
    names = [command[0] for command in words]
    return words[names.index(FIRST) : names.index(LAST) + 1]


def test_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in DATA.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    for command in commands():
        if "--decisions" in command:
            accept_all(tmp_path / "review.csv")
        call_command(*command)
    project = Project.objects.get(name="TVR")
    assert not Caption.objects.filter(state=Caption.State.IN_REVIEW).exists()
    assert [project.queries.filter(split=split).count() for split in ("val", "test")] == [500, 2781]
    assert Candidate.objects.filter(query__project=project).count() == 40 * 3281
    rows = json.loads((tmp_path / "sets" / "train_top20.json").read_text())
    assert len(rows) == project.queries.filter(split="train").count() > 4000
    assert {len(query["relevant_moment"]) for query in rows} == {20}
    assert (tmp_path / "sets" / "train_top20.parquet").stat().st_size > 0
    assert (tmp_path / "statistics.csv").read_text().startswith('"group","texts","measure","value"\n')


def accept_all(file: Path) -> None:
    """Decide as somebody in a hurry: accept each proposal."""
    with file.open() as content:
        rows = list(csv.DictReader(content))
    assert rows, "nothing waits for a person"
    with file.open("w") as content:
        writer = csv.DictWriter(content, rows[0])
        writer.writeheader()
        writer.writerows({**row, "decision": "accept"} for row in rows)
