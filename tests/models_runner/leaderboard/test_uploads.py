"""Runs that people bring: read, checked, scored; what is wrong is told with its line and disturbs nobody."""

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
from django.utils import timezone

from accounts.models import Membership
from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import Budget, Limits
from config.celery_app import app
from core.exceptions import NotPossible, TooLarge
from core.jobs import sweep_all
from judging.models import Release
from models_runner.leaderboard.services.participants import leaderboard_change
from models_runner.leaderboard.services.runs import UPLOADS, UploadLimit, run_work, upload_possible_at
from models_runner.leaderboard.services.scorings import scoring_work, values_of
from models_runner.models import PerQuery, Run, Score, Scoring
from moment_retrieval import formats
from moment_retrieval.formats import FileFormat
from tests.conftest import Messages
from tests.factories import ProjectFactory
from tests.judging.scenario import HandMade
from tests.media import names_in
from tests.models_runner.acts import GOOD, WRONG, bring, member_of, participant, ready_release, run_json, uploaded
from tests.ticks import Ticks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
BOTH = run_json({10: GOOD, 11: GOOD})


def zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", content)
    return packed.getvalue()


@pytest.fixture
def member(scenario: HandMade) -> Membership:
    return participant(scenario.project)


def test_an_upload_is_scored_with_intervals(release: Release, member: Membership, messages: Messages) -> None:
    with messages():
        run = bring(member, release, BOTH, work=False)
    run.refresh_from_db()
    assert (run.state, run.form, run.n_queries, run.owner) == ("scored", "tvr-ranking", 2, member.user)
    assert run.sha256 == sha256(BOTH).hexdigest()
    score = Score.objects.get(scoring__run=run, metric="NDCG@10,IoU>=0.5", convention="paper", gain="linear")
    assert 0 < score.low <= score.value <= score.high
    assert score.unjudged == pytest.approx(1 / 3)  # nobody agreed on the third
    assert values_of(run.scorings.get()).shape == (2, 48)


def test_a_run_is_of_a_ready_release_of_the_members_project(release: Release, member: Membership) -> None:
    with pytest.raises(NotPossible, match="not ready"):
        bring(participant(ProjectFactory()), release, BOTH)
    release.state = Release.State.PREPARING
    with pytest.raises(NotPossible, match="not ready"):
        bring(member, release, BOTH)
    assert not Run.objects.filter(source=Run.Source.UPLOAD).exists()


@pytest.mark.parametrize("name", ["1\0", "\ud800"])
def test_a_name_that_the_database_cannot_hold_is_refused_and_holds_nobody_up(
    release: Release, member: Membership, name: str
) -> None:
    """The error quotes the file: it could not be stored, and the upload was tried for ever."""
    lines = f"query_id,video_name,start,end,score\n{name},alpha,0,1,0.5\n".encode("utf-8", "surrogatepass")
    run = bring(member, release, lines)
    run.refresh_from_db()
    assert run.state == "failed" and run.error and "\0" not in run.error
    assert upload_possible_at(member, timezone.now()) <= timezone.now()


def test_an_upload_is_written_down_without_names(release: Release, member: Membership, scenario: HandMade) -> None:
    run = bring(member, release, BOTH, work=False)
    event = scenario.project.audit_events.get(action="run.upload")
    assert (event.actor, event.subject) == (member.user, run.uuid)
    assert event.data == {"system": "ours", "split": "val", "version": 1, "sha256": run.sha256}


def test_reading_twice_changes_nothing(release: Release, member: Membership) -> None:
    run = bring(member, release, BOTH)
    run_work(run_id=run.pk)
    scoring_work(scoring_id=run.scorings.get().pk)
    assert (Scoring.objects.filter(run=run).count(), PerQuery.objects.filter(scoring__run=run).count()) == (1, 1)


def test_a_query_that_is_missed_counts_nothing(release: Release, member: Membership) -> None:
    scoring = bring(member, release, run_json({10: GOOD})).scorings.get()
    assert (scoring.n_answered, scoring.n_queries, scoring.missing) == (1, 2, ["11"])
    paper, released = (
        scoring.scores.get(metric="NDCG@10,IoU>=0.5", convention=name, gain="exponential").value
        for name in ("paper", "released")
    )
    assert paper == pytest.approx(released / 2)


def test_predictions_that_leave_their_video_are_scored_and_remarked_on(release: Release, member: Membership) -> None:
    scoring = bring(member, release, run_json({10: [*GOOD, ["beta", 29, 31.5, 0.5]]})).scorings.get()
    warning = "predictions that end after their video, by up to 1.5 s: 1, first in line 1, query 10, prediction 4"
    assert (scoring.state, scoring.remarks) == ("scored", [warning])


def test_a_query_that_waits_to_be_judged_may_be_answered(release: Release, member: Membership) -> None:
    scoring = bring(member, release, run_json({10: GOOD, 31: GOOD})).scorings.get()
    assert (scoring.n_answered, scoring.n_others) == (1, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no content"),
        (b"[]", "no queries"),
        (run_json({10: GOOD, 999: GOOD}), "line 1: query 999 is not of the split val"),
        (run_json({20: GOOD}), "query 20 is not of the split val"),
        (run_json({10: [["gamma", 0, 1, 1]]}), "line 1: entry 1: query 10: prediction 1: .*gamma"),
        (run_json({10: [["alpha", 0, float("nan"), 1]]}), "line 1: .*prediction 1: .*finite"),
        (run_json({10: [["alpha", 5, 1, 1]]}), "line 1: .*ends before it starts"),
        (run_json({10: GOOD[:1] * 1001}), "line 1: .*prediction 1001: more than 1000 moments of one query"),
        (b"10 Q0 alpha:0-1 1 1 x\n" * 1001, "line 1001: more than 1000 moments of one query"),
        (b'[{"query_id": 10,\n"predictions": [[]]}]', "line 2: .*prediction 1"),
        (b'[{"query_id": 10, "relevant_moment": []}]', "ground truth"),
        (b"GIF89a", "line 1: neither JSON nor columns"),
        (gzip.compress(BOTH)[:-9], "broken archive"),
        (run_json({10: []}) + b"x", "Extra data"),
    ],
)
def test_a_bad_file_says_why_and_where(content: bytes, message: str, release: Release, member: Membership) -> None:
    before = Score.objects.count()
    run = bring(member, release, content)
    assert run.state == "failed"
    assert re.search(message, run.error), run.error
    assert (Score.objects.count(), run.scorings.count(), run.file.name) == (before, 0, "")


def test_videos_may_be_named_by_index(release: Release, member: Membership) -> None:
    run = bring(member, release, run_json({10: [[5, 1.0, 2.5, 3.0], [2, 0.0, 3.0, 1.0]]}))
    assert run.scorings.get().scores.get(metric="NDCG@10,IoU>=0.5", convention="released", gain="linear").value > 0.5


def test_indexes_that_were_made_up_here_translate_nothing(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    scenario.corpus.videos.filter(name="beta").update(index_is_given=False)
    assert bring(member, release, run_json({10: [["beta", 0.0, 3.0, 1.0]]}), system="named").state == "scored"
    run = bring(member, release, run_json({10: [[5, 1.0, 2.5, 3.0]]}))
    pattern = "line 1: .*prediction 1: video index 5 cannot be translated: 1 of the 2 videos .* without an index"
    assert re.match(pattern, run.error), run.error


def test_a_zip_bomb_is_refused(release: Release, member: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moment_retrieval.jsonfiles.MAX_BYTES", 2**20)
    run = bring(member, release, zipped(b" " * 2**21))
    assert (run.state, bool(run.file)) == ("failed", False)
    assert run.error == "Unpacked, the file is larger than 1 MB; give each query fewer predictions."


@pytest.mark.parametrize("pack", [gzip.compress, zipped], ids=["gzip", "zip"])
def test_a_small_file_that_unpacks_to_hundreds_of_times_its_size_is_refused(
    release: Release, member: Membership, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(b"\n" * (32 * 2**20))
    assert len(packed) < 40_000
    run = bring(member, release, packed)
    assert (run.state, bool(run.file)) == ("failed", False)
    assert run.error.startswith("The file unpacks to more than 200 times its size")


def test_the_lines_of_a_run_are_counted_packed_or_not(release: Release, member: Membership, settings: Any) -> None:
    settings.UPLOAD_MAX_LINES = 10
    for content in (b"\n" * 20, gzip.compress(b"\n" * 20)):
        run = bring(member, release, content)
        assert run.error == (
            "The file has more than 10 lines; give each query fewer predictions. Who runs the site can raise"
            " UPLOAD_MAX_LINES."
        )


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


def test_a_bad_file_disturbs_no_other_run_and_does_not_count(release: Release, member: Membership) -> None:
    good = bring(member, release, BOTH)
    for _ in range(7):
        assert bring(member, release, b"nothing", system="bad").state == "failed"
    assert Run.objects.get(pk=good.pk).scorings.get().state == "scored"
    assert upload_possible_at(member, timezone.now()) <= timezone.now()


def test_a_file_that_nobody_can_store_leaves_nothing(release: Release, member: Membership) -> None:
    bring(member, release, BOTH)
    names_before = names_in("runs")
    with pytest.raises(NotPossible, match="You have a run of 'ours' on val already"):
        bring(member, release, BOTH)
    assert names_in("runs") == names_before


def test_a_name_whose_file_failed_is_free_again(release: Release, member: Membership) -> None:
    bring(member, release, b"nothing")
    assert bring(member, release, BOTH).state == "scored"


def test_one_upload_at_a_time(release: Release, member: Membership) -> None:
    bring(member, release, BOTH, work=False)
    with pytest.raises(NotPossible, match="still being scored"):
        bring(member, release, BOTH, system="another", work=False)


def test_what_is_refused_is_not_saved(release: Release, member: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    bring(member, release, BOTH, work=False)
    monkeypatch.setattr(default_storage, "save", None)  # calling it would fail
    with pytest.raises(NotPossible, match="still being scored"):
        bring(member, release, BOTH, system="another", work=False)


def test_few_uploads_are_read_at_once_and_the_next_follows(
    release: Release, member: Membership, scenario: HandMade, settings: Any, messages: Messages
) -> None:
    settings.UPLOADS_AT_ONCE = 0
    first = bring(member, release, BOTH)
    assert (first.state, first.step) == ("running", "waiting")
    settings.UPLOADS_AT_ONCE = 1
    with messages():
        bring(participant(scenario.project), release, b"nothing")
    first.refresh_from_db()
    assert first.state == "scored"


def test_uploads_have_a_queue_that_waits_behind_what_is_short() -> None:
    queues = [app.amqp.router.route({}, name)["queue"].name for name in ("judging.tasks.invitation_mail", UPLOADS.task)]
    assert queues == ["celery", "uploads"]
    consumed = app.amqp.Queues(app.conf.task_queues).consume_from  # others join ``app.amqp.queues`` when they are named
    assert list(consumed) == sorted(queues)  # which is the order they are emptied in
    assert app.conf.broker_transport_options["queue_order_strategy"] == "sorted"


def test_a_large_file_is_refused(release: Release, member: Membership, settings: object) -> None:
    settings.RUN_MAX_MB = 0  # type: ignore[attr-defined]
    with pytest.raises(TooLarge, match="larger than 0 MB"):
        bring(member, release, BOTH)


class TestLimit:
    def test_the_message_says_when_the_next_is_possible(
        self, release: Release, member: Membership, scenario: HandMade
    ) -> None:
        leaderboard_change(
            project=scenario.project, actor=scenario.lead, hides_val=False, hides_test=True, uploads_per_day=2
        )
        first, _ = (bring(member, release, BOTH, system=name) for name in ("a", "b"))
        at = timezone.now() - timedelta(hours=20)
        Run.objects.filter(pk=first.pk).update(created_at=at)
        with pytest.raises(UploadLimit, match=f"2 runs within a day; the next is possible on .*{at:%H:%M}"):
            bring(member, release, BOTH, system="c")
        Run.objects.filter(pk=first.pk).update(created_at=at - timedelta(hours=5))
        assert bring(member, release, BOTH, system="c").state == "scored"

    def test_it_is_each_persons_own_and_not_for_staff(self, release: Release, scenario: HandMade) -> None:
        leaderboard_change(
            project=scenario.project, actor=scenario.lead, hides_val=False, hides_test=True, uploads_per_day=1
        )
        for person in (
            participant(scenario.project),
            participant(scenario.project),
            member_of(scenario, scenario.lead),
        ):
            assert bring(person, release, BOTH).state == "scored"
        assert bring(member_of(scenario, scenario.lead), release, BOTH, system="more").state == "scored"

    def test_what_was_read_counts_though_it_was_refused(
        self, release: Release, member: Membership, scenario: HandMade
    ) -> None:
        leaderboard_change(project=scenario.project, actor=None, hides_val=False, hides_test=True, uploads_per_day=2)
        for _ in range(2):
            assert bring(member, release, run_json({31: GOOD})).error.startswith("the run answers none")
        with pytest.raises(UploadLimit, match="2 runs within a day"):
            bring(member, release, BOTH)

    def test_files_that_cannot_be_read_have_their_own_limit(
        self, release: Release, member: Membership, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("models_runner.leaderboard.services.runs.UNREADABLE_PER_DAY", 2)
        for _ in range(2):
            bring(member, release, b"nothing")
        with pytest.raises(UploadLimit, match="2 files that could not be read within a day"):
            bring(member, release, BOTH)


class TestSweep:
    def test_a_lost_upload_is_sent_again(self, release: Release, member: Membership, messages: Messages) -> None:
        run = bring(member, release, BOTH, work=False)
        Run.objects.filter(pk=run.pk).update(updated_at=timezone.now() - timedelta(minutes=3))
        with messages():
            sweep_all(now=timezone.now())
        assert Run.objects.get(pk=run.pk).state == "scored"

    def test_a_lost_scoring_is_sent_again(self, release: Release, member: Membership, messages: Messages) -> None:
        run = bring(member, release, BOTH)
        run.scorings.all().delete()
        Scoring.objects.create(run=run, release=release)
        with messages():
            sweep_all(now=timezone.now() + timedelta(minutes=2))
        assert run.scorings.get().state == "scored"


class TestRescoring:
    def test_a_new_release_scores_what_was_uploaded_before(
        self, release: Release, member: Membership, scenario: HandMade, messages: Messages
    ) -> None:
        run = bring(member, release, BOTH)
        with messages():
            new = ready_release(scenario.project)
        assert {scoring.release_id: scoring.state for scoring in run.scorings.all()} == {
            release.pk: "scored",
            new.pk: "scored",
        }

    def test_runs_by_similarity_are_made_anew_instead(self, release: Release, scenario: HandMade) -> None:
        ready_release(scenario.project)
        assert [run.scorings.count() for run in Run.objects.filter(source="similarity")] == [1] * 4

    def test_an_upload_for_an_older_release_is_scored_on_the_newer_too(
        self, release: Release, member: Membership, scenario: HandMade, messages: Messages
    ) -> None:
        new = ready_release(scenario.project)
        with messages():
            run = bring(member, release, BOTH, work=False)
        assert set(run.scorings.values_list("release", "state")) == {(release.pk, "scored"), (new.pk, "scored")}

    def test_one_run_that_cannot_be_scored_leaves_the_others(
        self, release: Release, member: Membership, scenario: HandMade, messages: Messages
    ) -> None:
        good, bad = bring(member, release, BOTH), bring(member, release, run_json({11: WRONG}), system="bad")
        default_storage.delete(bad.table.name)
        default_storage.save(bad.table.name, uploaded(b"not a table"))
        with pytest.raises(ValueError, match="pickled"), messages():
            ready_release(scenario.project)
        waiting = Scoring.objects.filter(release__version=2, run__source="upload").exclude(run=bad)
        for scoring in waiting:
            scoring_work(scoring_id=scoring.pk)
        assert good.scorings.get(release__version=2).state == "scored"
        assert bad.scorings.get(release__version=2).attempts == 1
