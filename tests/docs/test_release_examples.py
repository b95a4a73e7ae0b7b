"""Code that README.md of an archive and docs/examples give for releases, on a release."""

import json
import re
from pathlib import Path

import pytest

from judging.models import Release
from judging.releases import files
from judging.releases.selectors import scope_of
from judging.review.services import batch_review
from judging.work.services.batches import batch_advance
from tests.docs.pages import ROOT, example_module
from tests.factories import (
    BatchFactory,
    CandidateFactory,
    MembershipFactory,
    MomentFactory,
    PairFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
    lead,
)
from tests.judging.play import judge
from tests.judging.scenario import HandMade

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The release of the hand-made project, with a run that finds the best moment of query 10 second."""
    release = Release.objects.create(project=HandMade().project, version=1)
    files.write_files(release, scope_of(release), tmp_path)
    lines = ["10 Q0 alpha:10.0-20.25 1 0.9 mine", "10 Q0 alpha:1.0-2.5 2 0.8 mine"]
    (tmp_path / "run.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_code_of_an_archives_readme(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    first, second = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    namespace: dict[str, object] = {}
    exec(first, namespace)
    assert namespace["rows"][0] == (10, "alpha", 1.0, 2.5, 4)  # type: ignore[index]
    exec(second, {})
    assert "nDCG@20" in capsys.readouterr().out


def test_the_lines_of_the_data_formats_page_are_those_of_a_release(tmp_path: Path) -> None:
    """Made of what the page shows: one query, its best moment, and two annotators who gave it 4."""
    project = ProjectFactory()
    video = VideoFactory(corpus=project.dataset.corpus, name="ninth_floor_s01e01_seg03_clip_02", duration_s=60.0)
    query = QueryFactory(project=project, number=104, text="A man walks in through the door.", split="test")
    moment = MomentFactory(video=video, start_s=39.92, end_s=45.5)
    batch = BatchFactory(query=query, pairs=0)
    pair = PairFactory(batch=batch, candidate=CandidateFactory(query=query, moment=moment, rank=1, similarity=1.0))
    for number in (2, 3):
        judge(batch, [4], MembershipFactory(project=project, number=number).user)
    batch_advance(batch_id=batch.pk)
    batch_review(batch=batch, extend=False, lead=lead(project))
    release = Release.objects.create(project=project, version=1)
    files.write_files(release, scope_of(release), tmp_path)
    text = (ROOT / "docs" / "data-formats.md").read_text()
    for name in ("raw_annotation.csv", "pairs.csv", "qrels.txt"):
        _, _, section = text.partition(f"### {name}\n")
        examples = re.findall(r"```\n(.*?)```", section.partition("\n### ")[0], re.DOTALL)
        lines = (tmp_path / name).read_text().splitlines()
        release_lines = [re.sub(rf"^{pair.pk},", "1,", line) for line in lines]
        assert [example.splitlines() for example in examples] == [release_lines], name


def test_the_example_scores_a_run_of_the_published_form(folder: Path) -> None:
    example = example_module("score_release")
    truth = json.loads((folder / "val.json").read_text()) + json.loads((folder / "test.json").read_text())
    perfect = example.scored(folder, [query for query in truth if query["query_id"] != 11])  # a twin: not in the qrels
    values = {str(measure): round(value, 6) for measure, value in perfect.items()}
    assert values == {"nDCG@20": 1.0, "R(rel=3)@20": 0.5, "RR(rel=3)": 0.5}
