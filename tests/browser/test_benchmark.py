"""A benchmark run from the page, all the way: started, watched, cancelled, resumed, ranked, and searched with."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import Project
from config.celery_app import app
from models_runner.experiments.trainings import TASK, training_work
from models_runner.models import Experiment, Run, Training
from models_runner.search import worker as search_worker
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints, visit
from tests.models_runner.benchmarks import PROGRAM, Drawn, configure_training, features_drawn, features_of, trainable

START_MS, END_MS = 180_000, 240_000  # for a program that loads torch on a busy machine
State = Training.State
Begin = Callable[[Callable[[Project], object]], Page]


@pytest.fixture
def worker(browse: Browse, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trains in a thread of its own, one after the other, as the worker of the queue ``gpu`` does."""
    futures: list[Future[None]] = []
    with ThreadPoolExecutor(1) as alone:
        monkeypatch.setattr(app.tasks[TASK], "apply", lambda args: futures.append(alone.submit(_train, *args)))
        yield
        Training.objects.filter(state=State.WAITING).update(state=State.CANCELLED)
        Training.objects.filter(state=State.RUNNING).update(state=State.CANCELLING)
    search_worker._searchers.cache_clear()
    search_worker._texts.cache_clear()
    for one in futures:
        one.result()


def _train(training_id: int) -> None:
    try:
        training_work(training_id=training_id)
    finally:
        connection.close()


@pytest.fixture
def begin(browse: Browse, worker: None, settings: Any, tmp_path: Path) -> Begin:
    """An admin's page of benchmark runs, in a project with a release and features."""
    program = settings.TRAIN_COMMAND
    configure_training(settings, tmp_path)
    settings.TRAIN_COMMAND, settings.TRAIN_DEVICE, settings.TRAIN_THREADS = program, "cpu", 1

    def open_page(features: Callable[[Project], object]) -> Page:
        project = acts.project()
        trainable(project)
        features(project)
        page = browse(factories.admin(project))
        page.set_default_timeout(START_MS)
        page.goto(reverse("models_runner:experiments", args=[project.uuid]))
        return page

    return open_page


def start(page: Page, *, epochs: int) -> None:
    page.get_by_role("button", name="Start a benchmark run").click()
    page.get_by_label("Baseline").select_option("xml")
    page.get_by_label("Moments per training query").select_option("1")
    page.get_by_label("Settings", exact=True).select_option("small")
    page.get_by_text("Change single settings").click()
    page.get_by_label("Epochs", exact=True).fill(str(epochs))
    page.get_by_label("Evaluations per epoch").fill("0.02")
    page.get_by_label("Patience").fill("0")
    page.get_by_label("Hidden size").fill("16")
    page.get_by_role("button", name="Start", exact=True).click()


def cancel_and_resume(page: Page) -> None:
    """As soon as there is something to see; and then to its end."""
    expect(page.locator("td.progress")).to_contain_text("%", timeout=START_MS)
    expect(page.locator("td .state")).to_have_text("running")
    page.locator("summary", has_text="Cancel").click()
    page.get_by_role("button", name="Cancel seed 1").click()
    expect(page.locator(".notice", has_text="Cancelled at step")).to_be_visible(timeout=START_MS)
    half = Training.objects.get()
    assert half.state == State.CANCELLED and half.step is not None and 0 < half.step < half.steps
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("td .state")).to_have_text("done", timeout=END_MS)
    whole = Training.objects.get()
    assert (whole.attempts, whole.step) == (2, whole.steps) and whole.best is not None
    expect(page.locator("figure svg")).to_have_count(2)


def ranked(page: Page) -> None:
    page.get_by_role("link", name="val", exact=True).click()
    page.get_by_role("link", name="Leaderboard").last.click()
    row = page.get_by_role("row", name=re.compile("XML, N=1, seed 1"))
    expect(row).to_contain_text("baseline")
    expect(row.locator("td b").first).to_have_text(re.compile(r"0\.\d{4}|1\.0000"))


def test_a_run_is_started_cancelled_resumed_and_ranked(begin: Begin, settings: Any, tmp_path: Path) -> None:
    settings.TRAIN_COMMAND = [*PROGRAM, "waits"]
    page = begin(lambda project: features_of(project, tmp_path))
    complaints = Complaints(page)
    start(page, epochs=2)
    cancel_and_resume(page)
    run_url = page.url
    ranked(page)
    assert complaints == []
    assert visit(page, run_url, reverse("models_runner:experiment-delete", args=[Experiment.objects.get().uuid])) == []
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The benchmark run XML, N=1 is gone. Its runs stay.")).to_be_visible()
    assert Run.objects.filter(system="XML, N=1, seed 1").count() == 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_baseline_is_trained_and_searched_with(begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("moment_retrieval.answers.extractor_of", lambda *_, **__: Drawn())
    page = begin(lambda project: features_drawn(project, tmp_path))
    complaints = Complaints(page)
    start(page, epochs=600)
    cancel_and_resume(page)
    ranked(page)
    page.get_by_role("link", name="Search").click()
    page.get_by_role("searchbox").fill("somebody sings")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".took")).to_contain_text("of 2 videos", timeout=START_MS)
    first = page.locator("#hit-1")
    expect(first).to_contain_text(re.compile("alpha|beta"))
    first.get_by_text("Why").click()
    expect(first.locator("details figure svg")).to_be_visible()
    assert complaints == []
    assert visit(page, page.url) == []
