"""A release for Hugging Face datasets and for ir_datasets: each library loads what the command wrote."""

import json
import runpy
from pathlib import Path
from zipfile import ZipFile

import pytest

from accounts.models import Project
from judging.releases.files import pack, write_files
from judging.releases.selectors import scope_of
from judging.releases.services import release_create
from moment_retrieval.cli import main
from tests.conftest import hash_with

pytestmark = pytest.mark.django_db(transaction=False)


@pytest.fixture(scope="module")
def release(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, release = tmp_path_factory.mktemp("release"), release_create(project=project, actor=None, wake=False)
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        write_files(release, scope_of(release), folder / "files")
    pack(folder / "files", folder / "release.zip")
    return folder / "release.zip"


@pytest.fixture(scope="module")
def converted(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("converted") / "dataset"
    assert main(["convert-release", str(release), "--to", str(folder)]) == 0
    return folder


def judged_pairs(release: Path) -> set[tuple[str, str, int]]:
    """Query, moment and relevance, read from the release's own qrels; query 11 shares those of 10."""
    lines = ZipFile(release).read("qrels.txt").decode().splitlines()
    pairs = {(query, moment, int(relevance)) for query, _, moment, relevance in map(str.split, lines)}
    return pairs | {("11", moment, relevance) for query, moment, relevance in pairs if query == "10"}


def test_hugging_face_datasets_loads_every_table(
    release: Path, converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    from datasets import get_dataset_config_names, load_dataset

    assert get_dataset_config_names(str(converted)) == ["queries", "qrels", "moments"]
    tables = {name: load_dataset(str(converted), name, cache_dir=str(tmp_path)) for name in ("queries", "qrels")}
    assert {split: table["query_id"] for split, table in tables["queries"].items()} == {
        "val": ["10", "11"],
        "test": ["20"],
    }
    rows = {tuple(row.values()) for table in tables["qrels"].values() for row in table}
    assert rows == judged_pairs(release)
    moments = load_dataset(str(converted), "moments", split="pool", cache_dir=str(tmp_path))
    assert len(moments) == 4 and moments[0]["captions"] == ["caption 0", "a later caption"]
    assert moments[0]["moment_id"] == "alpha:1.0-2.5"
    assert {moment for _, moment, _ in rows} <= set(moments["moment_id"])


def test_ir_datasets_loads_every_split(release: Path, converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(converted.parent / "home"))
    import ir_datasets

    runpy.run_path(str(converted / "ir_datasets_definition.py"))
    val = ir_datasets.load("momentjudge/hand-made/val")
    assert [query.query_id for query in val.queries_iter()] == ["10", "11"]
    docs = {doc.doc_id: doc.text for doc in val.docs_iter()}
    assert docs["alpha:1.0-2.5"] == "caption 0 / a later caption"
    test = ir_datasets.load("momentjudge/hand-made/test")
    rows = {(one.query_id, one.doc_id, one.relevance) for split in (val, test) for one in split.qrels_iter()}
    assert rows == judged_pairs(release)


def test_what_is_refused(release: Path, converted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*words: str) -> str:
        assert main(["convert-release", *words]) == 2
        return capsys.readouterr().err

    assert "is not empty" in refused(str(release), "--to", str(converted))
    assert "small letters" in refused(str(release), "--to", str(tmp_path / "new"), "--name", "../up")
    (tmp_path / "other.zip").write_bytes(b"PK")
    assert "cannot be read" in refused(str(tmp_path / "other.zip"), "--to", str(tmp_path / "new"))
    with ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("qrels.txt", "")
    assert "has no README.md, moments.jsonl" in refused(str(tmp_path / "other.zip"), "--to", str(tmp_path / "new"))
    with ZipFile(release) as source, ZipFile(tmp_path / "other.zip", "w") as archive:
        for name in source.namelist():
            archive.writestr(name, json.dumps([]) if name == "settings.json" else source.read(name))
    assert "no release that this version knows" in refused(str(tmp_path / "other.zip"), "--to", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
