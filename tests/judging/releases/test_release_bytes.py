"""A release depends on what was judged and on nothing else: no clock, no order of a disk, no other release."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from datetime import timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from accounts.models import Project
from annotation.models import Caption
from judging.imports.historic import judgments_import
from judging.models import BatchReview, Judgment, Release
from judging.releases import files, layout
from judging.releases.selectors import scope_of
from judging.releases.services import release_build, release_create, release_words_set
from tests.factories import NOW, ProjectFactory, triggers_asleep

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


def build_release(project: Project) -> Release:
    return release_build(release_id=release_create(project=project, actor=None).pk)


def entries(release: Release) -> dict[str, bytes]:
    with release.archive.open("rb") as source, ZipFile(source) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_documents_of_imported_judgments_claim_nothing_unknown(tmp_path: Path) -> None:
    data = Path(__file__).parents[2] / "docs" / "data" / "judgments.csv"
    judgments_import(path=data, project_name="tiny")
    release = Release.objects.create(project=Project.objects.get(name="tiny"), version=1)
    files.write_files(release, scope_of(release), tmp_path)
    readme, datasheet = (" ".join((tmp_path / name).read_text().split()) for name in (layout.README, layout.DATASHEET))
    assert "imported from a file. How they were collected is not known here" in datasheet
    for claim in ("ranked by the similarity", "were judged;", "without knowing", "were replaced", "Similarities"):
        assert claim not in datasheet
    assert "It has no ground truth" in datasheet and "**No ground truth:**" in readme
    assert "score RUN" not in readme and "import_release" in readme


def test_two_releases_of_one_state_are_one_archive_and_another_state_is_another(project: Project) -> None:
    one, two = build_release(project), build_release(project)
    assert one.version == two.version - 1
    assert (one.content_sha256, one.archive_sha256) == (two.content_sha256, two.archive_sha256)
    Caption.objects.filter(text="caption 0").update(text="somebody sings")
    assert build_release(project).content_sha256 != one.content_sha256


def test_the_day_of_a_release_is_that_of_its_last_grade_or_decision(project: Project) -> None:
    empty = ProjectFactory()
    assert build_release(empty).manifest["as_of"] == empty.created_at.date().isoformat()
    with triggers_asleep():
        Judgment.objects.update(created_at=NOW - timedelta(days=9))
        BatchReview.objects.update(decided_at=NOW - timedelta(days=8))
        assert build_release(project).manifest["as_of"] == (NOW - timedelta(days=8)).date().isoformat()
        Judgment.objects.update(created_at=NOW - timedelta(days=7))
    release = build_release(project)
    described = json.loads(entries(release)[layout.CROISSANT])
    assert release.manifest["as_of"] == described["datePublished"] == (NOW - timedelta(days=7)).date().isoformat()


def test_the_archive_has_no_times_and_a_fixed_order_and_its_row_knows_it(project: Project) -> None:
    release = build_release(project)
    with release.archive.open("rb") as source:
        content = source.read()
    assert (release.archive_bytes, release.archive_sha256) == (len(content), sha256(content).hexdigest())
    assert (release.is_partial, release.manifest["partial"]) == (True, True)
    with ZipFile(BytesIO(content)) as archive:
        infos = archive.infolist()
    assert {entry.date_time for entry in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.external_attr >> 16 for entry in infos} == {0o644}
    assert [entry.filename for entry in infos] == sorted(entry.filename for entry in infos)


class TestFiles:
    @pytest.fixture
    def folder(self, project: Project, tmp_path: Path) -> Path:
        release_words_set(
            project=project, actor=None, licence="CC BY 4.0", description="Songs | and dogs", uses="Play."
        )
        release = Release.objects.create(project=project, version=3)
        files.write_files(release, scope_of(release), tmp_path)
        return tmp_path

    def test_sha256sum_says_that_all_is_well(self, folder: Path) -> None:
        command = ["sha256sum", "-c", "SHA256SUMS"]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert len(result.stdout.splitlines()) == len(list(folder.iterdir())) - 1  # all but itself

    def test_every_grade_says_under_which_versions(self, folder: Path) -> None:
        head, *rows = (folder / layout.JUDGMENTS).read_text().splitlines()
        assert head == "pair_id,worker,relevance,round,seat,position,guideline,policy,source"
        judgments = Judgment.objects.order_by("pair", "round", "slot").filter(pair__batch__query__number__in=[10, 20])
        workers = [line.split(",")[1] for line in (folder / layout.RAW).read_text().splitlines()[1:]]
        assert rows == [
            f"{row.pair_id},{number},{row.grade},{row.round},{row.slot},{row.position},1,1,person"
            for row, number in zip(judgments, workers, strict=True)
        ]

    def test_json_keeps_letters_as_they_are(self, tmp_path: Path) -> None:
        layout.write_json(tmp_path / "names.json", {"Zoë": "東"})
        assert (tmp_path / "names.json").read_text(encoding="utf-8") == '{\n "Zoë": "東"\n}\n'

    def test_batches_queries_candidates_and_settings(self, folder: Path) -> None:
        assert (folder / layout.BATCHES).read_text().splitlines() == [
            "query_id,batch,rounds,pool,pilot,decision,suggestion,decided_by",
            *("10,1,2,,no,close,close,lead", "20,1,1,,no,extend,close,lead", "20,2,1,,no,,,"),
        ]
        assert (folder / layout.QUERIES).read_text().splitlines()[1:4] == [
            "10,a person sings,val,,,,no,yes,no",
            "11,a person sings,val,10,,,no,yes,no",
            "20,a dog barks,test,,,,no,yes,no",
        ]
        rows = (folder / layout.CANDIDATES).read_text().splitlines()
        assert rows[0] == "query_id,rank,video_name,start,end,similarity,measure,source,pool"
        assert rows[1] == "10,1,alpha,1.0,2.5,0.99,1,similarity,"
        assert len(rows) == 6
        settings_data = json.loads((folder / layout.SETTINGS).read_text())
        (policy,), (guideline,) = settings_data["policies"], settings_data["guidelines"]
        assert settings_data["consensus"]["largest_spread"] == 1
        assert (policy["version"], policy["judgments"], policy["extend_from_mean"]) == (1, 14, 2.0)
        assert (guideline["version"], guideline["file"], guideline["judgments"]) == (1, "guideline-v1.md", 14)
        assert (folder / "guideline-v1.md").read_text()
        assert settings_data["splits"] == {"train": 2, "val": 3, "test": 2}

    def test_the_datasheet_has_figures_and_words_and_the_readme_names_every_file(self, folder: Path) -> None:
        text = (folder / layout.DATASHEET).read_text()
        for section in ("Motivation", "Composition", "Collection process", "Uses", "Distribution", "Maintenance"):
            assert f"\n## {section}\n" in text
        for words in ("| judgments | 14 |", "**Under which licence?** CC BY 4.0", "| a batch is open | 1 |"):
            assert words in text
        assert "**Who can be asked?** *Not said yet.*" in text
        lines = (folder / layout.README).read_text().splitlines()
        for path in folder.iterdir():
            (line,) = (line for line in lines if line.startswith(f"| `{path.name}` |"))
            assert line.removeprefix(f"| `{path.name}` |").strip(" |")

    def test_the_commands_of_the_readme_run(self, folder: Path, tmp_path: Path) -> None:
        """Where a run is asked for, one that returns what was judged; of the split alone for our own scorer."""
        work_folder, text = tmp_path / "unpacked", (folder / layout.README).read_text()
        shutil.copytree(folder, work_folder)
        qrels = [line.split() for line in (folder / layout.QRELS).read_text().splitlines()]
        run = [f"{query} Q0 {moment} {rank} {-rank} own\n" for rank, (query, _, moment, _) in enumerate(qrels, start=1)]
        (work_folder / "run.txt").write_text("".join(run))
        val = {str(query["query_id"]) for query in json.loads((folder / "val.json").read_text())}
        (work_folder / "RUN").write_text("".join(line for line in run if line.split()[0] in val))
        (command,) = re.findall(r"```bash\n(.+)\n```", text)
        result = subprocess.run(
            [sys.executable, *shlex.split(command)[1:]],
            cwd=work_folder,
            env={"PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "IoU" in result.stdout
        code = "\n".join(re.findall(r"```python\n(.+?)```", text, re.S))
        result = subprocess.run(
            [sys.executable, "-c", code], cwd=work_folder, capture_output=True, text=True, check=True
        )
        assert "nDCG@20: 1.0" in result.stdout

    def test_croissant_names_files_and_columns_that_are_there(self, folder: Path) -> None:
        croissant = json.loads((folder / layout.CROISSANT).read_text())
        manifest = json.loads((folder / layout.MANIFEST).read_text())
        assert croissant["conformsTo"] == "http://mlcommons.org/croissant/1.0"
        assert croissant["version"] == f"0.0.0+{manifest['content_sha256'][:12]}"
        assert (croissant["license"], croissant["description"]) == ("CC BY 4.0", "Songs | and dogs")
        for file in croissant["distribution"]:
            content = (folder / file["contentUrl"]).read_bytes()
            assert (file["contentSize"], file["sha256"]) == (f"{len(content)} B", sha256(content).hexdigest())
        names = {file["@id"] for file in croissant["distribution"]}
        assert names == {path.name for path in folder.iterdir()} - set(layout.ABOUT_THE_RELEASE)
        for source in (field["source"] for record in croissant["recordSet"] for field in record["field"]):
            first = (folder / source["fileObject"]["@id"]).read_text().splitlines()[0]
            if "column" in source["extract"]:
                assert source["extract"]["column"] in first.split(",")
            else:
                assert source["extract"] == {"fileProperty": "lines"}
