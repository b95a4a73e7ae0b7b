"""Installing WordNet, and what is said where it is missing."""

import shutil
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.management.commands.install_wordnet import FOLDER, unpack
from annotation.similarity import registry
from annotation.similarity.base import SimilarityMissing
from moment_retrieval.relevance.wordnet import NEEDED, VERB, WORDNET_FOLDER, WordNet, WordNetMissing, install, lacking


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a file of every name that WordNet has."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).write_text(name)
    return folder


def installed(data: Path) -> set[str]:
    return {file.name for file in (data / WORDNET_FOLDER).iterdir()}


def test_files_are_copied_and_the_missing_one_is_added(source: Path, tmp_path: Path) -> None:
    (source / "index.sense").write_text("senses")
    (source / "sents.vrb").write_text("not needed")
    folder = install(source, tmp_path / "data")
    assert installed(tmp_path / "data") == {*NEEDED, "index.sense", "lexnames"}
    lines = (folder / "lexnames").read_text().splitlines()
    assert len(lines) == 45
    assert lines[18].split() == ["18", "noun.person", "1"]
    assert not any(file.is_symlink() for file in folder.iterdir())
    assert [path.name for path in folder.parent.iterdir()] == ["wordnet"]  # nothing is left beside it


def test_what_is_installed_stays_unless_it_is_half_there(source: Path, tmp_path: Path, settings: Any) -> None:
    folder = install(source, tmp_path / "data")
    (folder / "data.noun").write_text("kept")
    install(source, tmp_path / "data")
    assert (folder / "data.noun").read_text() == "kept"
    (folder / "data.verb").unlink()
    install(source, tmp_path / "data")
    assert (folder / "data.noun").read_text() == "data.noun"
    assert lacking(folder) == []
    (source / "verb.exc").unlink()
    with pytest.raises(WordNetMissing, match=r"it lacks verb\.exc"):
        install(source, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    settings.MOMENTJUDGE_VAR = tmp_path / "var"
    with pytest.raises(CommandError, match=r"WordNet is not in .*/nowhere\. Either install Debian's packages"):
        call_command("install_wordnet", folder=tmp_path / "nowhere")


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no dpkg-deb here")
def test_packages_of_debian_are_unpacked(source: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(source, tree / FOLDER)
    (tree / "DEBIAN").mkdir()
    control = "Package: w\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: w\n"
    (tree / "DEBIAN" / "control").write_text(control)
    package = tmp_path / "w.deb"
    subprocess.run(["dpkg-deb", "--build", "-Znone", str(tree), str(package)], check=True, capture_output=True)
    into = tmp_path / "into"
    into.mkdir()
    assert lacking(unpack([package], into)) == []
    with pytest.raises(WordNetMissing, match="did not work"):
        unpack([source / "verb.exc"], into)


@pytest.mark.parametrize("name", ["pos", "synset", "meteor over bow", "synset-official"])
def test_without_wordnet_its_similarities_name_the_command(name: str, tmp_path: Path, settings: Any) -> None:
    settings.MOMENTJUDGE_VAR = tmp_path
    for ask in (registry.similarity, registry.check):
        with pytest.raises(SimilarityMissing, match=r" by \.venv/bin/python manage\.py install_wordnet --download,"):
            ask(name)


@pytest.mark.slow
def test_the_command_installs_what_can_be_read(wordnet: WordNet, tmp_path: Path, settings: Any) -> None:
    source = registry.nltk_data() / WORDNET_FOLDER
    settings.MOMENTJUDGE_VAR = tmp_path
    output = StringIO()
    call_command("install_wordnet", folder=source, stdout=output)
    assert output.getvalue() == f"WordNet 3.0 is in {tmp_path / 'nltk_data' / WORDNET_FOLDER}.\n"


def test_lookups_in_wordnet(wordnet: WordNet) -> None:
    assert wordnet.version == "3.0"
    lemmas = {"opened": "open", "ran": "run", "Opened": "Opened", "blorb": "blorb"}
    assert {word: wordnet.lemma(word, "v") for word in lemmas} == lemmas
    assert wordnet.lemma("glasses", "n") == "glass"
    assert [sense.name for sense in wordnet.senses("Dog", "n")][:2] == ["dog.n.01", "frump.n.01"]
    assert wordnet.senses("blorb", "n") == ()
    assert {"begin", "start", "commence"} <= {name for one in wordnet.synsets("start") for name in one.lemma_names()}
    assert wordnet.synsets("blorb") == []
    assert wordnet.uses("dogs", "n") == 42
    assert (wordnet.uses("blorb", VERB), wordnet.has("blorb", VERB), wordnet.has("ran", VERB)) == (0, False, True)
