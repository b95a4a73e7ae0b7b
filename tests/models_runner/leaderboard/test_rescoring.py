"""Runs on releases that follow: what was lost is found, and what fails is tried again before it is given up."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Membership
from core.exceptions import NotPossible
from judging.models import Release
from judging.releases.services import release_build, release_create
from models_runner.leaderboard.selectors.leaderboard import filters_of_query, leaderboard
from models_runner.leaderboard.services.releases import READY_RELEASES, release_receive
from models_runner.leaderboard.services.scorings import SCORINGS, scoring_work, scorings_sweep, truth_table
from models_runner.models import Run, Scoring
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, bring, participant, ready_release, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
BOTH = run_json({10: GOOD, 11: GOOD})


@pytest.fixture
def member(scenario: HandMade) -> Membership:
    return participant(scenario.project)


def test_a_release_whose_message_was_lost_hours_ago_is_received(
    release: Release, member: Membership, scenario: HandMade, messages: Messages
) -> None:
    run = bring(member, release, BOTH)
    new = release_build(release_id=release_create(project=scenario.project, actor=None).pk)
    with messages():
        READY_RELEASES.sweep(timezone.now() + timedelta(hours=2))
    assert run.scorings.get(release=new).state == "scored"


def test_a_run_and_a_release_that_missed_each_other_meet(
    release: Release, member: Membership, scenario: HandMade, messages: Messages
) -> None:
    new = ready_release(scenario.project)
    run = bring(member, release, BOTH)
    run.scorings.filter(release=new).delete()
    with messages():
        scorings_sweep(timezone.now() + timedelta(days=2))
    assert run.scorings.get(release=new).state == "scored"
    assert Scoring.objects.filter(run__source="similarity").count() == 4  # they stay with their own releases


def test_a_run_stays_off_releases_before_its_own(
    release: Release, member: Membership, scenario: HandMade, messages: Messages
) -> None:
    run = bring(member, ready_release(scenario.project), BOTH)
    with messages():
        release_receive(release_id=release.pk)
        READY_RELEASES.sweep(timezone.now() + timedelta(days=2))
    assert [scoring.release.version for scoring in run.scorings.all()] == [2]


def test_something_unexpected_is_tried_three_times_and_reports_nothing(
    release: Release, member: Membership, scenario: HandMade, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = bring(member, release, BOTH)
    new = ready_release(scenario.project)
    scoring = run.scorings.get(release=new)
    with monkeypatch.context() as patch:
        patch.setattr("models_runner.leaderboard.services.scorings.run_table", broken)
        for state in ("waiting", "waiting", "failed"):
            with pytest.raises(OSError, match="hidden words"):
                scoring_work(scoring_id=scoring.pk)
            scoring.refresh_from_db()
            assert scoring.state == state
    assert "hidden words" not in scoring.error
    selection = filters_of_query(scenario.project, {"split": "val"})
    assert selection is not None
    assert {row.run.system: row.stale for row in leaderboard(selection, member).rows} == {"ours": 1, "similarity": None}


def test_what_was_tried_again_in_time_is_scored(
    release: Release, member: Membership, scenario: HandMade, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = bring(member, release, BOTH)
    scoring = run.scorings.get(release=ready_release(scenario.project))
    with monkeypatch.context() as patch:
        patch.setattr("models_runner.leaderboard.services.scorings.run_table", broken)
        with pytest.raises(OSError, match="hidden words"):
            scoring_work(scoring_id=scoring.pk)
    with messages():
        SCORINGS.sweep(timezone.now() + timedelta(minutes=2))
    assert run.scorings.get(pk=scoring.pk).state == "scored"


def empty_release() -> Release:
    return release_build(release_id=release_create(project=ProjectFactory(), actor=None).pk)


def broken(*args: object) -> None:
    raise OSError("hidden words")


def test_a_release_without_a_judged_query_is_read_once(
    messages: Messages, django_assert_num_queries: Callable[..., Any]
) -> None:
    later = timezone.now() + timedelta(hours=2)
    empty = [empty_release() for _ in range(2)]
    with messages() as callbacks:
        READY_RELEASES.sweep(later)
    assert len(callbacks) == len(empty)
    with messages() as callbacks, CaptureQueriesContext(connection) as queries:
        READY_RELEASES.sweep(later)
    assert callbacks == []
    of_two = len(queries)
    release_receive(release_id=empty_release().pk)
    with django_assert_num_queries(of_two):
        READY_RELEASES.sweep(later)
    with django_assert_num_queries(2), pytest.raises(NotPossible, match="no judged query"):
        truth_table(release=empty[0], split="test")  # its archive is not opened again


def test_a_split_whose_run_by_similarity_is_missing_gets_it(release: Release, messages: Messages) -> None:
    Run.objects.filter(release=release, split="test").delete()
    with messages():
        READY_RELEASES.sweep(timezone.now() + timedelta(hours=2))
    assert Run.objects.filter(release=release, split="test", state="scored").exists()
