"""A benchmark run from the page, all the way: started, watched, cancelled, resumed, ranked."""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Page, expect

from config.celery_app import app
from models_runner.experiments.trainings import TASK, training_work
from models_runner.models import Experiment, Run, Training
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints, visit
from tests.models_runner.benchmarks import PROGRAM, configure_training, features_of, trainable

START_MS, END_MS = 180_000, 240_000  # for a program that loads torch on a busy machine
State = Training.State


@pytest.fixture
def page(browse: Browse, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Iterator[Page]:
    """An admin's page of benchmark runs, in a project with a release and features; a thread trains as a worker does."""
    configure_training(settings, tmp_path)
    settings.TRAIN_COMMAND, settings.TRAIN_DEVICE, settings.TRAIN_THREADS = [*PROGRAM, "waits"], "cpu", 1
    project = acts.project()
    trainable(project)
    features_of(project, tmp_path)
    admins_page = browse(factories.admin(project))
    admins_page.set_default_timeout(START_MS)
    admins_page.goto(reverse("models_runner:experiments", args=[project.uuid]))
    futures: list[Future[None]] = []
    with ThreadPoolExecutor(1) as alone:
        monkeypatch.setattr(app.tasks[TASK], "apply", lambda args: futures.append(alone.submit(_train, *args)))
        yield admins_page
        Training.objects.filter(state=State.WAITING).update(state=State.CANCELLED)
        Training.objects.filter(state=State.RUNNING).update(state=State.CANCELLING)
    for future in futures:
        future.result()


def _train(training_id: int) -> None:
    try:
        training_work(training_id=training_id)
    finally:
        connection.close()


def start(page: Page) -> None:
    page.get_by_role("button", name="Start a benchmark run").click()
    page.get_by_label("Baseline").select_option("xml")
    page.get_by_label("Moments per training query").fill("1")
    page.get_by_label("Settings", exact=True).select_option("small")
    page.get_by_text("Change single settings").click()
    for label, value in (("Epochs", "2"), ("Evaluations per epoch", "0.02"), ("Patience", "0"), ("Hidden size", "16")):
        page.get_by_label(label, exact=label == "Epochs").fill(value)
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


def test_a_run_is_started_cancelled_resumed_and_ranked(page: Page) -> None:
    complaints = Complaints(page)
    start(page)
    cancel_and_resume(page)
    run_url = page.url
    ranked(page)
    assert complaints == []
    assert visit(page, run_url, reverse("models_runner:experiment-delete", args=[Experiment.objects.get().uuid])) == []
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The benchmark run XML, N=1 is gone. Its runs stay.")).to_be_visible()
    assert Run.objects.filter(system="XML, N=1, seed 1").count() == 2
