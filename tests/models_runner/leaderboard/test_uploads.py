"""Runs that people bring: read, checked, scored, also on releases that follow; what is wrong disturbs nobody."""

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import Budget, Limits
from config.celery_app import app
from core.exceptions import NotPossible, TooLarge
from judging.models import Release
from judging.releases.services import release_build, release_create
from models_runner.leaderboard.selectors.leaderboard import filters_of_query, leaderboard
from models_runner.leaderboard.services.economy import runs_of, study_create, study_work
from models_runner.leaderboard.services.releases import READY_RELEASES, release_receive
from models_runner.leaderboard.services.runs import UPLOADS, UploadLimit, run_withdraw, upload_possible_at
from models_runner.leaderboard.services.scorings import (
    SCORINGS,
    scoring_work,
    scorings_sweep,
    truth_table,
    values_of,
)
from models_runner.models import Run, Score, Scoring
from moment_retrieval import formats
from moment_retrieval.formats import FileFormat
from moment_retrieval.metrics.leaderboard import COLUMNS
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.api.acts import bearer, url
from tests.judging.scenario import HandMade
from tests.media import names_in
from tests.models_runner.acts import GOOD, WRONG, Site, bring, participant, ready_release, run_json, uploaded
from tests.ticks import Ticks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
BOTH = run_json({10: GOOD, 11: GOOD})


def zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", content)
    return packed.getvalue()


def test_an_upload_is_scored_with_intervals(site: Site, messages: Messages) -> None:
    with messages():
        run = site.bring(BOTH, work=False)
    run.refresh_from_db()
    assert (run.state, run.form, run.n_queries, run.owner) == ("scored", "tvr-ranking", 2, site.member.user)
    assert run.sha256 == sha256(BOTH).hexdigest()
    score = Score.objects.get(scoring__run=run, metric="NDCG@10,IoU>=0.5", convention="paper", gain="linear")
    assert 0 < score.low <= score.value <= score.high
    assert score.unjudged == pytest.approx(1 / 3)  # nobody agreed on the third
    assert values_of(run.scorings.get()).shape == (2, len(COLUMNS))
    event = site.project.audit_events.get(action="run.upload")
    assert (event.actor, event.subject) == (site.member.user, run.uuid)
    assert event.data == {"system": "ours", "split": "val", "version": 1, "sha256": run.sha256}


def test_a_run_is_of_a_ready_release_and_waits_behind_what_is_short(site: Site) -> None:
    with pytest.raises(NotPossible, match="not ready"):
        site.bring(BOTH, by=participant(ProjectFactory()))
    site.release.state = Release.State.PREPARING
    with pytest.raises(NotPossible, match="not ready"):
        site.bring(BOTH)
    assert not Run.objects.filter(source=Run.Source.UPLOAD).exists()
    queues = [app.amqp.router.route({}, name)["queue"].name for name in ("judging.tasks.invitation_mail", UPLOADS.task)]
    assert queues == ["celery", "uploads"]
    consumed = app.amqp.Queues(app.conf.task_queues).consume_from  # others join ``app.amqp.queues`` when they are named
    assert list(consumed) == sorted(queues)  # which is the order they are emptied in
    assert app.conf.broker_transport_options["queue_order_strategy"] == "sorted"


@pytest.mark.parametrize("name", ["1\0", "\ud800"])
def test_a_name_that_the_database_cannot_hold_is_refused_and_holds_nobody_up(site: Site, name: str) -> None:
    """The error quotes the file: it could not be stored, and the upload was tried for ever."""
    lines = f"query_id,video_name,start,end,score\n{name},alpha,0,1,0.5\n".encode("utf-8", "surrogatepass")
    run = site.bring(lines)
    run.refresh_from_db()
    assert run.state == "failed" and run.error and "\0" not in run.error
    assert upload_possible_at(site.member, timezone.now()) <= timezone.now()


def test_what_is_answered_is_counted_and_what_is_odd_is_remarked_on(site: Site) -> None:
    rows = [*GOOD, ["beta", 29, 31.5, 0.5]]
    scoring = site.bring(run_json({10: rows, 31: GOOD})).scorings.get()  # 31 waits to be judged
    assert (scoring.n_answered, scoring.n_others, scoring.n_queries, scoring.missing) == (1, 1, 2, ["11"])
    about = {"metric": "NDCG@10,IoU>=0.5", "gain": "exponential"}
    paper, released = (scoring.scores.get(**about, convention=name).value for name in ("paper", "released"))
    assert paper == pytest.approx(released / 2)
    warning = "predictions that end after their video, by up to 1.5 s: 1, first in line 1, query 10, prediction 4"
    assert (scoring.state, scoring.warnings) == ("scored", [warning])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no content"),
        (run_json({10: GOOD, 999: GOOD}), "line 1: query 999 is not of the split val"),
        (run_json({20: GOOD}), "query 20 is not of the split val"),
        (run_json({10: [["gamma", 0, 1, 1]]}), "line 1: entry 1: query 10: prediction 1: .*gamma"),
        (run_json({10: [["alpha", 5, 1, 1]]}), "line 1: .*ends before it starts"),
        (run_json({10: GOOD[:1] * 1001}), "line 1: .*prediction 1001: more than 1000 moments of one query"),
        (b"10 Q0 alpha:0-1 1 1 x\n" * 1001, "line 1001: more than 1000 moments of one query"),
        (b'[{"query_id": 10, "relevant_moment": []}]', "ground truth"),
        (gzip.compress(BOTH)[:-9], "broken archive"),
    ],
)
def test_a_bad_file_says_why_and_where(content: bytes, message: str, site: Site) -> None:
    before = Score.objects.count()
    run = site.bring(content)
    assert run.state == "failed"
    assert re.search(message, run.error), run.error
    assert (Score.objects.count(), run.scorings.count(), run.file.name) == (before, 0, "")
    assert site.bring(BOTH).state == "scored"  # the name is free again


def test_videos_may_be_named_by_an_index_that_was_given(site: Site) -> None:
    run = site.bring(run_json({10: [[5, 1.0, 2.5, 3.0], [2, 0.0, 3.0, 1.0]]}))
    assert run.scorings.get().scores.get(metric="NDCG@10,IoU>=0.5", convention="released", gain="linear").value > 0.5
    site.hand_made.corpus.videos.filter(name="beta").update(index_is_given=False)
    assert site.bring(run_json({10: [["beta", 0.0, 3.0, 1.0]]}), system="named").state == "scored"
    run = site.bring(run_json({10: [[5, 1.0, 2.5, 3.0]]}), system="by index")
    pattern = "line 1: .*prediction 1: video index 5 cannot be translated: 1 of the 2 videos .* without an index"
    assert re.match(pattern, run.error), run.error


@pytest.mark.parametrize("pack", [gzip.compress, zipped], ids=["gzip", "zip"])
def test_a_bomb_is_refused(site: Site, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(b"\n" * (32 * 2**20))
    assert len(packed) < 40_000
    run = site.bring(packed)
    assert (run.state, bool(run.file)) == ("failed", False)
    assert run.error.startswith("The file unpacks to more than 200 times its size")
    monkeypatch.setattr("moment_retrieval.jsonfiles.MAX_BYTES", 2**20)
    run = site.bring(pack(b" " * 2**21))
    assert (run.state, bool(run.file)) == ("failed", False)
    assert run.error == "Unpacked, the file is larger than 1 MB; give each query fewer predictions."


def test_the_lines_and_bytes_of_a_run_are_counted_packed_or_not(site: Site, settings: Any) -> None:
    settings.UPLOAD_MAX_LINES = 10
    for content in (b"\n" * 20, gzip.compress(b"\n" * 20)):
        assert site.bring(content).error == (
            "The file has more than 10 lines; give each query fewer predictions. Who runs the site can raise"
            " UPLOAD_MAX_LINES."
        )
    settings.RUN_MAX_MB = 0
    with pytest.raises(TooLarge, match="larger than 0 MB"):
        site.bring(BOTH)


@pytest.mark.parametrize(
    "form", [FileFormat.TVR_RANKING, FileFormat.TREC, FileFormat.CSV, FileFormat.PARQUET], ids=lambda form: form.value
)
def test_the_seconds_of_a_run_are_counted_while_it_is_parsed(form: FileFormat, tmp_path: Path) -> None:
    many = formats.parse_run(run_json({number: [["alpha", 0.0, 3.0, 1.0]] for number in range(1000)}))
    formats.write_run(tmp_path / "run", many, form)
    clock = Ticks()
    budget = Budget(Limits(seconds=20), clock=clock)
    source = formats.SourceFile((tmp_path / "run").read_bytes(), watch=budget.check_time)
    with pytest.raises(ImportFileError, match="takes longer than 20 s"):
        formats.parse_with_format(source, form)
    assert clock.now < 30


def test_what_is_refused_is_not_saved(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.bring(BOTH)
    names_before = names_in("runs")
    with pytest.raises(NotPossible, match="You have a run of 'ours' on val already"):
        site.bring(BOTH)
    assert names_in("runs") == names_before
    site.bring(BOTH, system="other", work=False)
    monkeypatch.setattr(default_storage, "save", None)  # calling it would fail
    with pytest.raises(NotPossible, match="still being scored"):
        site.bring(BOTH, system="another", work=False)


def test_few_uploads_are_read_at_once_and_the_next_follows(site: Site, settings: Any, messages: Messages) -> None:
    settings.UPLOADS_AT_ONCE = 0
    first = site.bring(BOTH)
    assert (first.state, first.step) == ("running", "waiting")
    settings.UPLOADS_AT_ONCE = 1
    with messages():
        site.bring(b"nothing", by=participant(site.project))
    first.refresh_from_db()
    assert first.state == "scored"


class TestLimit:
    def test_the_message_says_when_the_next_is_possible(self, site: Site) -> None:
        site.set_rules(uploads_per_day=2)
        first, _ = (site.bring(BOTH, system=name) for name in ("a", "b"))
        at = timezone.now() - timedelta(hours=20)
        Run.objects.filter(pk=first.pk).update(created_at=at)
        with pytest.raises(UploadLimit, match=f"2 runs within a day; the next is possible on .*{at:%H:%M}"):
            site.bring(BOTH, system="c")
        Run.objects.filter(pk=first.pk).update(created_at=at - timedelta(hours=5))
        assert site.bring(BOTH, system="c").state == "scored"

    def test_it_is_each_persons_own_and_not_for_staff(self, site: Site) -> None:
        site.set_rules(uploads_per_day=1)
        for person in (site.member, participant(site.project), site.lead):
            assert site.bring(BOTH, by=person).state == "scored"
        assert site.bring(BOTH, by=site.lead, system="more").state == "scored"

    def test_what_was_read_counts_though_it_was_refused(self, site: Site) -> None:
        site.set_rules(uploads_per_day=2)
        for _ in range(2):
            assert site.bring(run_json({31: GOOD})).error.startswith("the run answers none")
        with pytest.raises(UploadLimit, match="2 runs within a day"):
            site.bring(BOTH)

    def test_files_that_cannot_be_read_have_their_own_limit(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        for _ in range(7):
            site.bring(b"nothing")
        assert upload_possible_at(site.member, timezone.now()) <= timezone.now()
        monkeypatch.setattr("models_runner.leaderboard.services.runs.UNREADABLE_PER_DAY", 7)
        with pytest.raises(UploadLimit, match="7 files that could not be read within a day"):
            site.bring(BOTH)


class TestAnotherRelease:
    def test_scores_what_was_uploaded_for_the_one_before_whenever_it_was(self, site: Site, messages: Messages) -> None:
        early = site.bring(BOTH)
        with messages():
            new = ready_release(site.project)
            late = site.bring(BOTH, system="late", work=False)
        for run in (early, late):
            states = {(site.release.pk, "scored"), (new.pk, "scored")}
            assert set(run.scorings.values_list("release", "state")) == states
        assert [run.scorings.count() for run in Run.objects.filter(source="similarity")] == [1] * 4  # made anew

    def test_leaves_the_others_where_one_run_cannot_be_scored(self, site: Site, messages: Messages) -> None:
        good, bad = site.bring(BOTH), site.bring(run_json({11: WRONG}), system="bad")
        default_storage.delete(bad.table.name)
        default_storage.save(bad.table.name, uploaded(b"not a table"))
        with pytest.raises(ValueError, match="pickled"), messages():
            ready_release(site.project)
        waiting = Scoring.objects.filter(release__version=2, run__source="upload").exclude(run=bad)
        for scoring in waiting:
            scoring_work(scoring_id=scoring.pk)
        assert good.scorings.get(release__version=2).state == "scored"
        assert bad.scorings.get(release__version=2).attempts == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *(
            (name, "invisible character|control characters")
            for name in ("ou\u200brs", "ours\u202e", "ou\nrs", "ou\x07rs")
        ),
        ("ours\u2028x", "invisible character|control characters"),
        *((name, "its own run") for name in ("similarity", "Similarity ", "ｓimilarity")),
    ],
)
def test_names_that_nobody_sees_or_of_the_site_itself_are_refused(name: str, words: str, site: Site) -> None:
    with pytest.raises(NotPossible, match=words):
        site.bring(run_json({10: GOOD}), system=name)
    assert not Run.objects.filter(source="upload").exists()


def test_two_runs_of_one_name_are_both_studied(release: Release, scenario: HandMade) -> None:
    one, other = (bring(participant(scenario.project), release, run_json({10: rows})) for rows in (GOOD, WRONG))
    assert {one, other} < set(runs_of(release, "val"))
    made_study = study_create(release=release, split="val", actor=None)
    study_work(study_id=made_study.pk)
    made_study.refresh_from_db()
    names = [f"{run.name} · {str(run.uuid)[:8]}" for run in (one, other)]
    assert made_study.result["runs"] == ["similarity", *names]
    assert len({tuple(scores) for scores in made_study.result["scores"]}) == 3


def test_a_withdrawn_run_leaves_the_board_and_counts(site: Site) -> None:
    site.set_rules(uploads_per_day=2)
    run, person = site.bring(run_json({10: GOOD})), site.member.user
    with pytest.raises(NotPossible, match="Say why"):
        run_withdraw(run=run, actor=person, reason=" ")
    browser = Client()
    browser.force_login(person)
    browser.post(reverse("models_runner:run-withdraw", args=[run.uuid]), {"reason": "the wrong file"})
    assert "Withdrawn: the wrong file" in browser.get(reverse("models_runner:run", args=[run.uuid])).content.decode()
    board = Client(headers=bearer(person)).get(url("leaderboard", site.project), {"split": "val"}).json()
    assert {row["system"] for row in board["scores"]} == {"similarity"}
    assert [one.system for one in runs_of(site.release, "val")] == ["similarity"]
    event_data = {"system": "ours", "split": "val", "reason": "the wrong file"}
    assert site.project.audit_events.get(action="run.withdraw").data == event_data
    assert site.bring(run_json({10: GOOD})).state == "scored"  # under the same name
    assert upload_possible_at(site.member, timezone.now()) > timezone.now()


def test_programs_withdraw_their_own_runs_alone(site: Site) -> None:
    address = url("run", site.bring(run_json({10: GOOD}))) + "?reason=wrong"
    people = (participant(site.project), site.lead, site.lead)
    answers = [Client(headers=bearer(person.user)).delete(address).status_code for person in people]
    assert answers == [403, 200, 409]


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
