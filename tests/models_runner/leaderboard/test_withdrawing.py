"""A run is withdrawn by its owner or a lead, with a reason; it leaves the board, and still counts."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.exceptions import NotPossible
from judging.models import Release
from models_runner.leaderboard.services.economy import runs_of
from models_runner.leaderboard.services.participants import leaderboard_change
from models_runner.leaderboard.services.runs import run_withdraw, upload_possible_at
from tests.judging.api.acts import bearer, url
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, participant, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


def test_a_withdrawn_run_leaves_the_board_and_counts(release: Release, scenario: HandMade) -> None:
    leaderboard_change(project=scenario.project, actor=None, hides_val=False, hides_test=True, uploads_per_day=2)
    member = participant(scenario.project)
    run = bring(member, release, run_json({10: GOOD}))
    with pytest.raises(NotPossible, match="Say why"):
        run_withdraw(run=run, actor=member.user, reason=" ")
    browser = Client()
    browser.force_login(member.user)
    browser.post(reverse("models_runner:run-withdraw", args=[run.uuid]), {"reason": "the wrong file"})
    assert "Withdrawn: the wrong file" in browser.get(reverse("models_runner:run", args=[run.uuid])).content.decode()
    board = Client(headers=bearer(member.user)).get(url("leaderboard", scenario.project), {"split": "val"}).json()
    assert {row["system"] for row in board["scores"]} == {"similarity"}
    assert [one.system for one in runs_of(release, "val")] == ["similarity"]
    event_data = {"system": "ours", "split": "val", "reason": "the wrong file"}
    assert scenario.project.audit_events.get(action="run.withdraw").data == event_data
    assert bring(member, release, run_json({10: GOOD})).state == "scored"  # under the same name
    assert upload_possible_at(member, timezone.now()) > timezone.now()


def test_programs_withdraw_their_own_runs_alone(release: Release, scenario: HandMade) -> None:
    run = bring(participant(scenario.project), release, run_json({10: GOOD}))
    address = url("run", run) + "?reason=wrong"
    people = (participant(scenario.project).user, scenario.lead, scenario.lead)
    answers = [Client(headers=bearer(person)).delete(address).status_code for person in people]
    assert answers == [403, 200, 409]
