"""Searches over settings on pages and for programs: the form, the table, cancel, resume, delete, a run of a trial."""

import csv
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from judging.models import Release
from models_runner.experiments.forms import ExperimentForm
from models_runner.models import Experiment, SettingsSearch
from models_runner.tuning.forms import combinations_of_grid, trials_of_grid
from tests.factories import MembershipFactory, admin
from tests.judging.api.acts import bearer, refusal, url
from tests.judging.scenario import HandMade
from tests.models_runner.benchmarks import configure_training, features_of, order_search, searched

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def release(release: Release, settings: Any, tmp_path: Path) -> Release:
    """With features of the project beside it."""
    configure_training(settings, tmp_path)
    features_of(release.project, tmp_path)
    return release


@pytest.fixture
def browser(scenario: HandMade, client: Client) -> Client:
    client.force_login(admin(scenario.project))
    return client


@pytest.fixture
def program(scenario: HandMade) -> Client:
    return Client(headers=bearer(admin(scenario.project)))


def page(name: str, *args: Any) -> str:
    return reverse(f"models_runner:settings-search{name}", args=[getattr(arg, "uuid", arg) for arg in args])


def form_values(release: Release, **values: str) -> dict[str, str]:
    sets = {one.kind: str(one.uuid) for one in release.project.feature_sets.all()}
    first = {"release": str(release.version), "baseline": "reloclnet", "top_n": "20", "preset": "small", **sets}
    return first | {"method": "random", "n_runs": "5", "seed": "1", "try_lr": "1e-4 to 1e-3", **values}


def send(browser: Client, release: Release, **values: str) -> HttpResponse:
    return browser.post(page("-new", release.project), form_values(release, **values))  # type: ignore[return-value]


class TestPages:
    def test_a_search_is_started_watched_and_its_best_trained_as_a_run(
        self, browser: Client, release: Release, scenario: HandMade
    ) -> None:
        form = browser.get(page("-new", release.project)).content.decode()
        assert "5 trainings of ReLoCLNet, at most about" in form and 'name="try_margin"' in form
        values = {"method": "grid", "try_lr": "1e-4, 2e-3", "try_margin": "0.1, 0.3", "n_runs": "9", "epochs": "3"}
        answer = send(browser, release, stops_early="on", **values)
        search = SettingsSearch.objects.get()
        assert answer.headers["Location"] == page("", search)
        assert (search.n_runs, search.stops_early, search.options["epochs"]) == (4, True, 3)
        assert search.space == {"lr": [1e-4, 2e-3], "objective.margin": [0.1, 0.3]}
        waiting = browser.get(page("", search)).content.decode()
        assert "No trial yet" in waiting and "data-live" in waiting
        searched(search)
        table = browser.get(page("", search)).content.decode()
        assert "4 of 4" in table and "data-live" not in table
        assert table.index(">0.4000<") < table.index(">0.3000<")  # best first
        link = reverse("models_runner:experiment-new", args=[release.project.uuid])
        assert f"{link}?search={search.uuid}&amp;trial=4" in table
        benchmarks = browser.get(reverse("models_runner:experiments", args=[release.project.uuid])).content.decode()
        assert page("", search) in benchmarks and "4 of 4" in benchmarks
        filled = browser.get(link, {"search": str(search.uuid), "trial": "4"}).context["form"]
        self.start_with(filled, browser, link)
        options = Experiment.objects.get().options
        assert (options["lr"], options["objective"], options["epochs"]) == (2e-3, {"margin": 0.3}, 3)
        assert options["sizes"]["hidden"] == 64 and Experiment.objects.get().features == search.features

    @staticmethod
    def start_with(form: ExperimentForm, browser: Client, link: str) -> None:
        values = {field.name: field.value() for field in form}
        answer = browser.post(link, {name: value for name, value in values.items() if value is not None})
        assert answer.status_code == 302, answer.context["form"].errors

    @pytest.mark.parametrize("query", [{"search": "x", "trial": "1"}, {"search": str(uuid4()), "trial": "1"}])
    def test_a_trial_that_there_is_not_leaves_the_form_as_it_is(
        self, browser: Client, release: Release, query: dict[str, str]
    ) -> None:
        link = reverse("models_runner:experiment-new", args=[release.project.uuid])
        assert browser.get(link, query).context["form"]["lr"].value() is None

    def test_a_grid_says_how_many_combinations_it_tries_and_which_values(
        self, browser: Client, release: Release, tmp_path: Path
    ) -> None:
        search = order_search(release, tmp_path, n_runs=2)
        text = browser.get(page("", search)).content.decode()
        assert "Tried: the first 2 of 4 combinations of learning rate <b>0.0001, 0.001</b>" in text
        assert "These have only learning rate <b>0.0001</b>; margin <b>0.1, 0.2</b>" in text
        values = form_values(release, method="grid", n_runs="2", try_lr="1e-4, 1e-3", try_alpha="20, 30")
        assert "4 combinations" in browser.get(page("-new", release.project), values, headers=HTMX).content.decode()

    def test_trials_csv(self, browser: Client, release: Release, tmp_path: Path) -> None:
        search = searched(order_search(release, tmp_path))
        answer = browser.get(page("-csv", search))
        assert 'filename="trials.csv"' in answer.headers["Content-Disposition"]
        rows = list(csv.DictReader(answer.content.decode().splitlines()))
        assert [row["trial"] for row in rows] == ["3", "2", "1"]
        assert (rows[0]["lr"], rows[0]["objective.margin"], rows[0]["state"]) == ("0.001", "0.1", "finished")
        assert float(rows[0]["ndcg@20_0.5"]) == pytest.approx(0.3)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"try_lr": ""}, "at least one setting"),
            ({"try_lr": "fast"}, "is not a number"),
            ({"method": "grid"}, "grid needs choices"),
            ({"try_own_video_weight": "0.1"}, "ReLoCLNet does not have this setting"),
            ({"lr": "0.001"}, "leave it empty here"),
            ({"n_runs": "201"}, "less than or equal to 200"),
        ],
    )
    def test_errors_stand_beside_their_field(
        self, browser: Client, release: Release, values: dict[str, str], words: str
    ) -> None:
        answer = send(browser, release, **values)
        assert answer.status_code == 422 and words in answer.content.decode()
        assert not SettingsSearch.objects.exists()

    def test_a_name_that_there_is_and_a_form_sent_twice(self, browser: Client, release: Release) -> None:
        key = str(uuid4())
        assert [send(browser, release, name="ours", key=key).status_code for _ in range(2)] == [302, 302]
        assert send(browser, release, name="ours").status_code == 409
        assert send(browser, release, name="ours", key=key, seed="2").status_code == 409
        assert SettingsSearch.objects.count() == 1

    def test_the_time_it_takes_changes_with_the_form(self, browser: Client, release: Release) -> None:
        values = form_values(release, method="grid", try_lr="1e-4, 1e-3", try_margin="0.1, 0.2, 0.3", n_runs="50")
        part = browser.get(page("-new", release.project), values, headers=HTMX).content.decode()
        assert "6 trainings of ReLoCLNet" in part and "<html" not in part
        part = browser.get(page("-new", release.project), values | {"try_lr": "x"}, headers=HTMX).content.decode()
        assert "Choose model" in part

    def test_cancel_resume_and_delete(self, browser: Client, release: Release, tmp_path: Path) -> None:
        search = order_search(release, tmp_path)
        assert "is not over" in browser.get(page("-delete", search)).content.decode()
        assert browser.post(page("-delete", search)).status_code == 409
        browser.post(page("-cancel", search))
        again = browser.post(page("-cancel", search), follow=True)
        assert "ended already" in again.content.decode() and "Cancelled after 0 of 3" in again.content.decode()
        browser.post(page("-resume", search))
        search.refresh_from_db()
        assert search.state == "waiting"
        browser.post(page("-cancel", search))
        answer = browser.post(page("-delete", search), follow=True).content.decode()
        assert f"The search {search.name} is gone." in answer and not SettingsSearch.objects.exists()

    def test_who_may_not(self, release: Release, scenario: HandMade, tmp_path: Path) -> None:
        search = order_search(release, tmp_path)
        changes = [page(step, search) for step in ("-cancel", "-resume", "-delete")]
        new, links = page("-new", release.project), [page("", search), page("-csv", search)]
        people = {role: MembershipFactory(project=scenario.project, role=role).user for role in ("participant",)}
        people |= {"annotator": scenario.people[1], "lead": scenario.lead}
        stranger = MembershipFactory(role="admin").user
        for role, person in [*people.items(), ("stranger", stranger)]:
            other = Client()
            other.force_login(person)
            refused = 404 if role == "stranger" else 403
            assert {other.post(link).status_code for link in (*changes, new)} == {refused}
            assert {other.get(link).status_code for link in links} == {200 if role == "lead" else refused}
        search.refresh_from_db()
        assert search.state == "waiting"

    def test_a_trial_of_another_project_fills_no_form(
        self, browser: Client, release: Release, scenario: HandMade, tmp_path: Path
    ) -> None:
        search = searched(order_search(release, tmp_path))
        other = MembershipFactory(role="admin")
        browser.force_login(other.user)
        link = reverse("models_runner:experiment-new", args=[other.project.uuid])
        answer = browser.get(link, {"search": str(search.uuid), "trial": "1"})
        assert answer.status_code == 200 and answer.context["form"]["lr"].value() is None


class TestPrograms:
    def test_order_look_list_and_delete(self, program: Client, release: Release) -> None:
        body = {"baseline": "xml", "space": {"lr": "1e-4, 1e-3"}, "method": "grid", "preset": "small", "seed": 3}
        answer = program.post(url("settings-searches", release.project), body, content_type="application/json")
        search = SettingsSearch.objects.get()
        assert (answer.status_code, answer.json()["n_runs"], answer.json()["state"]) == (201, 2, "waiting")
        assert search.stops_early and search.seed == 3
        searched(search)
        details = program.get(url("settings-search", search)).json()
        assert (details["state"], [trial["state"] for trial in details["trials"]]) == ("done", ["finished"] * 2)
        rows = program.get(url("settings-searches", release.project)).json()["results"]
        assert [row["uuid"] for row in rows] == [str(search.uuid)]
        assert refusal(program.post(url("settings-search-cancel", search))) == (409, "not_possible")
        assert refusal(program.post(url("settings-search-resume", search))) == (409, "not_possible")
        assert program.delete(url("settings-search", search)).status_code == 204

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"space": {}}, "space: Name values"),
            ({"space": {"speed": "1"}}, "space: speed cannot be searched"),
            ({"space": {"lr": "fast"}}, "space.lr: 'fast' is not a number."),
            ({"n_runs": 0}, "n_runs: "),
            ({"space": None}, "space: "),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, program: Client, release: Release, values: dict[str, Any], message: str
    ) -> None:
        body = {"baseline": "xml", "space": {"lr": "1e-4, 1e-3"}, **values}
        answer = program.post(url("settings-searches", release.project), body, content_type="application/json")
        assert refusal(answer) == (422, "invalid") and answer.json()["message"].startswith(message)

    def test_cancel_and_resume(self, program: Client, release: Release, tmp_path: Path) -> None:
        search = order_search(release, tmp_path)
        assert program.post(url("settings-search-cancel", search)).json()["state"] == "cancelled"
        assert program.post(url("settings-search-resume", search)).json()["state"] == "waiting"
        assert refusal(program.post(url("settings-search-resume", uuid4()))) == (404, "not_found")
        assert refusal(program.delete(url("settings-search", search))) == (409, "not_possible")


def test_how_many_trainings_a_form_comes_to() -> None:
    assert trials_of_grid({"n_runs": "7", "method": "random"}) == 7
    assert trials_of_grid({"n_runs": "7", "method": "grid", "try_lr": "1, 0.1"}) == 2
    assert trials_of_grid({"n_runs": "7", "method": "grid"}) is None
    assert trials_of_grid({"n_runs": "3", "method": "grid", "try_lr": "1, 0.1", "try_alpha": "20, 30"}) == 3
    assert combinations_of_grid({"method": "grid", "try_lr": "1, 0.1", "try_alpha": "20, 30"}) == 4
    assert combinations_of_grid({"method": "random", "try_lr": "1, 0.1"}) is None
    assert trials_of_grid({"n_runs": "x"}) is None
