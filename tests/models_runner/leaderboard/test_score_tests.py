"""Tests of runs against each other: computed once, by a task; kept for every page; dropped with a run."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Membership
from judging.models import Release
from models_runner.leaderboard.selectors.leaderboard import Table, filters_of_query, leaderboard, leaderboard_tested
from models_runner.leaderboard.services import score_tests
from models_runner.leaderboard.services.runs import run_withdraw
from models_runner.leaderboard.services.score_tests import (
    covering,
    score_tests_schedule,
    score_tests_sweep,
    score_tests_work,
)
from models_runner.leaderboard.services.scorings import values_of
from models_runner.models import PerQuery, Run, Score, ScoreTest, Scoring
from moment_retrieval.metrics.leaderboard import COLUMNS
from moment_retrieval.statistics import significance
from moment_retrieval.statistics.significance import holm, intervals, randomisation_test
from tests.conftest import Messages
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, participant, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
BOTH, HALF = run_json({10: GOOD, 11: GOOD}), run_json({10: GOOD, 11: WRONG})
Look = Callable[..., Table]


@pytest.fixture
def member(scenario: HandMade, release: Release) -> Membership:
    """Somebody with two runs beside the one by similarity, which is best."""
    person = participant(scenario.project)
    bring(person, release, HALF)
    bring(person, release, run_json({10: WRONG}), system="worst")
    return person


@pytest.fixture
def look(scenario: HandMade, member: Membership) -> Look:
    """The leaderboard as somebody sees it who asks for it."""

    def see(**filters: str) -> Table:
        selection = filters_of_query(scenario.project, {"split": "val", **filters})
        assert selection is not None
        return leaderboard_tested(selection, member)

    return see


def p_values(table: Table) -> dict[str, tuple[float | None, float | None]]:
    return {row.run.system: (row.p, row.p_holm) for row in table.rows}


def row_of(system: str) -> Scoring:
    return Scoring.objects.get(run__system=system, run__split="val")


def test_what_is_looked_at_is_tested_once_and_saved_for_everybody(
    look: Look, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    with messages():
        first = look()
    assert first.is_testing
    assert set(p_values(first).values()) == {(None, None)}
    monkeypatch.setattr(score_tests, "randomisation_test", forbidden)
    with messages() as callbacks:
        table = look()
    assert (callbacks, table.is_testing) == ([], False)
    assert COLUMNS[0].metric == "NDCG@10,IoU>=0.3"
    best, *others = (values_of(row_of(name))[:, 0] for name in ("similarity", "ours", "worst"))
    differences = np.stack(others, axis=1) - best[:, None]
    uncorrected_values = randomisation_test(differences, seed=score_tests.seed_of_signs()).tolist()
    corrected = holm(uncorrected_values)
    assert p_values(table) == {
        "similarity": (None, None),
        "ours": (uncorrected_values[0], corrected[0]),
        "worst": (uncorrected_values[1], corrected[1]),
    }


def forbidden(*args: object) -> None:
    raise AssertionError("tested again")


def test_a_pair_is_tested_once_whichever_is_the_base(look: Look, messages: Messages) -> None:
    with messages():
        look()
    with messages():
        other = look(base=str(row_of("ours").run.uuid))
    assert [Score.objects.get(pk=pk).scoring.run.system for pk in other.untested] == ["worst"]
    assert p_values(look(base=str(row_of("ours").run.uuid)))["similarity"][0] == p_values(look())["ours"][0]
    assert ScoreTest.objects.count() == 3


def test_what_somebody_else_requested_meanwhile_is_requested_once(look: Look) -> None:
    table = look()
    assert table.base is not None
    for _ in range(2):
        score_tests_schedule(base=table.base.scores[COLUMNS[0].metric].pk, others=table.untested)
    assert ScoreTest.objects.count() == len(table.untested) == 2


def test_the_interval_is_that_of_the_difference_seen_from_either_side(
    look: Look, messages: Messages, member: Membership, client: Client
) -> None:
    one, other = row_of("similarity"), row_of("ours")
    url = reverse("models_runner:compare", args=[one.run.project.uuid]) + "?split=val"
    client.force_login(member.user)
    comparison_url = f"{url}&one={other.run.uuid}&other={one.run.uuid}"
    with messages():
        waiting = client.get(comparison_url).content.decode()
    text = client.get(comparison_url).content.decode()
    assert ("being computed" in waiting, "every 2s" in waiting) == (True, True)
    ((low, high),) = intervals(values_of(other)[:, :1] - values_of(one)[:, :1])
    assert f"{low:.4f} to {high:.4f}</small>" in text
    assert ("being computed" in text, "every 2s" in text) == (False, False)
    assert "unjudged</small>" in text
    back = client.get(f"{url}&one={one.run.uuid}&other={other.run.uuid}").content.decode()
    assert f"{-high:.4f} to {-low:.4f}</small>".replace("-0.0000", "0.0000") in back.replace("-0.0000", "0.0000")
    assert ScoreTest.objects.count() == 1


def test_no_page_runs_a_test_itself(
    look: Look, member: Membership, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(significance, "signs", forbidden)
    client.force_login(member.user)
    project = row_of("ours").run.project
    runs = f"&one={row_of('ours').run.uuid}&other={row_of('worst').run.uuid}"
    for name in ("runs", "compare"):
        answer = client.get(reverse(f"models_runner:{name}", args=[project.uuid]) + f"?split=val{runs}")
        assert "being computed" in answer.content.decode()


def test_a_run_that_is_withdrawn_takes_its_tests_along(look: Look, messages: Messages, scenario: HandMade) -> None:
    with messages():
        look()
    run_withdraw(run=row_of("worst").run, actor=scenario.lead, reason="the wrong file")
    assert ScoreTest.objects.count() == 1
    values = p_values(look())
    assert values.keys() == {"similarity", "ours"}
    assert values["ours"][0] == values["ours"][1]  # one test needs no correction


def test_a_run_that_is_added_is_tested_alone(
    look: Look, messages: Messages, scenario: HandMade, release: Release
) -> None:
    with messages():
        look()
    bring(participant(scenario.project), release, HALF, system="new")
    with messages():
        again = look()
    assert [Score.objects.get(pk=pk).scoring.run.system for pk in again.untested] == ["new"]
    assert again.is_testing
    assert look().is_testing is False


def test_a_run_that_is_scored_anew_is_tested_anew(look: Look, messages: Messages) -> None:
    with messages():
        look()
    Score.objects.filter(scoring=row_of("ours")).delete()
    assert ScoreTest.objects.count() == 1


def test_a_lost_message_is_found_and_a_repeat_is_harmless(look: Look, messages: Messages) -> None:
    look()  # its message is never sent
    with messages() as callbacks:
        score_tests_sweep(timezone.now() + timedelta(minutes=2))
    assert len(callbacks) == 1
    before = p_values(look())
    score_tests_work(score_id=ScoreTest.objects.all()[0].one_id)
    score_tests_work(score_id=10**9)
    assert p_values(look()) == before


def test_what_cannot_be_tested_is_given_up_and_the_others_stay_corrected(look: Look) -> None:
    look()
    (score_id,) = covering(ScoreTest.objects.values_list("one_id", "other_id"))
    PerQuery.objects.filter(scoring=row_of("worst")).delete()
    for _ in range(3):
        assert look().is_testing
        with pytest.raises(KeyError):
            score_tests_work(score_id=score_id)
    assert look().is_testing is False
    assert set(p_values(look()).values()) == {(None, None)}


@pytest.mark.parametrize(
    ("pairs", "cover"), [([], []), ([(1, 2), (2, 3), (2, 4)], [2]), ([(1, 2), (2, 3), (2, 4), (5, 6)], [2, 5])]
)
def test_few_messages_name_every_test(pairs: list[tuple[int, int]], cover: list[int]) -> None:
    assert covering(pairs) == cover


def test_equal_values_have_equal_ranks(look: Look, scenario: HandMade, release: Release) -> None:
    bring(participant(scenario.project), release, HALF, system="twin")
    assert [(row.run.system, row.rank) for row in look().rows] == [
        ("similarity", 1),
        ("ours", 2),
        ("twin", 2),
        ("worst", 4),
    ]


def grown(scoring: Scoring, n: int) -> None:
    """So many copies of a scored run."""
    run, values = scoring.run, bytes(scoring.per_query.values)
    about = {"project": run.project, "release": run.release, "split": run.split, "source": "baseline"}
    runs = [Run(**about, system=f"copy {number}", state="scored", file="f") for number in range(n)]
    scorings = Scoring.objects.bulk_create(
        Scoring(
            run=new_run, release=run.release, state="scored", n_queries=2, n_answered=2, scored_at=scoring.scored_at
        )
        for new_run in Run.objects.bulk_create(runs)
    )
    fields = ("metric", "convention", "gain", "k", "mu", "value", "low", "high", "unjudged")
    rows = list(scoring.scores.values(*fields)[:9])
    Score.objects.bulk_create([Score(scoring=one, **score) for one in scorings for score in rows])
    PerQuery.objects.bulk_create([PerQuery(scoring=one, values=values) for one in scorings])


def test_a_hundred_runs_cost_no_more_queries_than_three(
    look: Look,
    messages: Messages,
    member: Membership,
    client: Client,
    django_assert_num_queries: Callable[..., Any],
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    scoring = row_of("ours")
    url = reverse("models_runner:runs", args=[scoring.run.project.uuid]) + "?split=val&base=" + str(scoring.run.uuid)
    client.force_login(member.user)
    with messages():
        client.get(url)
    with django_assert_max_num_queries(20) as queries:
        assert client.get(url).content.decode().count('<th scope="row">') == 3
    of_three = len(queries)
    grown(scoring, 97)
    with messages():
        client.get(url)
    with django_assert_num_queries(of_three):
        text = client.get(url).content.decode()
    assert text.count('<th scope="row">') == 100
    assert "being computed" not in text


def test_a_table_that_is_not_tested_orders_nothing(scenario: HandMade, member: Membership) -> None:
    selection = filters_of_query(scenario.project, {"split": "val"})
    assert selection is not None
    assert leaderboard(selection, member, tested=False).is_testing is False
    assert not ScoreTest.objects.exists()
