"""Features of a project: ordered, made by a task that can be stopped and killed, checked, added, deleted."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import pytest
import torch
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import Project
from annotation.models import Video
from annotation.similarity.registry import REFUSAL
from core import jobs
from core.exceptions import NotPossible
from models_runner.features import making, services
from models_runner.features.making import feature_set_work
from models_runner.features.services import (
    FEATURE_SETS,
    feature_set_cancel,
    feature_set_delete,
    feature_set_model,
    feature_set_register,
    feature_set_resume,
    feature_set_start,
)
from models_runner.models import FeatureSet
from moment_retrieval.features import FeatureWriter, open_features
from moment_retrieval.features.extractors import EXTRACTORS, Kind
from moment_retrieval.features.extractors.base import extract
from moment_retrieval.features.extractors.networks.c3d import C3D
from tests.conftest import Messages
from tests.factories import ProjectFactory, QueryFactory, VideoFactory, admin
from tests.moment_retrieval.features.test_extractors import film
from tests.moment_retrieval.features.test_stores import lmdb_of, packed

pytestmark = pytest.mark.django_db


@pytest.fixture
def roots(tmp_path: Path, settings: Settings) -> Path:
    """Features made here and official ones lie below this folder."""
    settings.FEATURES_ROOT, settings.FEATURES_ROOTS = tmp_path / "made", [tmp_path / "official"]
    (tmp_path / "official").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def short_film(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return film(tmp_path_factory.mktemp("film") / "a.mp4", 3.0).read_bytes()


def set_films(project: Project, content: bytes) -> None:
    for video in project.dataset.corpus.videos.all():
        video.file.save("x.mp4", ContentFile(content))


@pytest.fixture
def project(roots: Path, short_film: bytes, videos_on_disk: Path) -> Project:
    """Two videos of three seconds; the first speaks."""
    project = ProjectFactory()
    for name in ("one", "two"):
        VideoFactory(corpus=project.dataset.corpus, name=name, duration_s=3.0)
    set_films(project, short_film)
    project.dataset.corpus.videos.get(name="one").subtitles.create(start_s=0.2, end_s=1.0, text="Hello there")
    QueryFactory(project=project, number=7, text="somebody says hello")
    return project  # type: ignore[no-any-return]


def start(project: Project, kind: str = "video", extractor: str = "builtin-pixels", **values: Any) -> FeatureSet:
    return feature_set_start(project=project, kind=kind, extractor=extractor, actor=None, **values)


def worked(feature_set: FeatureSet) -> FeatureSet:
    feature_set_work(feature_set_id=feature_set.pk)
    feature_set.refresh_from_db()
    return feature_set


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the last line of a command's output, read."""
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_table_and_the_library_know_the_same_extractors() -> None:
    assert {extractor.value for extractor in EXTRACTORS} == set(FeatureSet.Extractor.values) - {"file"}
    assert {kind.value for kind in Kind} == set(FeatureSet.Kind.values)


def test_features_of_videos_are_made_checked_and_recorded(project: Project, messages: Messages, client: Client) -> None:
    with messages():
        feature_set = start(project)
    feature_set.refresh_from_db()
    assert (feature_set.state, feature_set.width, feature_set.n_items) == ("done", 512, 2)
    assert (feature_set.findings, feature_set.made_by) == ([], "pixels 1")
    assert feature_set.is_fit and feature_set.name == "video builtin-pixels"
    with open_features(feature_set.path) as store:
        assert store.names == ["one", "two"] and store.rows("one").shape == (2, 512)
        assert store.checksum() == feature_set.checksum
    event_data = project.audit_events.get(action="features.start").data
    assert event_data == {"name": feature_set.name, "kind": "video", "extractor": "builtin-pixels", "model": ""}
    client.force_login(admin(project))
    [row] = client.get(reverse("api:features", args=[project.uuid])).json()["results"]
    assert (row["name"], row["fit"], row["width"], row["path"]) == (feature_set.name, True, 512, feature_set.path)
    for act in (feature_set_resume, feature_set_cancel):
        with pytest.raises(NotPossible):
            act(feature_set=feature_set, actor=None)
    with messages():
        feature_set_delete(feature_set=feature_set, actor=None)
    assert not Path(feature_set.path).exists()
    assert project.audit_events.get(action="features.delete").data["name"] == feature_set.name
    with pytest.raises(NotPossible, match="no videos"):
        start(ProjectFactory())


def test_speech_and_queries_get_features_of_their_tokens(project: Project) -> None:
    spoken, query_features = (worked(start(project, kind, "builtin-text")) for kind in ("subtitle", "query"))
    with open_features(spoken.path) as store:
        assert [bool(row.any()) for row in store.rows("one")] == [True, False]
        assert store.rows("two").shape == (2, 384) and not store.rows("two").any()
    with open_features(query_features.path) as store:
        assert store.names == ["7"] and store.rows("7").shape == (5, 384)  # with [CLS] and [SEP]
    assert spoken.is_fit and query_features.is_fit


def test_a_bad_video_is_reported_and_keeps_no_other_back(project: Project) -> None:
    Video.objects.get(name="one").file.save("y.mp4", ContentFile(b"junk" * 500))
    VideoFactory(corpus=project.dataset.corpus, name="nobody has it", file="")
    feature_set = worked(start(project))
    assert (feature_set.state, feature_set.n_items, feature_set.n_failed, feature_set.is_fit) == ("done", 1, 2, False)
    assert "corrupt" in feature_set.reasons["one"] and "does not exist" in feature_set.reasons["nobody has it"]
    [finding] = feature_set.findings
    assert (finding["trouble"], finding["names"]) == ("missing", ["one", "nobody has it"])


def test_where_nothing_can_be_made_it_fails_with_the_reason_and_can_go_on(
    project: Project, short_film: bytes, roots: Path, settings: Settings
) -> None:
    project.dataset.corpus.videos.update(file="")
    feature_set = worked(start(project))
    assert feature_set.state == "failed" and "first one: the video file does not exist" in feature_set.error
    set_films(project, short_film)
    assert worked(feature_set_resume(feature_set=feature_set, actor=None)).state == "done"
    settings.MOMENTJUDGE_MODELS = [roots / "models"]
    broken = model_folder(roots / "models" / "broken")
    of_queries = worked(start(project, "query", "text-model", model=str(broken)))
    assert of_queries.state == "failed" and f"the model '{broken}' cannot be loaded" in of_queries.error
    (broken / "model.safetensors").unlink()
    with pytest.raises(NotPossible, match="holds no weights"):
        start(project, "query", "text-model", model=str(broken))


def model_folder(folder: Path) -> Path:
    """A folder with the files of a model, which hold none."""
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return folder


def stopping(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """After its first item an extraction meets ``act``."""
    monkeypatch.setattr(jobs, "EVERY_S", 0.0)

    def acting(*args: Any, on_progress: Any, **values: Any) -> Any:
        def report_progress(finished: int, total: int) -> None:
            if finished == 1:
                act()
            on_progress(finished, total)

        return extract(*args, on_progress=report_progress, **values)

    monkeypatch.setattr(making, "extract", acting)


def watch_films(monkeypatch: pytest.MonkeyPatch, act: Callable[[Any, Any], object]) -> None:
    """Do something with each item before it is taken."""

    def films(owner: Project, is_known: Any) -> Iterator[Any]:
        for item in services.films(owner, is_known):
            act(item, is_known)
            yield item

    monkeypatch.setitem(services.ITEMS, "video", films)


def test_a_cancelled_set_keeps_what_was_made_and_goes_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    feature_set = start(project)
    with monkeypatch.context() as patch:
        stopping(patch, lambda: feature_set_cancel(feature_set=feature_set, actor=None))
        assert worked(feature_set).state == "cancelled"
    assert not Path(feature_set.path).exists() and Path(f"{feature_set.path}.journal").exists()
    feature_set_resume(feature_set=feature_set, actor=None)
    names: list[str] = []
    watch_films(monkeypatch, lambda item, is_known: is_known(item.name) or names.append(item.name))
    assert worked(feature_set).state == "done" and names == ["two"]
    actions = project.audit_events.order_by("id").values_list("action", flat=True)
    assert list(actions) == ["features.start", "features.cancel", "features.resume"]


def test_a_killed_worker_leaves_a_set_that_the_sweep_sends_again(project: Project, messages: Messages) -> None:
    feature_set = start(project)
    Path(feature_set.path).parent.mkdir(parents=True)
    FeatureWriter(feature_set.path, width=512).add("one", np.full((2, 512), 0.25))  # and its worker was killed
    for minutes, state in ((0.5, "running"), (3, "done")):
        with messages():
            FEATURE_SETS.sweep(timezone.now() + timedelta(minutes=minutes))
        feature_set.refresh_from_db()
        assert feature_set.state == state
    with open_features(feature_set.path) as store:
        assert (store.rows("one") == 0.25).all()  # not made again


class Killed(BaseException):
    """Death of a worker at an item: nothing is written down."""


def killing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whoever begins with this video is killed."""

    def kill(item: Any, is_known: Any) -> None:
        if item.name == name:
            raise Killed

    watch_films(monkeypatch, kill)


def starts_until_it_ends(feature_set: FeatureSet) -> int:
    for count in range(1, 20):
        with suppress(Killed):
            feature_set_work(feature_set_id=feature_set.pk)
        feature_set.refresh_from_db()
        if feature_set.state != "running":
            return count
    raise AssertionError("it is tried for ever")


def test_a_video_that_kills_its_worker_is_given_up_and_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: Any) -> None:
        raise Killed

    feature_set = start(project)
    with monkeypatch.context() as patch:
        killing(patch, "two")
        assert starts_until_it_ends(feature_set) <= 6
    assert feature_set.state == "failed"
    assert feature_set.error == "Its worker was killed at item 2 of 2 (two) or just behind it, 3 times in a row."
    feature_set_resume(feature_set=feature_set, actor=None)
    assert worked(feature_set).state == "done"  # the cause may have been the machine's
    monkeypatch.setattr(making, "names_wanted", kill)
    another = start(project, name="another")
    assert starts_until_it_ends(another) == 4
    assert another.error == "Its worker was killed before the first item, 3 times in a row."


def test_a_worker_that_is_killed_ever_further_on_is_started_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["one", "two", *(f"more {count}" for count in range(5))]
    for name in names[2:]:
        VideoFactory(corpus=project.dataset.corpus, name=name, file="")
    feature_set = start(project)
    monkeypatch.setattr(jobs, "EVERY_S", 0.0)
    for name in names:
        with monkeypatch.context() as patch, suppress(Killed):
            killing(patch, name)
            feature_set_work(feature_set_id=feature_set.pk)
        feature_set.refresh_from_db()
        assert (feature_set.state, feature_set.done) == ("running", names.index(name))
    assert worked(feature_set).state == "done"


def test_what_is_deleted_leaves_no_file_but_another_site_s(
    project: Project, messages: Messages, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature_set = worked(start(project))
    settings.FEATURES_ROOT = tmp_path / "of-the-restored-site"
    with messages():
        feature_set_delete(feature_set=feature_set, actor=None)
    assert Path(feature_set.path).exists() and not FeatureSet.objects.exists()
    feature_set = start(project)
    stopping(monkeypatch, lambda: feature_set_delete(feature_set=feature_set, actor=None))
    feature_set_work(feature_set_id=feature_set.pk)
    assert not FeatureSet.objects.exists() and not list(Path(feature_set.path).parent.iterdir())


def official(path: Path, *names: str, width: int = 3) -> Path:
    with FeatureWriter(path, width=width) as writer:
        for name in names:
            writer.add(name, np.ones((2, width)))
    return path


def add(project: Project, path: Path | str, kind: str = "video", **values: Any) -> FeatureSet:
    return feature_set_register(project=project, kind=kind, path=str(path), actor=None, **values)


def test_an_official_file_is_added_once_and_stays_where_it_lies(
    project: Project, roots: Path, messages: Messages
) -> None:
    path = official(roots / "official" / "i3d.h5", "one", "three")
    with messages():
        feature_set = add(project, path)
    feature_set.refresh_from_db()
    assert (feature_set.state, feature_set.name, feature_set.width, feature_set.n_items) == ("done", "i3d", 3, 2)
    assert [finding["text"] for finding in feature_set.findings] == ["video: no features: 1 (two)"]
    with messages():
        feature_set_delete(feature_set=feature_set, actor=None)
    assert path.exists()
    path = official(roots / "official" / "a.h5", "one")
    add(project, path)
    with pytest.raises(NotPossible, match="among the features"):
        add(project, path)
    assert add(project, path, "query").name == "a 2"
    start(project, name="mine")
    with pytest.raises(NotPossible, match="named 'mine' already"):
        start(project, name="mine")


def test_only_files_below_the_roots_may_be_added(project: Project, roots: Path, settings: Settings) -> None:
    outside = official(roots / "secret.h5", "one")
    (roots / "official" / "link.h5").symlink_to(outside)
    (roots / "official" / "folder").mkdir()
    (roots / "official" / "folder" / "data.mdb").symlink_to(outside)
    links = [roots / "official" / "link.h5", roots / "official" / "folder"]
    paths = [outside, *links, roots / "official" / ".." / "secret.h5", "official/i3d.h5"]
    for path in paths:
        with pytest.raises(NotPossible, match="absolute path below"):
            add(project, path)
    (roots / "official" / "notes.h5").write_text("no")
    for name, problem in (("nothing.h5", "no such file"), ("notes.h5", "not a readable HDF5")):
        with pytest.raises(NotPossible, match=problem):
            add(project, roots / "official" / name)
    settings.FEATURES_ROOTS = []
    with pytest.raises(NotPossible, match="FEATURES_ROOTS"):
        add(project, outside)
    assert not FeatureSet.objects.exists()


class TestTheModelOfAnOfficialFile:
    """Which text model made the features of queries is said when the file is added, or later."""

    def test_is_named_removed_and_written_down(self, project: Project, roots: Path) -> None:
        feature_set = add(project, official(roots / "official" / "q.h5", "7"), "query", model="gt")
        assert (feature_set.extractor, feature_set.model, feature_set.is_ours) == ("file", "gt", False)
        assert project.audit_events.get(action="features.register").data["model"] == "gt"
        assert feature_set_model(feature_set=feature_set, model="bert-base-cased", actor=None).model
        feature_set_model(feature_set=feature_set, model="", actor=None)
        feature_set.refresh_from_db()
        assert feature_set.model == ""
        events = [event.data for event in project.audit_events.filter(action="features.model").order_by("id")]
        assert [one["model"] for one in events] == ["bert-base-cased", ""]

    def test_is_of_queries_alone(self, project: Project, roots: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = official(roots / "official" / "i3d.h5", "one")
        with pytest.raises(NotPossible, match="files of queries alone"):
            add(project, path, model="bert-base-cased")
        made_here = start(project, "query", "builtin-text")
        for feature_set in (add(project, path), made_here):
            with pytest.raises(NotPossible, match="files of queries alone"):
                feature_set_model(feature_set=feature_set, model="bert-base-cased", actor=None)
        path = official(roots / "official" / "q.h5", "7")
        call_command("features", project.name, "add", "query", str(path), model="bert-base-cased")
        assert printed(capsys)["model"] == "bert-base-cased"
        call_command("features", project.name, "model", "q", "")
        assert printed(capsys)["model"] == ""
        with pytest.raises(CommandError, match="no features named 'nothing'"):
            call_command("features", project.name, "model", "nothing", "bert-base-cased")


class TestModelsNamedThroughTheSite:
    """No field of a model tells what lies on the server beside the configured folders."""

    @pytest.fixture
    def model_paths(self, roots: Path, settings: Settings) -> list[str]:
        """A folder outside, a file, nothing, and the root itself; the last is a model."""
        settings.MOMENTJUDGE_MODELS = [roots / "models"]
        model_folder(roots / "models" / "bert")
        (roots / "outside").mkdir()
        (roots / "models" / "link").symlink_to(roots / "outside")
        names = ("outside", "nothing", "models/link", "models/nothing", "models", "models/bert")
        return [str(roots / name) for name in names]

    @pytest.mark.parametrize("field", ["making", "adding", "saying later"])
    def test_pages_refuse_all_of_them_alike(
        self, project: Project, roots: Path, model_paths: list[str], client: Client, field: str
    ) -> None:
        client.force_login(admin(project))
        path = official(roots / "official" / "q.h5", "7")
        name, row, fields = {
            "making": ("create", project, {"what": "query text-model"}),
            "adding": ("register", project, {"kind": "query", "path": str(path)}),
            "saying later": ("model", project, {}),
        }[field]
        if field == "saying later":
            row = add(project, path, "query")
        address = reverse(f"models_runner:feature-set-{name}", args=[row.uuid])
        *refused, accepted = model_paths
        before = FeatureSet.objects.values_list("model", flat=True)
        pages = set()
        for model in refused:
            page = client.post(address, {**fields, "model": model}, follow=True)
            text = re.sub(r'csrf\w*"(?: value=|: )"\w+"', "", page.content.decode(), flags=re.IGNORECASE)
            pages.add((page.status_code, text.replace(model, "")))
        assert len(pages) == 1 and REFUSAL in pages.pop()[1]
        assert accepted not in before
        client.post(address, {**fields, "model": accepted})
        assert accepted in FeatureSet.objects.values_list("model", flat=True)

    def test_a_longer_name_than_fits_is_refused_in_words(self, project: Project, roots: Path, client: Client) -> None:
        client.force_login(admin(project))
        feature_set = add(project, official(roots / "official" / "q.h5", "7"), "query")
        address = reverse("models_runner:feature-set-model", args=[feature_set.uuid])
        assert "at most 200" in client.post(address, {"model": "x" * 201}, follow=True).content.decode()

    def test_the_worker_looks_again(self, project: Project, model_paths: list[str], roots: Path) -> None:
        feature_set = start(project, "query", "text-model", model=model_paths[-1])
        shutil.rmtree(roots / "models" / "bert")
        (roots / "models" / "bert").symlink_to(roots / "outside")
        assert worked(feature_set).error == REFUSAL


@pytest.mark.parametrize("form", ["hdf5", "lmdb"])
def test_no_process_of_the_site_opens_a_file_that_is_added(
    project: Project, roots: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """HDF5 and LMDB are C: what a file makes of them happens to a child of the worker."""
    if form == "hdf5":
        path = official(roots / "official" / "a.h5", "one", "two")
    else:
        path = lmdb_of(roots / "official" / "db", dict.fromkeys(("one", "two"), packed(np.ones((2, 3), np.float32))))
    monkeypatch.setattr(h5py, "File", lambda *_, **__: pytest.fail("opened"))
    monkeypatch.setattr(lmdb, "open", lambda *_, **__: pytest.fail("opened"))
    feature_set = worked(add(project, path))
    assert (feature_set.state, feature_set.width, feature_set.n_items, feature_set.findings) == ("done", 3, 2, [])
    shorter = add(project, path, "subtitle")
    file = path if form == "hdf5" else path / "data.mdb"
    file.write_bytes(file.read_bytes()[:700])
    assert worked(shorter).state == "failed" and re.search("cut short|not a readable LMDB", shorter.error)


def test_the_page_orders_and_deletes(project: Project, roots: Path, client: Client, messages: Messages) -> None:
    def address(act: str, row: Any) -> str:
        return reverse(f"models_runner:feature{act}", args=[row.uuid])

    def page() -> str:
        return client.get(address("s", project)).content.decode()

    client.force_login(admin(project))
    assert "No features yet" in page()
    create = address("-set-create", project)
    refused = client.post(create, {"what": "query text-model"})
    assert refused.status_code == 422 and "Name a model" in refused.content.decode()
    for status in (302, 409):
        assert client.post(create, {"what": "video builtin-pixels", "name": "mine"}).status_code == status
    feature_set = FeatureSet.objects.get()
    assert "Waiting for the worker" in page()
    client.post(address("-set-cancel", feature_set))
    assert "Go on where it stopped" in page()
    client.post(address("-set-resume", feature_set))
    worked(feature_set)
    assert "has features in order" in page()
    assert "for good" in client.get(address("-set-delete", feature_set)).content.decode()
    client.post(address("-set-delete", feature_set))
    assert not FeatureSet.objects.exists()
    register = address("-set-register", project)
    outside = client.post(register, {"kind": "video", "path": "/etc/passwd"})
    assert outside.status_code == 409 and "absolute path below" in outside.content.decode()
    with messages():
        client.post(register, {"kind": "video", "path": str(official(roots / "official" / "a.h5", "one"))})
    assert '<li class="fatal">video: no features: 1 (two)</li>' in page()


def test_the_command_makes_checks_and_lists(project: Project, roots: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("features", project.name, "extract", "video", name="mine")
    assert printed(capsys)["state"] == "done"
    call_command("features", project.name, "check", "--video", "mine")
    assert printed(capsys) == []
    short = official(roots / "official" / "a.h5", "one")
    with pytest.raises(CommandError, match="would fail"):
        call_command("features", project.name, "check", "--video", "mine", "--subtitle", str(short))
    assert "subtitle: no features: 1 (two)" in capsys.readouterr().out
    call_command("features", project.name, "add", "video", str(short))
    call_command("features", project.name, "list")
    assert [row["name"] for row in printed(capsys)] == ["a", "mine"]


@pytest.fixture
def c3d_folder(roots: Path, settings: Settings) -> Path:
    """A folder of one file of weights, below MOMENTJUDGE_MODELS."""
    settings.MOMENTJUDGE_MODELS = [roots / "models"]
    folder = roots / "models" / "c3d"
    folder.mkdir(parents=True)
    torch.save(C3D(stem=1).state_dict(), folder / "c3d.pth")
    return folder


def test_features_by_a_file_of_weights_say_how_they_were_made(
    project: Project, c3d_folder: Path, client: Client
) -> None:
    feature_set = worked(start(project, "video", "c3d", model=str(c3d_folder)))
    assert (feature_set.state, feature_set.width, feature_set.n_items) == ("done", 64, 2)
    assert feature_set.attributes["layer"] == "fc6, rectified" and feature_set.attributes["frames"] == 16
    client.force_login(admin(project))
    page = client.get(reverse("models_runner:features", args=[project.uuid])).content.decode()
    assert "<dt>Layer</dt><dd>fc6, rectified</dd>" in page and "<dt>Pooling</dt>" in page
    [row] = client.get(reverse("api:features", args=[project.uuid])).json()["results"]
    assert row["attributes"] == feature_set.attributes
    (c3d_folder / "more.pth").write_bytes(b"")
    with pytest.raises(NotPossible, match="2 files of weights"):
        start(project, "video", "c3d", model=str(c3d_folder))
    with pytest.raises(NotPossible, match="config.json"):
        start(project, "video", "resnet", model=str(c3d_folder))
    with pytest.raises(NotPossible, match=re.escape(REFUSAL)):
        start(project, "video", "c3d", model=str(c3d_folder / "c3d.pth"))  # a folder is to be named


def test_weights_of_another_network_fail_the_set_by_name(project: Project, c3d_folder: Path) -> None:
    feature_set = worked(start(project, "video", "i3d", model=str(c3d_folder)))
    assert feature_set.state == "failed" and "is no I3D: it has no parameter" in feature_set.error
