"""Hidden labels cannot be read query by query: neither by a run of few queries, nor from what is said beside scores."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Membership
from judging.models import Release
from models_runner import services
from models_runner.selectors.asked import asked_for
from models_runner.selectors.leaderboard import leaderboard
from tests.judging.api.acts import bearer, url
from tests.judging.world import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, member_of, participant, ready_release, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
ONE, BOTH = run_json({10: GOOD[:1]}), run_json({10: GOOD, 11: WRONG})


@pytest.fixture
def release(made: HandMade) -> Release:
    hide(made)
    return ready_release(made.project)


@pytest.fixture
def member(made: HandMade) -> Membership:
    return participant(made.project)


def hide(made: HandMade, *, val: bool = True) -> None:
    services.leaderboard_change(project=made.project, actor=None, hides_val=val, hides_test=True, uploads_per_day=5)


def shown(made: HandMade, member: Membership) -> set[str]:
    asked = asked_for(made.project, {"split": "val"})
    assert asked is not None
    return {row.run.system for row in leaderboard(asked, member).rows}


def test_a_participants_run_of_one_query_is_refused_in_words(release: Release, member: Membership) -> None:
    run = bring(member, release, ONE)
    assert (run.state, run.scorings.count()) == ("failed", 0)
    assert run.error == (
        "The run answers 1 of the 2 judged queries of val. The labels of this split are hidden: a run on it answers at "
        "least 90% of them."
    )


def test_scores_over_few_queries_are_told_to_leads_alone(release: Release, member: Membership, made: HandMade) -> None:
    hide(made, val=False)
    run = bring(member, release, ONE)
    assert shown(made, member) == {"ours", "similarity"}
    hide(made)
    chief = member_of(made, made.lead)
    assert (shown(made, member), shown(made, chief)) == ({"similarity"}, {"ours", "similarity"})
    told = [
        Client(headers=bearer(person.user)).get(url("run", run)).json()["scorings"][0]["scores"]
        for person in (member, chief)
    ]
    assert [len(scores) for scores in told] == [0, 48]
    browser = Client()
    browser.force_login(member.user)
    page = browser.get(reverse("models_runner:run", args=[run.uuid])).content.decode()
    assert "its scores are not told" in page
    assert "NDCG@10" not in page


def test_beside_scores_nothing_tells_single_queries(release: Release, member: Membership, made: HandMade) -> None:
    one, other = bring(member, release, BOTH), bring(member, release, run_json({10: WRONG, 11: GOOD}), system="b")
    browser = Client()
    browser.force_login(member.user)
    address = reverse("models_runner:compare", args=[made.project.uuid])
    page = browser.get(address, {"split": "val", "one": one.uuid, "other": other.uuid}).content.decode()
    assert "p, randomisation test" in page
    assert "losses" not in page
    scores = Client(headers=bearer(member.user)).get(url("run", one)).json()["scorings"][0]["scores"]
    rates = {score["unjudged"] for score in scores if score["unjudged"]}
    assert rates
    assert all(rate == round(rate, 2) for rate in rates)
