"""Searches over settings: ordered, trained by a child process, cancelled, resumed, begun again, deleted."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.db import OperationalError
from django.utils import timezone

from core.exceptions import NotPossible, StorageUnavailable
from core.models import AuditEvent
from judging.exceptions import FormStale
from judging.models import Release
from models_runner.experiments import files
from models_runner.experiments.deletion import deleted_files_sweep, experiment_delete
from models_runner.experiments.devices import devices_named, devices_used
from models_runner.experiments.trainings import next_send, training_work
from models_runner.features.services import feature_set_delete
from models_runner.models import FeatureSet, Run, SettingsSearch
from models_runner.tuning import work
from models_runner.tuning.services import (
    settings_search_cancel,
    settings_search_delete,
    settings_search_resume,
)
from models_runner.tuning.work import search_claim, search_report, searches_sweep
from moment_retrieval.training.trials import TRIAL, trial_folder
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.scenario import HandMade
from tests.models_runner.benchmarks import (
    TUNING_PROGRAM,
    configure_training,
    features_drawn,
    only,
    order_experiment,
    order_search,
    searched,
    trainable,
    trained,
)
from tests.models_runner.tuning.conftest import OrderSearch

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def how(settings: Any) -> Callable[[str], None]:
    """Have the program end in some way."""

    def choose(word: str) -> None:
        settings.TUNE_COMMAND = [*TUNING_PROGRAM, word]

    return choose


def states(search: SettingsSearch) -> list[str]:
    return [trial["state"] for trial in search.trials]


def cancel_when_begun(monkeypatch: pytest.MonkeyPatch, n_done: int = 1) -> None:
    """Somebody presses Cancel as soon as the program waits at its second trial."""

    def report(search: SettingsSearch, watch: work.Watch) -> str:
        if watch.look()["n_done"] == n_done:
            settings_search_cancel(search=search, actor=None)
        return search_report(search, watch)

    monkeypatch.setattr(work, "search_report", report)
    monkeypatch.setattr(work, "LOOK_S", 0.01)
    monkeypatch.setattr(work, "PROGRESS_EVERY_S", 0)


def test_every_setting_is_tried_and_nothing_of_it_is_a_run(
    order: OrderSearch, scenario: HandMade, messages: Messages
) -> None:
    with messages():
        search = order(actor=scenario.lead)
    search.refresh_from_db()
    assert (search.state, search.n_done, search.n_runs, search.percent) == ("done", 3, 3, 100)
    assert [trial["settings"] for trial in search.trials] == [
        {"lr": 1e-4, "objective.margin": 0.1},
        {"lr": 1e-4, "objective.margin": 0.2},
        {"lr": 1e-3, "objective.margin": 0.1},
    ]
    assert search.best == pytest.approx(0.3) and search.current == {}
    assert not Run.objects.filter(source="baseline").exists()
    events = AuditEvent.objects.filter(subject=search.uuid).order_by("pk")
    assert [event.action for event in events] == ["settings_search.start", "settings_search.finish"]
    assert events[1].data == {"name": "ReLoCLNet, N=20", "state": "done", "done": 3, "best": 0.3}
    assert searched(search).attempts == 1  # a repeat finds it done


def test_the_program_gets_what_was_requested_and_never_the_test_split(order: OrderSearch) -> None:
    search = order(seed=7, stops_early=False)
    tuning = json.loads((files.tuning_write(search) / "tuning.json").read_text())
    plan = tuning.pop("plan")
    assert (plan["baseline"], plan["top_n"], plan["seed"], plan["batch"], plan["test"]) == ("reloclnet", 20, 7, 8, None)
    assert tuning == {"space": search.space, "runs": 3, "how": "grid", "seed": 7, "stop_early": False}


class TestOrdering:
    def test_a_grid_takes_no_more_trainings_than_combinations(self, order: OrderSearch) -> None:
        assert order(n_runs=50).n_runs == 4
        assert order(n_runs=50, method="random").n_runs == 50

    def test_names_are_made_and_taken_once(self, order: OrderSearch) -> None:
        assert [order().name, order().name, order(name="ours").name] == [
            "ReLoCLNet, N=20",
            "ReLoCLNet, N=20 (2)",
            "ours",
        ]
        with pytest.raises(NotPossible, match="another name"):
            order(name="ours")

    def test_a_form_sent_again_is_answered_with_its_search(self, order: OrderSearch) -> None:
        first = order()
        assert order(key=first.uuid).pk == first.pk
        with pytest.raises(FormStale):
            order(key=first.uuid, seed=2)

    @pytest.mark.parametrize("space", [{}, {"lr": []}, {"lr": {"low": 1, "high": 0}}])
    def test_what_cannot_be_tried_is_refused(self, order: OrderSearch, space: dict[str, Any]) -> None:
        with pytest.raises(NotPossible, match="The search cannot be used"):
            order(space=space)
        assert not SettingsSearch.objects.exists()

    def test_what_it_needs_cannot_be_deleted(self, order: OrderSearch, release: Release, tmp_path: Path) -> None:
        giver = order_experiment(release, tmp_path)
        search = order(baseline="conquer", candidates=trained(only(giver)), space={"lr": [1e-4, 1e-3]})
        with pytest.raises(NotPossible, match="the search CONQUER, N=20 looks at the videos it finds"):
            experiment_delete(experiment=giver, actor=None)
        FeatureSet.objects.update(path=search.features["video"]["path"])
        feature_set = FeatureSet.objects.get(name="own video")
        if feature_set.is_ours:
            with pytest.raises(NotPossible, match="are needed"):
                feature_set_delete(feature_set=feature_set, actor=None)


class TestCancelAndResume:
    def test_a_cancelled_search_goes_on_where_it_was(
        self, order: OrderSearch, how: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        search = order()
        how("waits")
        with monkeypatch.context() as patch:
            cancel_when_begun(patch)
            ended = searched(search)
        assert (ended.state, ended.n_done, states(ended)) == ("cancelled", 1, ["finished", "running", "waiting"])
        first = (trial_folder(files.search_folder(search), 1) / TRIAL).stat().st_mtime_ns
        settings_search_resume(search=search, actor=None)
        how("done")
        ended = searched(search)
        assert (ended.state, ended.n_done, ended.attempts) == ("done", 3, 2)
        assert (trial_folder(files.search_folder(search), 1) / TRIAL).stat().st_mtime_ns == first
        with pytest.raises(NotPossible, match="can be resumed"):
            settings_search_resume(search=search, actor=None)

    def test_what_waits_is_cancelled_at_once_and_what_ended_cannot_be(self, order: OrderSearch) -> None:
        search = order()
        assert settings_search_cancel(search=search, actor=None).state == "cancelled"
        assert searched(search).attempts == 0
        with pytest.raises(NotPossible, match="ended already"):
            settings_search_cancel(search=search, actor=None)

    def test_failed_trials_of_a_search_that_is_done_are_tried_again(
        self, order: OrderSearch, how: Callable[[str], None]
    ) -> None:
        search = order()
        how("half")
        ended = searched(search)
        assert (ended.state, ended.n_done, states(ended)) == ("done", 3, ["finished", "failed", "finished"])
        assert ended.trials[1]["reason"] == "The loss is not a number."
        settings_search_resume(search=ended, actor=None)
        how("done")
        assert states(searched(search)) == ["finished"] * 3


class TestFailures:
    @pytest.mark.parametrize(
        ("word", "error"),
        [
            ("fails", "Every trial failed, the first one so: The loss is not a number."),
            ("refuses", "error: nothing is known of speed"),
        ],
    )
    def test_a_failure_says_its_reason(
        self, order: OrderSearch, how: Callable[[str], None], word: str, error: str
    ) -> None:
        search = order()
        how(word)
        ended = searched(search)
        assert (ended.state, ended.error, ended.crashes) == ("failed", error, 0)

    def test_crashes_are_followed_by_other_attempts_but_not_for_ever(
        self, order: OrderSearch, how: Callable[[str], None], messages: Messages
    ) -> None:
        how("crashes")
        with messages():
            search = order()
        search.refresh_from_db()
        assert (search.state, search.crashes, search.n_done) == ("failed", 3, 1)
        assert "crashed 3 times" in search.error and "SIGKILL" in search.error

    def test_an_unavailable_storage_puts_it_off(self, order: OrderSearch, monkeypatch: pytest.MonkeyPatch) -> None:
        def raise_unavailable(*args: object) -> NoReturn:
            raise StorageUnavailable(reason="silence")

        search = order()
        with monkeypatch.context() as patch:
            patch.setattr(files, "tuning_write", raise_unavailable)
            waiting = searched(search)
        assert (waiting.state, waiting.error, waiting.crashes) == ("waiting", "", 0)
        assert searched(search).state == "done"

    def test_a_lost_database_leaves_it_to_the_sweep(
        self, order: OrderSearch, how: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The program stopped with its worker: no crash."""

        def fail(search: SettingsSearch, watch: work.Watch) -> NoReturn:
            raise OperationalError("PostgreSQL is away")

        search = order()
        how("waits")
        monkeypatch.setattr(work, "search_report", fail)
        with pytest.raises(OperationalError):
            searched(search)
        assert SettingsSearch.objects.get(pk=search.pk).state == "running"

    def test_a_killed_worker_s_search_is_sent_again(self, order: OrderSearch, messages: Messages) -> None:
        search, now = order(), timezone.now()
        assert search_claim(search_id=search.pk, device=devices_named(devices_used("cpu", 1))) is not None
        assert search_claim(search_id=search.pk, device="another") is None
        SettingsSearch.objects.update(heartbeat=now - timedelta(minutes=1))
        with messages():
            searches_sweep(now)
        search.refresh_from_db()
        assert (search.state, search.crashes, search.attempts) == ("done", 0, 2)  # what a trial more forgave

    def test_a_cancel_reaches_a_search_that_lost_its_worker(self, order: OrderSearch) -> None:
        search, now = order(), timezone.now()
        search_claim(search_id=search.pk, device="here/0")
        settings_search_cancel(search=search, actor=None)
        SettingsSearch.objects.update(heartbeat=now - timedelta(minutes=1))
        searches_sweep(now)
        search.refresh_from_db()
        assert search.state == "cancelled"


def test_trainings_and_searches_stand_in_one_line(
    order: OrderSearch, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    search, training = order(), only(order_experiment(release, tmp_path))
    monkeypatch.setattr(
        "models_runner.experiments.trainings.send_on_commit", lambda task, pk, **_: messages.append(task)
    )
    next_send()
    settings_search_cancel(search=search, actor=None)
    settings_search_resume(search=search, actor=None)  # behind the training
    next_send()
    training_work(training_id=training.pk)
    tasks = ["settings_search_work", "training_work", "settings_search_work"]
    assert [task.rpartition(".")[2] for task in messages] == tasks


class TestDeleting:
    def test_rows_and_files_go(
        self, order: OrderSearch, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        search = order()
        with pytest.raises(NotPossible, match="cancel it first"):
            settings_search_delete(search=search, actor=None)
        folder = files.search_folder(searched(search))
        assert folder.is_dir()
        settings_search_delete(search=search, actor=None)
        assert not SettingsSearch.objects.exists() and folder.is_dir()  # until the commit
        assert deleted_files_sweep() == 1
        assert not folder.exists()
        with pytest.raises(NotPossible, match="has been deleted"):
            settings_search_cancel(search=search, actor=None)


def test_the_program_itself_searches(scenario: HandMade, settings: Any, tmp_path: Path) -> None:
    tune_command = settings.TUNE_COMMAND
    configure_training(settings, tmp_path)
    settings.TUNE_COMMAND, settings.TRAIN_THREADS = tune_command, 1
    project = ProjectFactory()
    release = trainable(project)
    options = {"epochs": 1, "evaluations_per_epoch": 1.0, "batch": 4, "sizes": {"hidden": 8, "heads": 1}}
    search = order_search(release, tmp_path, baseline="xml", options=options, space={"decoding.alpha": [0.0, 20.0]})
    features_drawn(project, tmp_path)
    ended = searched(search)
    assert (ended.error, ended.state, ended.n_done) == ("", "done", 2)
    assert states(ended) == ["finished", "finished"] and ended.best is not None
