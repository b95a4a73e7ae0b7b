"""The leaderboard and the pages around it: what they show, and what participants are never told."""

import io
import json
import re
from copy import deepcopy
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from annotation.models import Moment
from core.files import ReceivedOnDisk
from judging.models import Release
from models_runner.leaderboard.services.participants import leaderboard_change, leaderboard_of
from models_runner.leaderboard.services.releases import release_receive
from models_runner.models import Leaderboard, Run, Score
from tests.conftest import Messages
from tests.factories import ProjectFactory, lead, triggers_asleep
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, member_of, participant, ready_release, run_json, uploaded

pytestmark = pytest.mark.django_db
TEST_ROWS = [["beta", 3.0, 30.0, 1.0], ["alpha", 1.0, 2.5, 0.5]]


class Site:
    """Two participants' runs on both splits of one release."""

    def __init__(self) -> None:
        self.hand_made = HandMade()
        self.release: Release = ready_release(self.hand_made.project)
        self.one, self.two = participant(self.hand_made.project), participant(self.hand_made.project)
        self.run = bring(self.one, self.release, run_json({10: GOOD, 11: GOOD}))
        self.other = bring(self.two, self.release, run_json({10: WRONG}), system="theirs")
        self.hidden = bring(self.one, self.release, run_json({20: TEST_ROWS}), split="test")
        self.hidden_other = bring(self.two, self.release, run_json({20: GOOD}), system="theirs", split="test")

    def browser(self, member: Membership) -> Client:
        client = Client()
        client.force_login(member.user)
        return client

    def url(self, name: str, *more: str) -> str:
        return reverse(f"models_runner:{name}", args=[self.hand_made.project.uuid, *more])


@pytest.fixture(scope="module")
def scenario_once(module_database: None) -> Site:
    from annotation.similarity import sentences
    from tests.conftest import hashed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "encode", lambda texts, **values: hashed(texts))
        patch.setattr(
            sentences, "find", lambda model, **values: sentences.Found(__import__("pathlib").Path(model), "hashed", "")
        )
        return Site()


@pytest.fixture
def site(db: None, scenario_once: Site) -> Site:
    return deepcopy(scenario_once)


@pytest.fixture
def reader(site: Site) -> Client:
    return site.browser(site.one)


@pytest.fixture
def chief(site: Site) -> Client:
    return site.browser(member_of(site.hand_made, site.hand_made.lead))


def page(client: Client, url: str, status: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == status
    return answer.content.decode()


def systems(text: str) -> list[str]:
    return re.findall(r'<th scope="row">(?:<a[^>]*>)?([^<]+?) ?<', text)


class TestLeaderboard:
    def test_best_first_with_interval_unjudged_rate_and_test(self, site: Site, reader: Client) -> None:
        text = page(reader, site.url("runs") + "?split=val")
        assert systems(text) == ["similarity", "ours", "theirs"]  # the first two return the same
        score = Score.objects.get(
            scoring__run=site.run, metric="NDCG@10,IoU>=0.3", convention="paper", gain="exponential"
        )
        assert f"<b>{score.value:.4f}</b>" in text
        assert f"{score.low:.4f}–{score.high:.4f}" in text
        assert "33 % unjudged" in text
        assert ">base<" in text
        assert "<svg" in text

    def test_sorted_by_any_measure_under_any_convention(self, site: Site, reader: Client) -> None:
        released = page(
            reader, site.url("runs") + "?split=val&convention=released&gain=linear&show=k20&sort=NDCG@20,IoU>=0.7"
        )
        assert 'aria-sort="descending"><a' in released.replace(" aria", "aria").replace(
            '"descending">', '"descending">'
        )
        assert "NDCG@20,IoU&gt;=0.7" in released
        assert "R@100, μ 0.7" in page(reader, site.url("runs") + "?split=val&show=recall")

    def test_wrong_parameters_show_the_first(self, site: Site, reader: Client) -> None:
        page(reader, site.url("runs") + "?release=9999999999999&split=no&show=k7&sort=x&base=y&convention=z")

    def test_others_runs_are_named_but_not_opened(self, site: Site, reader: Client) -> None:
        text = page(reader, site.url("runs") + "?split=val")
        assert reverse("models_runner:run", args=[site.run.uuid]) in text
        assert reverse("models_runner:run", args=[site.other.uuid]) not in text
        page(reader, reverse("models_runner:run", args=[site.other.uuid]), 403)
        page(reader, reverse("models_runner:run-download", args=[site.other.uuid]), 403)

    def test_scores_of_an_earlier_release_are_marked_stale(self, site: Site, reader: Client) -> None:
        release_receive(
            release_id=Release.objects.create(
                project=site.hand_made.project, version=2, state="ready", archive=site.release.archive.name
            ).pk
        )
        text = page(reader, site.url("runs") + "?split=val")
        assert text.count("stale: release 1") == 2
        assert "2 runs of earlier releases wait" in text
        assert 'hx-trigger="every 3s"' in text

    def test_exports(self, site: Site, chief: Client) -> None:
        query = "?split=val&sort=NDCG@10,IoU>=0.5"
        rows = json.loads(page(chief, site.url("export", "json") + query))["scores"]
        assert len(rows) == 3 * (9 + 12)
        assert {row["tested_against"] for row in rows if row["metric"] == "NDCG@10,IoU>=0.5"} >= {None}
        lines = page(chief, site.url("export", "csv") + query).splitlines()
        assert lines[0].startswith('"system","team","source","release","split","metric"')
        assert len(lines) == len(rows) + 1
        assert "\\toprule" in page(chief, site.url("export", "tex") + query)
        page(chief, site.url("export", "xls"), 404)

    def test_nothing_yet(self, client: Client) -> None:
        project = ProjectFactory()
        client.force_login(lead(project))
        assert "Nothing to score on yet" in page(client, reverse("models_runner:runs", args=[project.uuid]))


class TestUpload:
    def send(self, scenario: Site, client: Client, content: bytes = b"[]", **values: object) -> object:
        form = {"file": uploaded(content), "system": "new", "team": "", "split": "val", "release": 1}
        return client.post(scenario.url("run-new"), {**form, **values})

    def test_a_run_is_uploaded_read_and_shown(self, site: Site, reader: Client, messages: Messages) -> None:
        with messages():
            answer = self.send(site, reader, run_json({10: GOOD}))
        run = Run.objects.get(system="new")
        assert answer.headers["Location"] == reverse("models_runner:run", args=[run.uuid])  # type: ignore[attr-defined]
        text = page(reader, reverse("models_runner:run", args=[run.uuid]))
        assert "1 judged query is not answered" in text
        assert "NDCG@40,IoU&gt;=0.7" in text

    def test_a_bad_file_says_why(self, site: Site, reader: Client, messages: Messages) -> None:
        with messages():
            self.send(site, reader, b"{]")
        text = page(reader, reverse("models_runner:run", args=[Run.objects.get(system="new").uuid]))
        assert 'role="alert">line 1' in text

    @pytest.mark.parametrize(
        ("values", "status", "words"),
        [
            ({"system": ""}, 422, "Name the system."),
            ({"split": "train"}, 422, "Choose test or validation."),
            ({"release": 7}, 422, "There is no such release that is ready."),
            ({"file": ""}, 422, "Choose a file."),
            ({"system": "ours"}, 409, "already; give this one another name"),
        ],
    )
    def test_the_form_says_what_is_wrong(
        self, values: dict[str, object], status: int, words: str, site: Site, reader: Client
    ) -> None:
        answer = self.send(site, reader, **values)
        assert answer.status_code == status  # type: ignore[attr-defined]
        assert words in answer.content.decode().replace("&#x27;", "'")  # type: ignore[attr-defined]

    def test_the_limit_is_shown_before_and_after(self, site: Site, reader: Client) -> None:
        leaderboard_change(
            project=site.hand_made.project, actor=None, hides_val=False, hides_test=True, uploads_per_day=2
        )
        assert "the next is possible on" in page(reader, site.url("run-new"))
        answer = self.send(site, reader)
        assert answer.status_code == 409  # type: ignore[attr-defined]
        assert "You have uploaded 2 runs within a day" in answer.content.decode()  # type: ignore[attr-defined]

    def test_at_the_limit_no_body_is_read(self, site: Site, reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        leaderboard_change(
            project=site.hand_made.project, actor=None, hides_val=False, hides_test=True, uploads_per_day=2
        )
        monkeypatch.setattr(ReceivedOnDisk, "new_file", None)  # calling it would fail
        assert self.send(site, reader).status_code == 409  # type: ignore[attr-defined]

    def test_a_gigabyte_is_refused_before_it_is_read(self, site: Site, reader: Client, settings: Any) -> None:
        settings.RUN_MAX_MB = -1
        assert self.send(site, reader, b"x" * 100).status_code == 413  # type: ignore[attr-defined]

    def test_a_token_is_needed(self, site: Site) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(site.one.user)
        assert self.send(site, client).status_code == 403  # type: ignore[attr-defined]


class TestComparison:
    def page_url(self, scenario: Site, one: Run, other: Run, split: str = "val") -> str:
        return scenario.url("compare") + f"?split={split}&one={one.uuid}&other={other.uuid}"

    def test_wins_ties_losses_and_the_queries_behind_them(self, site: Site, reader: Client) -> None:
        text = page(reader, self.page_url(site, site.run, site.other))
        assert "2 · 0 · 0" in text
        assert text.count("query=10&amp;run=") == 1
        assert text.count("<svg") == 2

    def test_of_a_hidden_split_participants_see_no_query(self, site: Site, reader: Client, chief: Client) -> None:
        url = self.page_url(site, site.hidden, site.hidden_other, "test")
        assert "query=20" in page(chief, url)
        assert "Too few queries to show scores" in page(reader, url)
        Leaderboard.objects.create(project=site.hand_made.project, least_queries=1, ladder="off")
        text = page(reader, url)
        assert "single queries and tests are not shown" in text
        assert "query=20" not in text

    def test_a_run_against_itself_or_nothing(self, site: Site, reader: Client) -> None:
        assert "Choose two different runs." in page(reader, self.page_url(site, site.run, site.run))
        assert "<select" in page(reader, site.url("compare") + "?split=val&one=x&other=y")


class TestCase:
    def page_url(self, scenario: Site, *runs: Run, query: int = 10, split: str = "val") -> str:
        selection = "".join(f"&run={run.uuid}" for run in runs)
        return scenario.url("case") + f"?split={split}&query={query}{selection}"

    def test_ground_truth_and_answers_with_hits_and_misses(self, site: Site, reader: Client) -> None:
        text = page(reader, self.page_url(site, site.run, site.other))
        assert "a person sings" in text
        assert text.count('class="found"') == 2
        assert text.count('class="miss"') == 2
        assert "rank 1" in text
        assert "missed" in text

    def test_an_unanswered_query(self, site: Site, reader: Client) -> None:
        assert "does not answer the query" in page(reader, self.page_url(site, site.other, query=11))

    def test_clips_are_for_staff_alone(self, site: Site, reader: Client, chief: Client) -> None:
        Moment.objects.filter(video__name="alpha").update(preview="x.gif", preview_state="ready")
        assert page(chief, self.page_url(site, site.run)).count("<img loading") == 5  # two judged, three returned
        assert "<img loading" not in page(reader, self.page_url(site, site.run))

    def test_of_a_hidden_split_participants_see_none(self, site: Site, reader: Client, chief: Client) -> None:
        url = self.page_url(site, site.hidden, query=20, split="test")
        page(chief, url)
        page(reader, url, 403)

    def test_a_query_that_is_not_judged(self, site: Site, reader: Client) -> None:
        page(reader, self.page_url(site, site.run, query=31), 404)


class TestFiles:
    def file(self, scenario: Site, client: Client, name: str) -> object:
        return client.get(reverse("models_runner:file", args=[scenario.release.uuid, name]))

    def test_participants_get_queries_instead_of_hidden_labels(self, site: Site, reader: Client) -> None:
        text = page(reader, site.url("files"))
        assert "val.json" in text
        assert "test.json" not in text
        answer = self.file(site, reader, "test_queries.json")
        rows = json.loads(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
        assert [set(row) for row in rows] == [{"query_id", "query"}] * 2

    def test_the_open_files_are_those_of_the_archive(self, site: Site, reader: Client) -> None:
        with site.release.archive.open("rb") as source, ZipFile(io.BytesIO(source.read())) as archive:
            for name in ("val.json", "video_corpus.json", "train_top20.json"):
                answer = self.file(site, reader, name)
                assert b"".join(answer.streaming_content) == archive.read(name)  # type: ignore[attr-defined]

    @pytest.mark.parametrize("changes", [{"archive": "releases/gone.zip"}, {"archive_sha256": "0" * 64}])
    def test_of_an_archive_that_is_gone_or_another_nothing_is_handed_out(
        self, site: Site, reader: Client, changes: dict[str, str]
    ) -> None:
        with triggers_asleep():
            Release.objects.filter(pk=site.release.pk).update(**changes)
        assert "val.json" in page(reader, site.url("files"))
        assert self.file(site, reader, "val.json").status_code == 409  # type: ignore[attr-defined]

    def test_nothing_else_is_there(self, site: Site, reader: Client) -> None:
        with site.release.archive.open("rb") as source, ZipFile(source) as archive:
            names = set(archive.namelist())
        openly = {"val.json", "video_corpus.json", "train_top01.json", "train_top20.json", "train_top40.json"}
        for name in names - openly:
            assert self.file(site, reader, name).status_code == 404, name  # type: ignore[attr-defined]
        assert reader.get(reverse("judging:release-download", args=[site.release.uuid])).status_code == 403


class TestSettings:
    def test_a_lead_sets_what_is_hidden(self, site: Site, chief: Client) -> None:
        values = {"uploads_per_day": 3, "uploads_in_all": 7, "least_queries": 60, "ladder": "on", "alike_percent": 0}
        chief.post(site.url("settings"), {"hides_val": "on", **values})
        leaderboard = leaderboard_of(site.hand_made.project)
        assert {name: getattr(leaderboard, name) for name in values} == values
        assert (leaderboard.hides_val, leaderboard.hides_test) == (True, False)
        event = site.hand_made.project.audit_events.get(action="leaderboard.change")
        assert event.data == {"hides_val": True, "hides_test": False, **values}

    def test_a_bad_number_is_reported(self, site: Site, chief: Client) -> None:
        answer = chief.post(site.url("settings"), {"uploads_per_day": 0})
        assert answer.status_code == 422


def test_the_similarity_run_that_is_missing_is_made(site: Site, chief: Client, messages: Messages) -> None:
    Run.objects.filter(source="similarity").delete()
    with messages():
        chief.post(site.url("run-create"))
    assert Run.objects.filter(source="similarity", state="scored").count() == 2
