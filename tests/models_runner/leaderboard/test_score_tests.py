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
        assert leaderboard(selection, member, tested=False).is_testing is False  # nothing is ordered by it
        return leaderboard_tested(selection, member)

    return see


@pytest.fixture
def first_table(look: Look, messages: Messages) -> Table:
    """Return what is shown before the tests that it asks for are made."""
    with messages():
        return look()


def p_values(table: Table) -> dict[str, tuple[float | None, float | None]]:
    return {row.run.system: (row.p, row.p_holm) for row in table.rows}


def untested(table: Table) -> list[str]:
    return [Score.objects.get(pk=pk).scoring.run.system for pk in table.untested]


def forbidden(*args: object) -> None:
    raise AssertionError("tested again")


def row_of(system: str) -> Scoring:
    return Scoring.objects.get(run__system=system, run__split="val")


def test_what_is_looked_at_is_tested_once(
    look: Look, first_table: Table, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert first_table.is_testing
    assert set(p_values(first_table).values()) == {(None, None)}
    monkeypatch.setattr(score_tests, "randomisation_test", forbidden)
    with messages() as callbacks:
        table = look()
    assert (callbacks, table.is_testing) == ([], False)
    assert COLUMNS[0].metric == "NDCG@10,IoU>=0.3"
    best, *others = (values_of(row_of(name))[:, 0] for name in ("similarity", "ours", "worst"))
    differences = np.stack(others, axis=1) - best[:, None]
    plain = randomisation_test(differences, seed=score_tests.seed_of_signs()).tolist()
    pairs = zip(plain, holm(plain), strict=True)
    assert p_values(table) == dict(zip(("similarity", "ours", "worst"), ((None, None), *pairs), strict=True))


def test_a_pair_is_tested_once_whichever_is_the_base(look: Look, first_table: Table, messages: Messages) -> None:
    base = str(row_of("ours").run.uuid)
    with messages():
        assert untested(look(base=base)) == ["worst"]
    assert p_values(look(base=base))["similarity"][0] == p_values(look())["ours"][0]
    assert ScoreTest.objects.count() == 3


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


def test_no_page_runs_tests_itself(
    look: Look, member: Membership, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(significance, "signs", forbidden)
    client.force_login(member.user)
    project = row_of("ours").run.project
    runs = f"&one={row_of('ours').run.uuid}&other={row_of('worst').run.uuid}"
    for name in ("runs", "compare"):
        answer = client.get(reverse(f"models_runner:{name}", args=[project.uuid]) + f"?split=val{runs}")
        assert "being computed" in answer.content.decode()


def test_tests_come_and_go_with_runs(
    look: Look, first_table: Table, messages: Messages, scenario: HandMade, release: Release
) -> None:
    bring(participant(scenario.project), release, HALF, system="equal")
    with messages():
        again = look()
    assert (untested(again), again.is_testing, look().is_testing) == (["equal"], True, False)  # it alone is tested
    ranks = [(row.run.system, row.rank) for row in look().rows]
    assert ranks == [("similarity", 1), ("ours", 2), ("equal", 2), ("worst", 4)]
    for system in ("worst", "equal"):
        run_withdraw(run=row_of(system).run, actor=scenario.lead, reason="the wrong file")
    assert ScoreTest.objects.count() == 1
    values = p_values(look())
    assert values.keys() == {"similarity", "ours"}
    assert values["ours"][0] == values["ours"][1]  # one test needs no correction
    Score.objects.filter(scoring=row_of("ours")).delete()  # it is scored anew
    assert not ScoreTest.objects.exists()


def test_a_lost_message_is_found_and_a_repeat_is_harmless(look: Look, messages: Messages) -> None:
    look()  # its message is never sent
    with messages() as callbacks:
        score_tests_sweep(timezone.now() + timedelta(minutes=2))
    assert len(callbacks) == 1
    before = p_values(look())
    score_tests_work(score_id=ScoreTest.objects.all()[0].one_id)
    score_tests_work(score_id=10**9)
    assert p_values(look()) == before


def test_what_somebody_else_requested_meanwhile_is_requested_once(look: Look) -> None:
    table = look()
    assert table.base is not None
    for _ in range(2):
        score_tests_schedule(base=table.base.scores[COLUMNS[0].metric].pk, others=table.untested)
    assert ScoreTest.objects.count() == len(table.untested) == 2


def test_what_cannot_be_tested_is_given_up_and_the_others_stay_corrected(look: Look) -> None:
    look()
    (score_id,) = covering(ScoreTest.objects.values_list("one_id", "other_id"))
    PerQuery.objects.filter(scoring=row_of("worst")).delete()
    for _ in range(3):
        assert look().is_testing
        with pytest.raises(KeyError):
            score_tests_work(score_id=score_id)
    table = look()
    assert table.is_testing is False
    assert set(p_values(table).values()) == {(None, None)}


@pytest.mark.parametrize(
    ("pairs", "cover"), [([], []), ([(1, 2), (2, 3), (2, 4)], [2]), ([(1, 2), (2, 3), (2, 4), (5, 6)], [2, 5])]
)
def test_few_messages_name_every_test(pairs: list[tuple[int, int]], cover: list[int]) -> None:
    assert covering(pairs) == cover


def grown(scoring: Scoring, n: int) -> None:
    run, values = scoring.run, bytes(scoring.per_query.values)
    about = {"project": run.project, "release": run.release, "split": run.split, "source": "baseline", "file": "f"}
    runs = Run.objects.bulk_create(Run(**about, system=f"copy {number}", state="scored") for number in range(n))
    scored = {"state": "scored", "n_queries": 2, "n_answered": 2, "scored_at": scoring.scored_at}
    scorings = Scoring.objects.bulk_create(Scoring(run=copy, release=run.release, **scored) for copy in runs)
    fields = ("metric", "convention", "gain", "k", "mu", "value", "low", "high", "unjudged")
    rows = list(scoring.scores.values(*fields)[:9])
    Score.objects.bulk_create([Score(scoring=one, **score) for one in scorings for score in rows])
    PerQuery.objects.bulk_create([PerQuery(scoring=one, values=values) for one in scorings])


def test_a_hundred_runs_cost_no_more_queries_than_three(
    look: Look, messages: Messages, member: Membership, client: Client, django_assert_max_num_queries: Any
) -> None:
    scoring = row_of("ours")
    url = reverse("models_runner:runs", args=[scoring.run.project.uuid]) + "?split=val&base=" + str(scoring.run.uuid)
    client.force_login(member.user)
    most = 20
    for n_runs in (3, 100):
        if n_runs > 3:
            grown(scoring, n_runs - 3)
        with messages():
            client.get(url)
        with django_assert_max_num_queries(most) as queries:
            text = client.get(url).content.decode()
        assert text.count('<th scope="row">') == n_runs and "being computed" not in text
        most = len(queries)
