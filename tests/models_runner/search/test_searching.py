"""Searching by a finished training: the page, the API, and what is said when nothing can be found."""

import gc
import html
import json
import shutil
import socket
import weakref
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from billiard.exceptions import WorkerLostError
from celery.backends.redis import RedisBackend
from celery.exceptions import TimeoutError as NoAnswer
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.models import Moment, Video
from annotation.similarity.registry import REFUSAL
from config.celery_app import app
from judging.models import Release
from models_runner import tasks
from models_runner.experiments import files as experiments_files
from models_runner.models import Experiment, FeatureSet, Training
from models_runner.search import services, worker
from models_runner.search.views import HEIGHT, LEFT, RIGHT, WIDTH, why_chart
from models_runner.search.worker import ValueCache
from moment_retrieval.cli import main
from moment_retrieval.features import open_features
from tests.factories import MembershipFactory, admin
from tests.judging.api.acts import bearer
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, run_json
from tests.models_runner.benchmarks import DRAWN, Drawn, configure_training
from tests.moment_retrieval.threads import one_thread
from tests.moment_retrieval.training.tiny import experiment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An XML that was trained for a moment."""
    folder = tmp_path_factory.mktemp("searched")
    with one_thread():
        assert main(["train", str(experiment(folder, "xml", epochs=1))]) == 0
    return folder


class Site:
    """A project whose training is done, and its admin's browser."""

    def __init__(self, hand_made: HandMade, release: Release, tiny: Path) -> None:
        self.release, self.tiny, self.project = release, tiny, hand_made.project
        self.lead, self.client = hand_made.project.memberships.get(user=hand_made.lead), Client()
        self.client.force_login(admin(self.project))
        features = {kind: {"name": kind, "path": str(tiny / f"{kind}.h5")} for kind in ("video", "query")}
        FeatureSet.objects.create(project=self.project, kind="query", extractor="builtin-text", **features["query"])
        about = {"project": self.project, "release": self.release, "features": features}
        self.experiment = Experiment.objects.create(name="tiny", baseline="xml", top_n=1, **about)
        self.training = self.add_training(seed=1)

    def add_training(self, seed: int) -> Training:
        run = bring(self.lead, self.release, run_json({10: GOOD}), system=f"seed {seed}")
        values = {"state": "done", "ended_at": timezone.now(), "val_run": run, "best": 0.25}
        training = Training.objects.create(experiment=self.experiment, seed=seed, **values)
        folder = experiments_files.folder_of(training)
        folder.mkdir(parents=True)
        shutil.copytree(self.tiny / "xml" / "best", folder / "best")
        plan = json.loads((self.tiny / "xml" / "plan.json").read_text())
        files = {name: path.replace("..", str(self.tiny)) for name, path in plan.items() if str(path).startswith("..")}
        (folder / "plan.json").write_text(json.dumps({**plan, **files}))
        return training

    def url(self, name: str, *words: object) -> str:
        return reverse(f"models_runner:{name}", args=[self.project.uuid, *words])

    def search(self, q: str = "somebody opens a door", *, status: int = 200, **options: Any) -> str:
        """Return the page, whose status is asserted."""
        answer = self.client.get(self.url("search"), {"q": q, **options})
        assert answer.status_code == status
        return html.unescape(answer.content.decode())

    def api(self, *, status: int = 200, **options: Any) -> Any:
        address = reverse("api:search", args=[self.project.uuid])
        answer = Client().get(address, {"q": "x", **options}, headers=bearer(admin(self.project)))
        assert answer.status_code == status
        return answer.json()

    def filmed(self) -> Video:
        """The first video that is found, in the project, with a file."""
        name = self.api()["hits"][0]["video"]
        video = Video.objects.create(corpus=self.project.dataset.corpus, name=name, duration_s=30, index=900)
        video.file.save("film.mp4", ContentFile(b"0123456789"))
        return video


def forget() -> None:
    """Have the search worker let go of everything."""
    worker._searchers.cache_clear()
    worker._texts.cache_clear()


@pytest.fixture
def site(scenario: HandMade, release: Release, settings: Any, tmp_path: Path, trained_folder: Path) -> Iterator[Site]:
    configure_training(settings, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moment_retrieval.answers.extractor_of", lambda *_, **__: Drawn())
        forget()
        yield Site(scenario, release, trained_folder)
    forget()


def test_a_query_finds_ranked_moments_and_says_why(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    searchers, searcher_of = [], worker.searcher_of
    monkeypatch.setattr(worker, "searcher_of", lambda source: searchers.append(searcher_of(source)) or searchers[-1])
    page = site.search("word " * 99)
    assert "12 moments in " in page and " ms</b>" in page
    assert page.count("<summary>Why</summary>") == page.count('aria-label="Start and end by probability') == 12
    assert "by what is heard" in page and 'class="span"' in page
    assert "The project has no file of this video" in page
    payload = site.api(training=site.training.uuid, limit=3)
    assert [hit["rank"] for hit in payload["hits"]] == [1, 2, 3] and payload["searched"] == 12
    why = payload["hits"][0]["why"]
    assert why["video_score"] == pytest.approx((why["seen"] + why["heard"]) / 2)
    assert sum(why["start"]) == pytest.approx(1, abs=1e-4) and len(why["start"]) == len(why["end"])
    assert searchers[0] is searchers[1]  # a training is loaded once
    FeatureSet.objects.update(made_by="tokens an older model")
    assert "Trained on words read by tokens an older model; yours are read by drawn." in site.search()


def test_results_can_be_linked_and_the_last_queries_return(site: Site) -> None:
    other, waiting = site.add_training(seed=2), Training.objects.create(experiment=site.experiment, seed=9)
    site.search("first words", training=other.uuid)
    page = site.search("second words", training=site.training.uuid)
    assert f"?q=first+words&training={other.uuid}" in page and 'value="second words"' in page
    assert f'<option value="{site.training.uuid}" selected>' in page and str(waiting.uuid) not in page
    again = site.client.get(site.url("search")).content.decode()
    assert again.index("second words") < again.index("first words") and "What are you looking for?" in again


def test_a_moment_that_is_annotated_is_shown_by_its_preview(
    site: Site, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    video = site.filmed()
    hit = site.api()["hits"][0]
    unseen = site.search()
    assert f"{video.uuid}/file/#t={hit['start_s']:.2f},{hit['end_s']:.2f}" in unseen
    assert "No annotated moment overlaps it by 0.3" in unseen
    span = {"start_s": hit["start_s"], "end_s": hit["end_s"]}
    moment = Moment.objects.create(video=video, preview="previews/a.gif", preview_state="ready", **span)
    with django_assert_max_num_queries(14) as few:
        text = site.search(limit=1)
    assert "Overlaps the annotated moment" in text and "IoU 1.00" in text
    with django_assert_num_queries(len(few.captured_queries)):
        site.search(limit=40, every="on")
    assert site.api()["hits"][0]["preview"] == str(moment.preview_uuid)


def test_part_of_a_video_is_sent_to_its_own_project(site: Site) -> None:
    url = site.url("video", site.filmed().uuid)
    part = site.client.get(url, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content, part["Content-Type"]) == (206, b"234", "video/mp4")
    stranger = MembershipFactory(role="admin")
    site.client.force_login(stranger.user)
    theirs = reverse("models_runner:video", args=[stranger.project.uuid, url.split("/")[-2]])
    assert site.client.get(theirs).status_code == 404


class Official(Drawn):
    """Makes of the queries of the collection what their file holds."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "query.h5"

    def rows(self, items: list[Any]) -> Iterator[np.ndarray]:
        with open_features(self._path) as store:
            for item in items:
                yield store.rows(item.text.removeprefix("query ")) if item.text.startswith("query ") else DRAWN


def test_an_official_file_is_searched_by_the_model_it_names(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def extractor(method: str, *_: Any, model: str, layer: int, **__: Any) -> Official:
        calls.append(f"{method} {model} {layer}")
        return Official(site.tiny)

    monkeypatch.setattr("moment_retrieval.answers.extractor_of", extractor)
    FeatureSet.objects.update(extractor="file", model="bert-base-cased")
    (tmp_path / "link.h5").symlink_to(site.tiny / "query.h5")
    site.experiment.features["query"]["path"] = str(tmp_path / "link.h5")  # which names it too
    site.experiment.save()
    assert "12 moments in " in site.search()
    assert calls == ["text-model bert-base-cased -1"]
    FeatureSet.objects.update(attributes={"layer": -2})  # as the file says that it was made
    site.search()
    assert calls[1:] == ["text-model bert-base-cased -2"]


def test_a_model_outside_of_the_configured_folders_is_not_read_whoever_named_it(site: Site, tmp_path: Path) -> None:
    for model in (str(tmp_path), str(tmp_path / "nothing")):
        FeatureSet.objects.update(extractor="file", model=model)
        assert REFUSAL in site.search(status=409)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"q": "  "}, "Type what to look for."),
        ({"q": "long " * 101}, "at most 500 characters"),
        ({"q": "a\0b"}, "Null characters are not allowed."),
        ({"training": "00000000-0000-4000-8000-000000000000"}, "There is no such finished training"),
    ],
)
def test_what_cannot_be_searched_for_is_refused(site: Site, parameters: dict[str, str], words: str) -> None:
    assert words in site.search(status=422, **parameters)
    assert "There is no parameter 'query' here." in site.api(status=422, query="x")["message"]
    site.api(status=422, limit=41)


class TestWithoutAnAnswer:
    def test_the_query_features_are_not_known_or_others(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        FeatureSet.objects.update(extractor="file")
        page = site.search(status=409)
        assert "not known what made the query features" in page
        assert "say on the page Features which text model made it" in page
        monkeypatch.setattr("tests.models_runner.benchmarks.DRAWN", np.repeat(DRAWN, 3, axis=0))
        FeatureSet.objects.update(model="bert-base-cased")
        assert "drawn makes 9 rows of query 5000, and the file of this training has" in site.search(status=409)

    def test_the_weights_are_gone_or_nothing_is_trained(self, site: Site) -> None:
        shutil.rmtree(experiments_files.folder_of(site.training) / "best")
        assert "tiny, seed 1 cannot be searched" in site.search(status=409)
        assert "cannot be searched" in site.api(status=409)["message"]
        Training.objects.all().delete()
        page = site.search()
        assert "No trained checkpoint yet" in page and "Start a benchmark run" in page
        site.client.force_login(site.lead.user)
        assert "An admin of the project starts" in site.search()

    def test_the_worker_is_loading_or_missing(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks.search_work, "apply_async", Late)
        page = site.search(status=503)
        assert "No search worker took the query within 5 s" in page and 'hx-trigger="load' not in page
        htmx = site.client.get(site.url("search"), {"q": "x"}, headers={"HX-Request": "true"})
        assert htmx.status_code == 200  # else a page that asks again would not show it
        monkeypatch.setattr(services, "is_locked", lambda _: True)
        page = site.search()
        assert "is loading a training" in page and "tried=1" in page and 'hx-trigger="load' in page
        site.search(status=503, tried="24")  # it does not ask for ever
        site.api(status=503)

    @pytest.mark.parametrize("error", [WorkerLostError("killed"), MemoryError(), OSError("no room")])
    def test_the_worker_breaks(
        self, site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(Late):
            def get(self, *, propagate: bool, **_: Any) -> Exception:
                assert not propagate
                return error

        monkeypatch.setattr(tasks.search_work, "apply_async", Broken)
        assert f"The search worker failed ({type(error).__name__})" in site.search(status=409)
        assert f"training {site.training.pk}: the search worker failed" in caplog.text
        site.api(status=409)

    def test_a_search_fails_in_the_worker_or_before_it(
        self, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail_with(error: Exception) -> Callable[..., None]:
            def fail(*_: Any, **__: Any) -> None:
                raise error

            return fail

        words = "mat1 and mat2 shapes cannot be multiplied"
        monkeypatch.setattr(worker, "searcher_of", fail_with(RuntimeError(words)))
        assert "The search worker failed (RuntimeError)" in site.search(status=409)
        assert words in caplog.text
        monkeypatch.setattr(tasks.search_work, "apply_async", fail_with(OperationalError()))
        assert "The broker" in site.search(status=503)

    def test_the_broker_ends_where_answers_were_listened_for(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        """Celery connects again once, which is refused."""
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            backend = RedisBackend(app=app, url=f"redis://127.0.0.1:{nobody.getsockname()[1]}")
            attempts: list[object] = []
            monkeypatch.setattr(backend, "on_connection_error", lambda *args: attempts.append(args) or 0)
            consumer = backend.result_consumer
            consumer._pubsub = backend.client.pubsub()  # as a search before left it
            monkeypatch.setattr(tasks.search_work, "apply_async", lambda *_, **__: consumer.consume_from("later"))
            assert "The broker" in site.search(status=503)
        assert len(attempts) == 1


class Late:
    def __init__(self, *_: Any, **__: Any) -> None: ...

    def get(self, **_: Any) -> None:
        raise NoAnswer

    def forget(self) -> None: ...


def test_at_most_two_text_models_stay_loaded(site: Site) -> None:
    """With them go the trainings that read words by them, which would hold on to them."""
    folder = experiments_files.folder_of(site.training)
    sources = [worker.SearchableTraining(folder, "text-model", model, "") for model in ("a", "b", "c")]
    references = [weakref.ref(worker.searcher_of(source).reader.words) for source in sources]
    gc.collect()
    assert [one() is None for one in references] == [True, False, False]
    assert worker.searcher_of(sources[2]).reader.words is references[2]()


def x(second: float, last: float = 6.0) -> str:
    return f"{LEFT + second / last * (WIDTH - RIGHT - LEFT):.1f}".removesuffix(".0")


def test_curves_peak_where_the_moment_begins_and_ends() -> None:
    how = {"clip_s": 1.5, "end_offset_s": 1.5, "duration_s": 6.0}
    svg = why_chart([0.1, 0.8, 0.1, 0.0], [0.0, 0.1, 0.2, 0.7], (1.5, 6.0), **how).inline()
    assert f'<rect class="span" x="{x(1.5)}"' in svg and f'height="{HEIGHT:g}"><title>1.5 to 6.0 s' in svg
    assert f'cx="{x(1.5)}"' in svg and "start at 1.5 s: 0.800" in svg
    assert f'cx="{x(6)}"' in svg and "end at 6.0 s: 0.700" in svg  # the fourth clip begins at 4.5 s, and ends later
    svg = why_chart([0.5, 0.5], [0.5, 0.5], (0.0, 3.0), clip_s=1.5, end_offset_s=0.0, duration_s=None).inline()
    assert f'width="{WIDTH - RIGHT - LEFT:g}"' in svg


@dataclass(frozen=True)
class Block:
    nbytes: int


class TestCache:
    @pytest.mark.parametrize(
        ("room", "requests", "names"),
        [
            (10, [("a", 4), ("b", 4), ("a", 4), ("c", 4)], "ac"),  # what was not requested longest goes first
            (10, [("a", 4), ("b", 40)], "b"),  # one that is too large is cached alone
            (12, [("a", 4), ("b", 4, "a"), ("c", 4), ("b", 4, "a"), ("d", 4)], "abd"),  # with what it needs
            (12, [("a", 4), ("b", 4, "a"), ("c", 8)], "c"),  # what needs another goes with it, else nobody counts it
            (10, [("a", 4), ("b", 4), ("c", 40, "b")], "bc"),  # what is too large stays with what it needs
        ],
    )
    def test_what_stays_of_what_was_requested(self, room: int, requests: list[Any], names: str) -> None:
        cache: ValueCache[Block] = ValueCache(room)
        for name, nbytes, *needs in requests:
            cache.get(name, partial(Block, nbytes), needs=tuple(needs))
        assert ([name for name in "abcd" if name in cache], len(cache)) == (list(names), len(names))

    def test_what_is_cached_is_not_made_again_and_so_many_stay_as_the_size_says(self) -> None:
        cache: ValueCache[Block] = ValueCache(10)
        first = cache.get("a", lambda: Block(4))
        assert cache.get("a", lambda: Block(5)) is first and cache.nbytes == 4
        dropped_keys: list[Hashable] = []
        cache: ValueCache[Block] = ValueCache(2, size=lambda _: 1, on_drop=dropped_keys.append)
        for name in ("a", "b", "a", "c"):
            cache.get(name, lambda: Block(400))
        assert dropped_keys == ["b"] and len(cache) == 2
