"""Searching by a finished training: the page, the API, and what is said when nothing can be found."""

import gc
import html
import json
import shutil
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from billiard.exceptions import WorkerLostError
from celery.backends.redis import RedisBackend
from celery.exceptions import TimeoutError as NoAnswer
from django.core.files.base import ContentFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.models import Membership
from annotation.models import Moment, Video
from annotation.similarity.registry import REFUSAL
from config.celery_app import app
from judging.models import Release
from models_runner import tasks
from models_runner.experiments import files as experiments_files
from models_runner.models import Experiment, FeatureSet, Training
from models_runner.search import services, worker
from moment_retrieval.cli import main
from moment_retrieval.features import open_features
from tests.factories import MembershipFactory, admin
from tests.judging.api.acts import bearer
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, member_of, run_json
from tests.models_runner.benchmarks import DRAWN, Drawn, configure_training
from tests.moment_retrieval.training.tiny import experiment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An XML that was trained for a moment."""
    folder = tmp_path_factory.mktemp("searched")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    assert main(["train", str(experiment(folder, "xml", epochs=1))]) == 0
    torch.set_num_threads(threads)
    return folder


class Site:
    """A project whose training is done, and its admin's browser."""

    def __init__(self, hand_made: HandMade, release: Release, tiny: Path) -> None:
        self.hand_made, self.release, self.tiny = hand_made, release, tiny
        self.client = Client()
        self.client.force_login(admin(hand_made.project))
        features = {kind: {"name": kind, "path": str(tiny / f"{kind}.h5")} for kind in ("video", "query")}
        FeatureSet.objects.create(
            project=hand_made.project, kind="query", extractor="builtin-text", **features["query"]
        )
        about = {"project": hand_made.project, "release": self.release, "features": features}
        self.experiment = Experiment.objects.create(name="tiny", baseline="xml", top_n=1, **about)
        self.training = self.add_training(seed=1)

    def add_training(self, seed: int) -> Training:
        run = bring(
            member_of(self.hand_made, self.hand_made.lead), self.release, run_json({10: GOOD}), system=f"seed {seed}"
        )
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
        return reverse(f"models_runner:{name}", args=[self.hand_made.project.uuid, *words])

    def search(self, q: str = "somebody opens a door", **options: Any) -> HttpResponse:
        return self.client.get(self.url("search"), {"q": q, **options})  # type: ignore[return-value]

    def page(self, q: str = "somebody opens a door", **options: Any) -> str:
        return self.search(q, **options).content.decode()

    def api(self, person: Any = None, **options: Any) -> HttpResponse:
        url = reverse("api:search", args=[self.hand_made.project.uuid])
        return Client().get(url, options, headers=bearer(person or admin(self.hand_made.project)))  # type: ignore[return-value]


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


def filmed(site: Site) -> Video:
    """The first video that is found, in the project, with a file."""
    hit = json.loads(site.api(q="x").content)["hits"][0]
    video = Video.objects.create(
        corpus=site.hand_made.project.dataset.corpus, name=hit["video"], duration_s=30, index=900
    )
    video.file.save("film.mp4", ContentFile(b"0123456789"))
    return video


def test_a_query_finds_ranked_moments_and_says_why(site: Site) -> None:
    page = site.page()
    assert "12 moments in " in page and " ms</b>" in page
    assert page.count("<summary>Why</summary>") == page.count('aria-label="Start and end by probability') == 12
    assert "by what is heard" in page and 'class="span"' in page
    assert "The project has no file of this video" in page


def test_results_can_be_linked_and_the_last_queries_return(site: Site) -> None:
    other = site.add_training(seed=2)
    site.page("first words", training=other.uuid)
    page = site.page("second words", training=site.training.uuid)
    assert f"?q=first+words&amp;training={other.uuid}" in page and 'value="second words"' in page
    assert f'<option value="{site.training.uuid}" selected>' in page
    again = site.client.get(site.url("search")).content.decode()
    assert again.index("second words") < again.index("first words") and "What are you looking for?" in again


def test_a_moment_that_is_annotated_is_shown_by_its_preview(site: Site) -> None:
    video = filmed(site)
    hit = json.loads(site.api(q="x").content)["hits"][0]
    unseen = site.page()
    assert f"{video.uuid}/#t={hit['start_s']:.2f},{hit['end_s']:.2f}" in unseen and "The span itself" in unseen
    span = {"start_s": hit["start_s"], "end_s": hit["end_s"]}
    moment = Moment.objects.create(video=video, preview="previews/a.gif", preview_state="ready", **span)
    text = site.page()
    assert reverse("judging:preview", args=[moment.preview_uuid]) in text and "IoU 1.00" in text
    assert json.loads(site.api(q="x").content)["hits"][0]["preview"] == str(moment.preview_uuid)


def test_staff_alone_watch_videos(site: Site) -> None:
    url = site.url("video", filmed(site).uuid)
    part = site.client.get(url, headers={"Range": "bytes=2-4"})
    assert (part.status_code, part.content, part["Content-Type"]) == (206, b"234", "video/mp4")
    for role in (Membership.Role.ANNOTATOR, Membership.Role.PARTICIPANT):
        other = Client()
        other.force_login(MembershipFactory(project=site.hand_made.project, role=role).user)
        assert other.get(url).status_code == 403
    stranger = MembershipFactory(role="admin")
    client = Client()
    client.force_login(stranger.user)
    assert client.get(url).status_code == 404
    theirs = reverse("models_runner:video", args=[stranger.project.uuid, url.split("/")[-2]])
    assert client.get(theirs).status_code == 404


def test_a_search_costs_the_same_statements_whatever_is_found(
    site: Site, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    filmed(site)
    site.page()
    with django_assert_max_num_queries(14) as few:
        site.page(limit=1)
    with django_assert_num_queries(len(few.captured_queries)):
        site.page(limit=40, every="on")


def test_a_training_whose_query_features_are_named_by_a_link_is_searched(site: Site, tmp_path: Path) -> None:
    (tmp_path / "link.h5").symlink_to(site.tiny / "query.h5")
    site.experiment.features["query"]["path"] = str(tmp_path / "link.h5")
    site.experiment.save()
    assert "12 moments in " in site.page()


def test_a_training_on_an_official_file_is_searched_by_the_model_that_its_file_names(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def extractor(method: str, *_: Any, model: str, **__: Any) -> Official:
        calls.append(f"{method} {model}")
        return Official(site.tiny)

    monkeypatch.setattr("moment_retrieval.answers.extractor_of", extractor)
    FeatureSet.objects.update(extractor="file", model="bert-base-cased")
    assert "12 moments in " in site.page()
    assert calls == ["text-model bert-base-cased"]


def test_a_model_outside_of_the_configured_folders_is_not_read_whoever_named_it(site: Site, tmp_path: Path) -> None:
    for model in (str(tmp_path), str(tmp_path / "nothing")):
        FeatureSet.objects.update(extractor="file", model=model)
        assert REFUSAL in html.unescape(site.page())


class Official(Drawn):
    """Makes of the queries of the collection what their file holds."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "query.h5"

    def rows(self, items: list[Any]) -> Iterator[np.ndarray]:
        with open_features(self._path) as store:
            for item in items:
                yield store.rows(item.text.removeprefix("query ")) if item.text.startswith("query ") else DRAWN


def test_words_read_by_another_version_are_reported(site: Site) -> None:
    FeatureSet.objects.update(made_by="tokens an older model")
    assert "Trained on words read by tokens an older model; yours are read by drawn." in site.page()


class TestQueryParameters:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"q": "  "}, "Type what to look for."),
            ({"q": "long " * 101}, "at most 500 characters"),
            ({"q": "a\0b"}, "Null characters are not allowed."),
            ({"training": "00000000-0000-4000-8000-000000000000"}, "There is no such finished training"),
        ],
    )
    def test_is_looked_at(self, site: Site, parameters: dict[str, str], words: str) -> None:
        answer = site.search(**parameters)
        assert answer.status_code == 422 and words in answer.content.decode()

    def test_may_be_as_long_as_a_paragraph(self, site: Site) -> None:
        assert "moments in" in site.page("word " * 99)

    def test_of_a_training_that_is_not_done(self, site: Site) -> None:
        waiting = Training.objects.create(experiment=site.experiment, seed=9)
        assert site.search(training=waiting.uuid).status_code == 422
        assert str(waiting.uuid) not in site.page()


class TestWithoutAnAnswer:
    def test_nothing_is_trained(self, site: Site) -> None:
        Training.objects.all().delete()
        page = site.page()
        assert "No trained checkpoint yet" in page and "Start a benchmark run" in page
        site.client.force_login(site.hand_made.lead)
        assert "An admin of the project starts" in site.page()

    def test_nobody_knows_what_made_the_query_features(self, site: Site) -> None:
        FeatureSet.objects.update(extractor="file")
        answer = site.search()
        assert answer.status_code == 409 and "not known what made the query features" in answer.content.decode()
        assert "say on the page Features which text model made it" in answer.content.decode()

    def test_the_model_named_for_them_makes_others(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.models_runner.benchmarks.DRAWN", np.repeat(DRAWN, 3, axis=0))
        FeatureSet.objects.update(extractor="file", model="bert-base-cased")
        answer = site.search()
        assert answer.status_code == 409
        assert "drawn makes 9 rows of query 5000, and the file of this training has" in answer.content.decode()

    def test_the_weights_are_gone(self, site: Site) -> None:
        shutil.rmtree(experiments_files.folder_of(site.training) / "best")
        answer = site.search()
        assert answer.status_code == 409 and "tiny, seed 1 cannot be searched" in answer.content.decode()
        refused = site.api(q="x")
        assert refused.status_code == 409 and "cannot be searched" in refused.content.decode()

    def test_the_worker_is_loading(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks.search_work, "apply_async", Late)
        monkeypatch.setattr(services, "is_locked", lambda _: True)
        answer = site.search()
        page = answer.content.decode()
        assert answer.status_code == 200 and "is loading a training" in page
        assert "tried=1" in page and 'hx-trigger="load' in page
        assert site.search(tried="24").status_code == 503  # it does not ask for ever
        assert site.api(q="x").status_code == 503

    def test_there_is_no_worker(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks.search_work, "apply_async", Late)
        answer = site.search()
        page = answer.content.decode()
        assert answer.status_code == 503
        assert "No search worker took the query within 5 s" in page and "hx-trigger" not in page
        htmx = site.client.get(site.url("search"), {"q": "x"}, headers={"HX-Request": "true"})
        assert htmx.status_code == 200  # else a page that asks again would not show it

    def test_the_broker_is_unavailable(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise OperationalError

        monkeypatch.setattr(tasks.search_work, "apply_async", fail)
        answer = site.search()
        assert answer.status_code == 503 and "The broker" in answer.content.decode()

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
            answer = site.search()
        assert answer.status_code == 503 and "The broker" in answer.content.decode()
        assert len(attempts) == 1

    @pytest.mark.parametrize("error", [WorkerLostError("killed"), MemoryError(), OSError("no room")])
    def test_the_worker_breaks_down(
        self, site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(Late):
            def get(self, *, propagate: bool, **_: Any) -> Exception:
                assert not propagate
                return error

        monkeypatch.setattr(tasks.search_work, "apply_async", Broken)
        answer = site.search()
        assert answer.status_code == 409 and f"The search worker failed ({type(error).__name__})" in str(answer.content)
        assert f"training {site.training.pk}: the search worker failed" in caplog.text
        assert site.api(q="x").status_code == 409

    def test_a_search_fails_in_the_worker(
        self, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def failing(_: Any) -> None:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

        monkeypatch.setattr(worker, "searcher_of", failing)
        answer = site.search()
        assert answer.status_code == 409 and "The search worker failed (RuntimeError)" in answer.content.decode()
        assert "mat1 and mat2" in caplog.text


class Late:
    """A result that does not come."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def get(self, **_: Any) -> None:
        raise NoAnswer

    def forget(self) -> None: ...


class TestTheApi:
    def test_gives_hits_with_their_why(self, site: Site) -> None:
        payload = json.loads(site.api(q="a door", training=site.training.uuid, limit=3).content)
        assert [hit["rank"] for hit in payload["hits"]] == [1, 2, 3] and payload["searched"] == 12
        why = payload["hits"][0]["why"]
        assert why["video_score"] == pytest.approx((why["seen"] + why["heard"]) / 2)
        assert sum(why["start"]) == pytest.approx(1, abs=1e-4) and len(why["start"]) == len(why["end"])

    def test_says_what_is_wrong(self, site: Site) -> None:
        assert "There is no parameter 'query' here." in json.loads(site.api(query="x").content)["message"]
        assert site.api(q="x", limit=41).status_code == 422
        assert "500 characters" in site.api(q="x" * 501).content.decode()

    def test_is_for_leads_and_admins(self, site: Site) -> None:
        assert site.api(site.hand_made.lead, q="x").status_code == 200
        for role in (Membership.Role.ANNOTATOR, Membership.Role.PARTICIPANT):
            member = MembershipFactory(project=site.hand_made.project, role=role)
            assert site.api(member.user, q="x").status_code == 403
        assert site.api(MembershipFactory(role="admin").user, q="x").status_code == 404


def test_a_training_is_loaded_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    searchers, searcher_of = [], worker.searcher_of
    monkeypatch.setattr(worker, "searcher_of", lambda source: searchers.append(searcher_of(source)) or searchers[-1])
    site.page("one")
    site.page("two")
    assert searchers[0] is searchers[1]


def test_at_most_two_text_models_stay_loaded(site: Site) -> None:
    """With them go the trainings that read words by them, which would hold on to them."""
    folder = experiments_files.folder_of(site.training)
    sources = [worker.SearchableTraining(folder, "text-model", model, "") for model in ("a", "b", "c")]
    references = [weakref.ref(worker.searcher_of(source).reader.words) for source in sources]
    gc.collect()
    assert [one() is None for one in references] == [True, False, False]
    assert worker.searcher_of(sources[2]).reader.words is references[2]()
