"""A release goes back into a project of its own, and the release of that is the same."""

import csv
import json
import re
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Project
from annotation.models import Candidate, Corpus, Query
from annotation.topics.services import topic_change, topic_create
from core.exceptions import ImportRefused, NotPossible
from judging.guidelines.services import guideline_publish, policy_publish
from judging.imports.historic import judgments_import
from judging.imports.release import release_import
from judging.models import Judgment, Pair, Release
from judging.projects.services import query_set_create
from judging.releases import files, layout
from judging.releases.metadata import IMPORT
from judging.releases.selectors import scope_of
from judging.releases.services import release_words_set
from judging.review.services import batch_review
from judging.work.services.batches import batch_advance
from tests.factories import BatchFactory, PairFactory, ProjectFactory, QueryFactory, UserFactory, lead
from tests.judging.growing import Growing
from tests.judging.play import finish, judge, judge_round
from tests.judging.scenario import HandMade
from tests.mutations import mutated

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
DATA = Path(__file__).parents[2] / "docs" / "data"
NO_CONSENSUS = ",dropped,,no_consensus,"


def write_release(project: Project, folder: Path, version: int = 1) -> dict[str, Any]:
    release = Release.objects.create(project=project, version=version)
    return files.write_files(release, scope_of(release), folder)


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name not in layout.ABOUT_THE_RELEASE
    }


def step_aside(project: Project, name: str = "was released") -> None:
    """Let another project have the names."""
    Corpus.objects.filter(pk=project.dataset.corpus_id).update(name=name)
    Project.objects.filter(pk=project.pk).update(name=name)


def again(project: Project, folder: Path) -> tuple[Project, dict[str, str], dict[str, str]]:
    """A project made of the project's release; the files of both, by their sums."""
    write_release(project, folder / "one")
    step_aside(project)
    new_project, _ = release_import(path=folder / "one")
    write_release(new_project, folder / "two")
    return new_project, digests(folder / "one"), digests(folder / "two")


@pytest.fixture(scope="module")
def all_done(module_database: None) -> Project:
    """Every query is finished: under two guidelines, in a query set, with words; a seed is known."""
    scenario = HandMade()
    project = scenario.project
    Corpus.objects.filter(pk=project.dataset.corpus_id).update(name="all done")
    Project.objects.filter(pk=project.pk).update(name="all done")
    guideline_publish(project=project, actor=scenario.lead, body="Grade, *please*.\r\n", levels=list("abcde"))
    policy_publish(project=project, actor=scenario.lead, lease_minutes=30)
    query_set_create(project=project, name="songs", queries=project.queries.filter(number=10), actor=scenario.lead)
    release_words_set(project=project, actor=scenario.lead, licence="CC BY 4.0", contact="team@example.org")
    project.audit_events.create(project=project, action="queries.draw", data={"seed": 7, "val": 3})
    QueryFactory(project=project, number=2**40, text='"quoted", with a comma\nand a line', split="train")
    QueryFactory(project=project, number=2**40 + 1, text="a lone carriage\rreturn", split="train")
    waiting, begun = (project.batches.get(query__number=number) for number in (30, 31))
    batch_review(batch=waiting, extend=False, lead=scenario.lead)
    finish(begun.assignments.get())
    first_grade = Judgment.objects.get(pair__batch=begun).grade
    judge(begun, [first_grade])
    batch_advance(batch_id=begun.pk)
    begun.refresh_from_db()
    batch_review(batch=begun, extend=False, lead=scenario.lead)
    return Project.objects.get(pk=project.pk)


@pytest.fixture(scope="module")
def release_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("released")


@pytest.fixture
def released(all_done: Project, release_folder: Path, tmp_path: Path) -> Path:
    """A copy of the release of the project, written once, whose names are free."""
    if not (release_folder / "one").exists():
        write_release(all_done, release_folder / "one")
    step_aside(all_done)
    return Path(shutil.copytree(release_folder / "one", tmp_path / "one"))


def test_the_release_of_what_was_imported_is_the_same(all_done: Project, tmp_path: Path) -> None:
    new_project, before, after = again(all_done, tmp_path)
    assert len(before) == 24
    assert after == before
    assert new_project.dataset.corpus != all_done.dataset.corpus


def test_states_relevance_and_grades_are_those_released_and_nobody_has_a_name(
    all_done: Project, released: Path
) -> None:
    other = ProjectFactory()

    def name_another_project(text: str) -> str:
        settings_data = json.loads(text)
        settings_data["query_sets"][0] |= {"project_id": other.pk, "id": 999_999}
        return json.dumps(settings_data)

    change(released, "settings.json", name_another_project)
    new_project, _ = release_import(path=released)
    assert not other.query_sets.exists()
    assert [query_set.name for query_set in new_project.query_sets.all()] == ["songs"]
    columns = ("batch__query__number", "candidate__rank", "state", "relevance", "reason")
    rows = Pair.objects.order_by(*columns[:2]).values_list(*columns)
    assert list(rows.filter(batch__project=new_project)) == list(rows.filter(batch__project=all_done))
    judgments = Judgment.objects.filter(pair__batch__project=new_project)
    assert set(judgments.values_list("source", "origin", "assignment")) == {("imported", "person", None)}
    assert set(judgments.values_list("guideline__version", "policy__version")) >= {(1, 1), (2, 2)}
    assert new_project.release_words.licence == "CC BY 4.0"
    assert not new_project.batches.filter(awaits_review=True).exists()
    people = new_project.memberships.select_related("user")
    assert {(row.label.split()[0], row.status) for row in people} == {("annotator", "left")}
    assert {row.number for row in people} >= {101, 102, 103, 104}
    assert all(row.user.username.startswith("released-") for row in people)
    assert not any(row.user.has_usable_password() for row in people)
    numbers = Pair.objects.filter(batch__project=new_project).values_list("source_id", flat=True)
    assert PairFactory.create().pk > max(number for number in numbers if number is not None)  # those of later pairs


def test_a_partial_release_omits_what_it_lists(module_database: None, tmp_path: Path) -> None:
    scenario = HandMade()
    manifest = write_release(scenario.project, tmp_path / "one")
    assert manifest["partial"]
    with (tmp_path / "one" / "missing.csv").open(newline="") as file:
        rows = [(row["query_id"], row["state"], row["batch"], row["pairs_undecided"]) for row in csv.DictReader(file)]
    assert rows == [("30", "awaits_decision", "1", "0"), ("31", "being_judged", "1", "1")]
    step_aside(scenario.project)
    again_made, _ = release_import(path=tmp_path / "one")
    write_release(again_made, tmp_path / "two")
    one, two = digests(tmp_path / "one"), digests(tmp_path / "two")
    assert {name for name in one if one[name] != two[name]} == {"missing.csv", "datasheet.md"}
    assert [query.batches.count() for query in Query.objects.filter(project=again_made, number__in=[30, 31])] == [0, 0]


def test_pools_come_back_with_who_returned_what(tmp_path: Path) -> None:
    scenario = Growing()
    scenario.close()
    (batch,) = scenario.open(scenario.plan(scenario.rows("xml", [1, 3]), depth=5))
    judge_round(batch, [3], [3])
    imported, before, after = again(scenario.project, tmp_path)
    assert after == before
    assert Candidate.objects.get(query__project=imported, source="pooled").pooling.sources.get().name == "xml"


def test_topics_come_back_with_their_versions(tmp_path: Path) -> None:
    scenario = Growing()
    scenario.close()
    topic = topic_create(project=scenario.project, title="Somebody wails", number=900)
    topic_change(topic=topic, title="A man wails", description="Loudly.", narrative="One\n\ntwo")
    batch = BatchFactory(query=topic.query, pairs=1)
    judge_round(batch, [3], [3])
    batch_review(batch=batch, extend=False, lead=lead(scenario.project))
    imported, before, after = again(scenario.project, tmp_path)
    lines = (tmp_path / "one" / layout.TOPICS).read_text().splitlines()
    assert [(line["version"], line["title"], line["judgments"]) for line in map(json.loads, lines)] == [
        (1, "Somebody wails", 0),
        (2, "A man wails", 2),
    ]
    assert after == before
    assert imported.queries.get(number=900).topic.versions.get(version=2).narrative == "One\n\ntwo"


def test_historic_judgments_come_back(tmp_path: Path) -> None:
    judgments_import(path=DATA / "judgments.csv", project_name="tiny")
    imported, before, after = again(Project.objects.get(name="tiny"), tmp_path)
    with (tmp_path / "one" / layout.PAIRS).open() as file:
        assert {row["source"] for row in csv.DictReader(file)} == {"imported"}
    assert after == before
    assert imported.dataset.corpus.is_placeholder
    assert Judgment.objects.filter(pair__batch__project=imported, occurrence=1).exists()


class TestRefused:
    """Whatever is wrong, nothing is kept and the reason is said."""

    @pytest.fixture
    def folder(self, released: Path) -> Iterator[Path]:
        before = (Project.objects.count(), Corpus.objects.count())
        yield released
        assert (Project.objects.count(), Corpus.objects.count()) == before

    def refused(self, path: Path, words: str) -> None:
        with pytest.raises(ImportRefused, match=words):
            release_import(path=path)

    def change_and_refuse(self, folder: Path, name: str, edit: Callable[[str], str], words: str) -> None:
        change(folder, name, edit)
        self.refused(folder, words)

    def test_a_checksum_that_fails_and_a_link(self, folder: Path) -> None:
        raw = (folder / "raw_annotation.csv").read_bytes()
        (folder / "raw_annotation.csv").write_bytes(raw[:-2] + (b"3" if raw[-2:-1] != b"3" else b"2") + b"\n")
        self.refused(folder, "raw_annotation.csv is not the file of the manifest")
        (folder / "pairs.csv").rename(folder / "elsewhere.csv")
        (folder / "pairs.csv").symlink_to("elsewhere.csv")
        self.refused(folder, "pairs.csv is missing, or it is no plain file")

    @pytest.mark.parametrize(
        ("name", "was", "becomes", "words"),
        [
            ("pairs.csv", NO_CONSENSUS, ",settled,2,,", "is settled 2, which its grades"),
            ("pairs.csv", NO_CONSENSUS, ",dropped,3,no_consensus,", "line 4: a settled pair has its relev"),
            ("judgments.csv", ",101,", ",-1,", "judgments.csv, line 2: worker is '-1'"),
            ("judgments.csv", ",1,1,person", ",9,1,person", "guideline 9 is not known"),
            ("judgments.csv", ",1,1,person", ",1,1,nobody", "source is 'nobody', not one of person, "),
            ("queries.csv", ",val,10,", ",val,12,", "judged_as 12 is no query"),
            ("candidates.csv", "alpha,1.0,2.5", "alpha,1.0,2.75", "line 2: moment .* is not known"),
            ("moments.jsonl", '"start": 1.0', '"start": 9.0', "moments.jsonl, line 1: a moment starts before"),
            ("videos.csv", "alpha,5,60.5", "alpha,5,nan", "videos.csv, line 2: duration is 'nan', no number"),
            ("batches.csv", "10,1,2", "10,1,3", "batches.csv, line 2: rounds is '3'"),
            ("moments.jsonl", '"end": 2.5', '"end": Infinity', "moments.jsonl, line 1: Infinity is no number"),
            ("moments.jsonl", '"end": 2.5', '"end": 1e999', "moments.jsonl, line 1: 1e999 is no number"),
            ("moments.jsonl", '"end": 2.5', '"end": "inf"', "moments.jsonl, line 1: a moment starts before it ends"),
            ("moments.jsonl", '"end": 2.5', f'"end": 1{"0" * 400}', "moments.jsonl, line 1: it does not have the form"),
            ("settings.json", '"name": "songs"', r'"name": "so\rngs"', "query set: A name is one line"),
            ("settings.json", '"project": "', r'"project": "\u0000', "project: A name is one line"),
            ("settings.json", '"is_pilot": false', '"is_pilot": "perhaps"', "must be either True or False"),
            ("settings.json", '"lease_minutes": 30', '"lease_minutes": 0', "policy 2: .*A lease lasts a minute"),
        ],
    )
    def test_a_line_that_cannot_be(self, folder: Path, name: str, was: str, becomes: str, words: str) -> None:
        self.change_and_refuse(folder, name, lambda text: text.replace(was, becomes, 1), words)

    def test_grades_are_looked_at_behind_a_withdrawn_pair(self, folder: Path) -> None:
        def edit(text: str) -> str:
            withdrawn = re.sub(r",settled,\d,,", ",withdrawn,,flagged_twice,", text, count=1)
            return withdrawn.replace(NO_CONSENSUS, ",settled,2,,")

        self.change_and_refuse(folder, "pairs.csv", edit, "is settled 2, which its grades")

    @pytest.mark.parametrize("levels", [5, {"a": 1}, list("abcd"), ["a", "b", "c", "d", 5]])
    def test_grades_that_are_not_five_meanings(self, folder: Path, levels: object) -> None:
        def edit(text: str) -> str:
            settings_data = json.loads(text)
            settings_data["guidelines"][-1]["levels"] = levels
            return json.dumps(settings_data)

        words = "guideline 2: there is a line in words for each grade"
        self.change_and_refuse(folder, "settings.json", edit, words)

    @pytest.mark.parametrize("name", ["settings.json", "manifest.json"])
    def test_a_document_too_large_to_be_read(self, folder: Path, name: str) -> None:
        with (folder / name).open("r+b") as file:
            file.truncate(2**24 + 1)
        if name != "manifest.json":
            sign(folder, name)
        self.refused(folder, f"{name} is too large")

    @pytest.mark.parametrize(
        ("name", "begin"),
        [("moments.jsonl", '{"video_name": "'), ("judgments.csv", ""), ("pairs.csv", '"\n",' * 2**20)],
    )
    def test_a_line_too_long_to_be_read(self, folder: Path, name: str, begin: str) -> None:
        words = f"{name} has a line of more than 4,194,304 characters"
        self.change_and_refuse(folder, name, lambda text: f"{text}{begin}{'x' * 2**22}\n", words)

    def zipped(self, folder: Path, more: str = "", content: bytes = b"x") -> Path:
        path = folder.parent / "release.zip"
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for file in folder.iterdir():
                archive.write(file, file.name)
            if more:
                archive.writestr(more, content)
        return path

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("../outside", b"x", "does not lie beside its manifest"),
            ("more", b"x", "disagree about more"),
            ("videos.csv", b"x", "holds videos.csv twice"),
            ("bomb", bytes(2 * 2**20), "bomb would unpack to 2,097,152 bytes"),
        ],
    )
    def test_an_archive_with_another_file(self, folder: Path, name: str, content: bytes, words: str) -> None:
        self.refused(self.zipped(folder, name, content), words)

    @pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
    def test_a_file_packed_otherwise(self, folder: Path, method: int) -> None:
        path = folder.parent / "release.zip"
        with ZipFile(path, "w", method) as archive:
            archive.write(folder / "videos.csv", "videos.csv")
        self.refused(path, "videos.csv is packed in a way")

    def test_a_file_that_is_damaged(self, folder: Path) -> None:
        path = self.zipped(folder)
        content = bytearray(path.read_bytes())
        with ZipFile(path) as archive:
            entry = archive.getinfo("moments.jsonl")
        begin = entry.header_offset + 30 + len(entry.filename)
        content[begin : begin + entry.compress_size] = b"\xff" * entry.compress_size
        path.write_bytes(content)
        self.refused(path, "moments.jsonl cannot be unpacked")

    def test_no_archive_and_no_release(self, folder: Path) -> None:
        nothing = folder.parent / "nothing.zip"
        nothing.write_text("no zip")
        self.refused(nothing, "no zip archive")
        with ZipFile(nothing, "w") as archive:
            archive.writestr("caf\u00e9.csv", b"")
        nothing.write_bytes(nothing.read_bytes().replace("\u00e9".encode(), b"\xff\xff"))  # a name that is no text
        self.refused(nothing, "no zip archive that can be read")
        (folder.parent / "empty").mkdir()
        self.refused(folder.parent / "empty", "It is no release")

    def test_names_that_are_taken(self, folder: Path, all_done: Project) -> None:
        with pytest.raises(NotPossible, match="a project named 'was released' already"):
            release_import(path=folder, project_name="was released")
        with pytest.raises(NotPossible, match="a corpus named 'was released' already"):
            release_import(path=folder, corpus_name="was released")


def test_the_command_imports_an_archive(released: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "release-1.zip", StringIO()
    files.pack(released, path)
    shutil.rmtree(released)
    call_command("import_release", path, project="again", stdout=out, lead=[UserFactory().username])
    counts = json.loads(out.getvalue().splitlines()[-1])
    assert counts == {"videos": 2, "queries": 9, "batches": 5, "pairs": 7, "judgments": 18, "annotators": 5}
    assert Project.objects.get(name="again").memberships.get(roles=["lead", "admin"])
    with pytest.raises(CommandError, match="There is no"):
        call_command("import_release", tmp_path / "nothing.zip")


def test_a_manifest_that_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    """A megabyte made a gigabyte of memory before its size was looked at."""
    path, size = tmp_path / "release-1.zip", 100_000_000
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr(layout.MANIFEST, bytes(size))
    path.write_bytes(path.read_bytes().replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    tracemalloc.start()
    with pytest.raises(ImportRefused, match="cannot be unpacked"):
        release_import(path=path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_many_small_entries_make_no_large_archive(tmp_path: Path) -> None:
    """Each is below the size from which one is looked at; together they are a thousand times the archive."""
    path = tmp_path / "release-1.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for number in range(200):
            archive.writestr(f"{number}.csv", bytes(2**20))
    with pytest.raises(ImportRefused, match="The archive would unpack to 209,715,200 bytes; it is not unpacked"):
        release_import(path=path)


def test_mutations_of_an_archive_leave_nothing_behind(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damage to what no file's content depends on, such as a date in the archive, is no reason to refuse."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path, digest = tmp_path / "release-1.zip", manifest_of(released)["content_sha256"]
    files.pack(released, path)
    dated = path.read_bytes().replace(b"PK\x01\x02\x14\x03", b"PK\x01\x02\x14\x00")  # packed by another system
    assert dated != path.read_bytes()
    outcomes = Counter[str]()
    for content in [dated, *mutated([path.read_bytes()], 30)]:
        before = Project.objects.count(), Corpus.objects.count()
        path.write_bytes(content)
        try:
            project, counts = release_import(path=path)
        except ImportRefused:
            outcomes["refused"] += 1
            assert (Project.objects.count(), Corpus.objects.count()) == before
        else:
            outcomes["imported"] += 1
            assert project.audit_events.get(action=IMPORT).data["content_sha256"] == digest
            assert counts["judgments"] == manifest_of(released)["counts"]["judgments"]
            step_aside(project, name=f"{before}")
        assert not list(tmp_path.glob("momentjudge-import-*"))
    assert outcomes["imported"] >= 1
    assert outcomes["refused"] >= 20


def test_mutations_of_signed_files_are_refused_or_imported_whole(released: Path) -> None:
    """Whoever makes a release signs what they like: the checksums are those of the damaged file."""
    names = [name for name in manifest_of(released)["files"] if name.endswith((".csv", ".json", ".jsonl", ".md"))]
    for name in names:
        good = (released / name).read_bytes()
        for content in mutated([good], 2, text=True):
            (released / name).write_bytes(content)
            sign(released, name)
            before = Project.objects.count()
            try:
                release_import(path=released)
            except (ImportRefused, NotPossible):
                assert Project.objects.count() == before
            else:
                step_aside(Project.objects.latest("pk"), name=str(before))
        (released / name).write_bytes(good)
        sign(released, name)


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / layout.MANIFEST).read_text()))


def change(folder: Path, name: str, edit: Callable[[str], str]) -> None:
    """Edit a file so that its checksum is right again."""
    path = folder / name
    with path.open(newline="") as file:
        text = file.read()
    path.write_text(edit(text), newline="")
    assert path.read_text() != text
    sign(folder, name)


def sign(folder: Path, name: str) -> None:
    manifest, path = manifest_of(folder), folder / name
    manifest["files"][name] = {"bytes": path.stat().st_size, "sha256": files.digest_of(path)}
    (folder / layout.MANIFEST).write_text(json.dumps(manifest))
