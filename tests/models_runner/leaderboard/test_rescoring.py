"""Runs on releases that follow: what was lost is found, and what fails is tried again before it is given up."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.exceptions import NotPossible
from judging.models import Release
from judging.releases.services import release_build, release_create
from models_runner.leaderboard.selectors.leaderboard import filters_of_query, leaderboard
from models_runner.leaderboard.services.releases import READY_RELEASES, release_receive
from models_runner.leaderboard.services.scorings import SCORINGS, scoring_work, scorings_sweep, truth_table
from models_runner.models import Run, Scoring
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.models_runner.acts import GOOD, Site, ready_release, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
BOTH = run_json({10: GOOD, 11: GOOD})


def test_what_was_lost_hours_ago_is_found(site: Site, messages: Messages) -> None:
    """The message of a release, the run by similarity of a split, a run and a release that missed each other."""
    run, later = site.bring(BOTH), timezone.now() + timedelta(hours=2)
    new = release_build(release_id=release_create(project=site.project, actor=None).pk)
    Run.objects.filter(release=site.release, split="test").delete()
    with messages():
        READY_RELEASES.sweep(later)
    assert run.scorings.get(release=new).state == "scored"
    assert Run.objects.filter(release=site.release, split="test", state="scored").exists()
    run.scorings.filter(release=new).delete()
    with messages():
        scorings_sweep(timezone.now() + timedelta(days=2))
    assert run.scorings.get(release=new).state == "scored"
    assert Scoring.objects.filter(run__source="similarity").count() == 4  # they stay with their own releases


def test_a_run_stays_off_releases_before_its_own(site: Site, messages: Messages) -> None:
    run = site.bring(BOTH, release=ready_release(site.project))
    with messages():
        release_receive(release_id=site.release.pk)
        READY_RELEASES.sweep(timezone.now() + timedelta(days=2))
    assert [scoring.release.version for scoring in run.scorings.all()] == [2]


def test_something_unexpected_is_tried_three_times_and_reports_nothing(
    site: Site, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = site.bring(BOTH), site.bring(BOTH, system="tried again in time")
    new = ready_release(site.project)
    scoring, in_time = run.scorings.get(release=new), other.scorings.get(release=new)
    with monkeypatch.context() as patch:
        patch.setattr("models_runner.leaderboard.services.scorings.run_table", broken)
        for state in ("waiting", "waiting", "failed"):
            with pytest.raises(OSError, match="hidden words"):
                scoring_work(scoring_id=scoring.pk)
            scoring.refresh_from_db()
            assert scoring.state == state
        with pytest.raises(OSError, match="hidden words"):
            scoring_work(scoring_id=in_time.pk)
    assert "hidden words" not in scoring.error
    with messages():
        SCORINGS.sweep(timezone.now() + timedelta(minutes=2))
    selection = filters_of_query(site.project, {"split": "val"})
    assert selection is not None
    stale = {row.run.system: row.stale for row in leaderboard(selection, site.member).rows}
    assert stale == {"ours": 1, "tried again in time": None, "similarity": None}


def broken(*args: object) -> None:
    raise OSError("hidden words")


def test_a_release_without_a_judged_query_is_read_once(
    messages: Messages, django_assert_num_queries: Callable[..., Any]
) -> None:
    def empty_release() -> Release:
        return release_build(release_id=release_create(project=ProjectFactory(), actor=None).pk)

    later = timezone.now() + timedelta(hours=2)
    empty = [empty_release() for _ in range(2)]
    with messages() as callbacks:
        READY_RELEASES.sweep(later)
    assert len(callbacks) == len(empty)
    with messages() as callbacks, CaptureQueriesContext(connection) as queries:
        READY_RELEASES.sweep(later)
    assert callbacks == []
    release_receive(release_id=empty_release().pk)
    with django_assert_num_queries(len(queries)):
        READY_RELEASES.sweep(later)
    with django_assert_num_queries(2), pytest.raises(NotPossible, match="no judged query"):
        truth_table(release=empty[0], split="test")  # its archive is not opened again
