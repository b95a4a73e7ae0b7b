"""The leaderboard and the pages around it: what they show, and what participants are never told."""

import io
import json
import re
import zlib
from typing import Any
from urllib.parse import urlencode
from zipfile import ZipFile

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from annotation.models import Moment, Video
from core.files import ReceivedOnDisk
from judging.models import Release
from models_runner.leaderboard.models import FIRST_MEASURES
from models_runner.leaderboard.selectors.leaderboard import (
    FAMILY_OF_GROUP,
    GROUPS,
    filters_of_query,
    group_of,
    kind_table,
    leaderboard,
)
from models_runner.leaderboard.services.participants import leaderboard_change, leaderboard_of
from models_runner.leaderboard.services.releases import release_receive
from models_runner.leaderboard.services.scorings import (
    SCORINGS,
    columns_of,
    run_table,
    scored,
    scoring_work,
    truth_pool,
    truth_table,
    values_of,
)
from models_runner.models import Leaderboard, PerQuery, Run, Score, Scoring
from moment_retrieval.metrics.estimates import EstimateMeasure, estimates
from moment_retrieval.metrics.leaderboard import COLUMNS, COLUMNS_BY_FAMILY, Column
from tests.conftest import Messages
from tests.factories import CaptionFactory, ProjectFactory, lead, triggers_asleep
from tests.models_runner.acts import GOOD, bring, member_of, run_json, uploaded
from tests.models_runner.leaderboard.conftest import Board

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(board: Board) -> Client:
    return board.browser(board.one)


@pytest.fixture
def chief(board: Board) -> Client:
    return board.browser(member_of(board.hand_made, board.hand_made.lead))


def about(column: Column) -> dict[str, str]:
    return {"metric": column.metric, "convention": column.convention, "gain": column.gain}


def page(client: Client, url: str, status: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == status
    return answer.content.decode()


def systems(text: str) -> list[str]:
    return re.findall(r'<th scope="row">(?:<a[^>]*>)?([^<]+?) ?<', text)


class TestLeaderboard:
    def test_best_first_with_interval_unjudged_rate_and_test(self, board: Board, reader: Client) -> None:
        text = page(reader, board.url("runs") + "?split=val")
        assert systems(text) == ["similarity", "ours", "theirs"]  # the first two return the same
        about = {"metric": "NDCG@10,IoU>=0.3", "convention": "paper", "gain": "exponential"}
        score = Score.objects.get(scoring__run=board.run, **about)
        words = (f"<b>{score.value:.4f}</b>", f"{score.low:.4f}–{score.high:.4f}", "33 % unjudged", ">base<", "<svg")
        assert [word for word in words if word not in text] == []
        how = "&convention=released&gain=linear&show=k20&sort=NDCG@20,IoU>=0.7"
        text = page(reader, f"{board.url('runs')}?split=val{how}")
        assert 'aria-sort="descending"><a' in text and "NDCG@20,IoU&gt;=0.7" in text
        assert "R@100, μ 0.7" in page(reader, board.url("runs") + "?split=val&show=recall")
        page(reader, board.url("runs") + "?release=9999999999999&split=no&show=k7&sort=x&base=y&convention=z")
        project, client = ProjectFactory(), Client()
        client.force_login(lead(project))
        assert "Nothing to score on yet" in page(client, reverse("models_runner:runs", args=[project.uuid]))

    @pytest.mark.parametrize("group", [group for group in GROUPS if group in FAMILY_OF_GROUP])
    def test_every_family_of_measures_has_its_table(self, board: Board, reader: Client, group: str) -> None:
        columns = COLUMNS_BY_FAMILY[FAMILY_OF_GROUP[group]]
        parameters = {"split": "val", "show": group, "sort": columns[-1].metric}
        text = page(reader, f"{board.url('runs')}?{urlencode(parameters)}")
        headings = re.findall(r'title="Sort by ([^"]+)">([^<]+)<', text)
        assert headings == [(escape(column.metric), column.short_name) for column in columns]
        assert systems(text)[0] in {"similarity", "ours"} and "Convention <select" not in text
        score = Score.objects.get(scoring__run=board.run, metric=columns[0].metric, convention="")
        assert f"<b>{score.value:.4f}</b>" in text
        query = filters_of_query(board.hand_made.project, {"show": group, "sort": columns[-1].metric})
        assert query is not None and query.sorted_by == columns[-1] and group_of(columns[-1].metric) == group
        pair = {"one": board.run.uuid, "other": board.other.uuid}
        assert "Wins · ties · losses" in page(reader, f"{board.url('compare')}?{urlencode(parameters | pair)}")
        case = page(reader, f"{board.url('case')}?{urlencode({**parameters, 'query': '10', 'run': board.run.uuid})}")
        assert escape(columns[-1].metric) in case

    def test_inferred_measures_know_the_pool_of_the_release(self, board: Board) -> None:
        """A pair that was dropped was pooled, and has no grade."""
        judged, pool = (get(release=board.release, split="val") for get in (truth_table, truth_pool))
        assert pool is not None and pool.unjudged["10"][0].video == "beta"
        scores = estimates(run_table(board.run), judged, pool=pool)
        for name in ("infAP", "xinfAP"):
            value = Score.objects.get(scoring__run=board.run, metric=f"{name},IoU>=0.5").value
            assert value == pytest.approx(scores.mean[EstimateMeasure(name, 0.5)])
        assert Score.objects.filter(scoring__run=board.run).count() == len(COLUMNS)

    def test_a_release_without_a_pool_has_no_inferred_measures(self, board: Board) -> None:
        judged = truth_table(release=board.release, split="val")
        means = scored(run_table(board.run), judged).values.means
        missing = [column.metric for column, value in means.items() if value != value]
        assert missing == [f"{name},IoU>={mu}" for name in ("infAP", "xinfAP") for mu in (0.3, 0.5, 0.7)]

    def test_scores_by_the_type_of_a_query(self, board: Board, reader: Client) -> None:
        """Query 10 is of the video, 11 of what is said; a mean over both is the score itself."""
        url = f"{board.url('runs')}?split=val&by=type"
        assert 'id="types"' not in page(reader, url)  # no query has a type
        for number, kind in ((10, "video"), (11, "subtitle")):
            caption = CaptionFactory(description__kind=kind)
            board.hand_made.project.queries.filter(number=number).update(caption=caption)
        half = bring(board.one, board.release, run_json({10: GOOD}), system="half")
        query = filters_of_query(board.hand_made.project, {"split": "val"})
        assert query is not None
        result = kind_table(query, leaderboard(query, board.one, tested=False))
        assert result is not None and result.kinds == [("subtitle", 1), ("video", 1)]
        measure = query.sorted_by._asdict()
        score = Score.objects.get(
            scoring__run=half, **{name: measure[name] for name in ("metric", "convention", "gain")}
        )
        values = next(values for run, values in result.rows if run == half)
        assert values == [0.0, pytest.approx(2 * score.value)] and score.value > 0
        text = page(reader, url)
        assert 'id="types"' in text and "1 query" in text and "&amp;by=type" in text
        leaderboard_change(project=board.hand_made.project, actor=None, hides_val=True, uploads_per_day=2)
        assert 'id="types"' not in page(reader, url)

    def test_runs_of_others_are_not_opened_and_earlier_scores_are_stale(self, board: Board, reader: Client) -> None:
        text = page(reader, board.url("runs") + "?split=val")
        assert reverse("models_runner:run", args=[board.run.uuid]) in text
        assert reverse("models_runner:run", args=[board.other.uuid]) not in text
        page(reader, reverse("models_runner:run", args=[board.other.uuid]), 403)
        page(reader, reverse("models_runner:run-download", args=[board.other.uuid]), 403)
        about = {
            "project": board.hand_made.project,
            "version": 2,
            "state": "ready",
            "archive": board.release.archive.name,
        }
        release_receive(release_id=Release.objects.create(**about).pk)
        text = page(reader, board.url("runs") + "?split=val")
        assert text.count("stale: release 1") == 2
        assert "2 runs of earlier releases wait" in text
        assert 'hx-trigger="every 3s"' in text

    def test_the_published_values_stand_beside_the_best_run_for_staff(
        self, board: Board, reader: Client, chief: Client
    ) -> None:
        here = {"split": "val", "convention": "released", "gain": "exponential", "show": "k40"}
        page = chief.get(board.url("runs"), here).content.decode()
        beside = page.split('id="published"')[1].split("</details>")[0]
        assert "ReLoCLNet, N = 40" in beside and "0.4725" in beside and "SPR (split not stated)" in beside
        best = max(
            Score.objects.filter(
                scoring__run=board.run, k=40, mu=0.3, convention="released", gain="exponential"
            ).values_list("value", flat=True)
        )
        assert f"<b>{best:.4f}</b>" in beside and f"<b>{board.run.name}</b>" in beside  # not the similarity run
        assert "Not comparable with the published values: other videos" in beside  # why they differ
        assert beside.count("not available") == 2  # SPR at the two other thresholds
        other = chief.get(board.url("runs"), {**here, "convention": "paper"}).content.decode()
        assert "0.4725" not in other and "Published values are NDCG under the convention released" in other
        assert 'id="published"' not in reader.get(board.url("runs"), here).content.decode()
        vcmr = chief.get(board.url("runs"), {"split": "val", "show": "recall"}).content.decode()
        beside = vcmr.split('id="published"')[1].split("</details>")[0]
        assert "0.0725" in beside and "arXiv Table 8" in beside and "two answer different questions" in beside
        assert beside.count("<th class") == 6 and beside.count("not available") == 3  # printed; all but 3 of CONQUER
        Run.objects.exclude(source="similarity").update(state="withdrawn", reason="A mistake.")
        alone = chief.get(board.url("runs"), {**here, "published": "open"}).content.decode()
        assert 'id="published" open>' in alone and "No run but the similarity run is here yet" in alone

    def test_exports(self, board: Board, chief: Client) -> None:
        query = "?split=val&sort=NDCG@10,IoU>=0.5"
        rows = json.loads(page(chief, board.url("export", "json") + query))["scores"]
        assert len(rows) == 3 * (9 + 51)  # NDCG of one convention and gain, and all others
        assert {row["tested_against"] for row in rows if row["metric"] == "NDCG@10,IoU>=0.5"} >= {None}
        lines = page(chief, board.url("export", "csv") + query).splitlines()
        assert lines[0].startswith('"system","team","source","release","split","metric"')
        assert len(lines) == len(rows) + 1
        assert "\\toprule" in page(chief, board.url("export", "tex") + query)
        page(chief, board.url("export", "xls"), 404)


class TestUpload:
    def send(self, board: Board, client: Client, content: bytes = b"[]", **values: object) -> Any:
        form = {"file": uploaded(content), "system": "new", "team": "", "split": "val", "release": 1}
        return client.post(board.url("run-new"), {**form, **values})

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (run_json({10: GOOD}), ("1 judged query is not answered", "NDCG@40,IoU&gt;=0.7")),
            (b"{]", ('role="alert">line 1',)),
        ],
    )
    def test_a_run_is_uploaded_read_and_shown(
        self, content: bytes, words: tuple[str, ...], board: Board, reader: Client, messages: Messages
    ) -> None:
        with messages():
            answer = self.send(board, reader, content)
        address = reverse("models_runner:run", args=[Run.objects.get(system="new").uuid])
        assert answer.headers["Location"] == address
        text = page(reader, address)
        assert [word for word in words if word not in text] == []

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
        self, values: dict[str, object], status: int, words: str, board: Board, reader: Client
    ) -> None:
        answer = self.send(board, reader, **values)
        assert answer.status_code == status
        assert words in answer.content.decode().replace("&#x27;", "'")

    def test_the_limit_is_shown_before_and_after_and_no_body_is_read(
        self, board: Board, reader: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        leaderboard_change(project=board.hand_made.project, actor=None, hides_test=True, uploads_per_day=2)
        assert "the next is possible on" in page(reader, board.url("run-new"))
        monkeypatch.setattr(ReceivedOnDisk, "new_file", None)  # calling it would fail
        answer = self.send(board, reader)
        assert answer.status_code == 409
        assert "You have uploaded 2 runs within a day" in answer.content.decode()
        settings.RUN_MAX_MB = -1
        assert self.send(board, board.browser(board.two), b"x" * 100).status_code == 413

    def test_a_token_is_needed(self, board: Board) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(board.one.user)
        assert self.send(board, client).status_code == 403


class TestComparison:
    def page_url(self, board: Board, one: Run, other: Run, split: str = "val") -> str:
        return board.url("compare") + f"?split={split}&one={one.uuid}&other={other.uuid}"

    def test_wins_ties_losses_and_no_query_of_a_hidden_split(self, board: Board, reader: Client, chief: Client) -> None:
        text = page(reader, self.page_url(board, board.run, board.other))
        assert "2 · 0 · 0" in text
        assert text.count("query=10&amp;run=") == 1
        assert text.count("<svg") == 2
        assert "Choose two different runs." in page(reader, self.page_url(board, board.run, board.run))
        assert "<select" in page(reader, board.url("compare") + "?split=val&one=x&other=y")
        url = self.page_url(board, board.hidden, board.hidden_other, "test")
        assert "query=20" in page(chief, url)
        assert "Too few queries to show scores" in page(reader, url)
        Leaderboard.objects.create(project=board.hand_made.project, least_queries=1, ladder="off")
        text = page(reader, url)
        assert "single queries and tests are not shown" in text
        assert "query=20" not in text


class TestCase:
    def page_url(self, board: Board, *runs: Run, query: int = 10, split: str = "val") -> str:
        selection = "".join(f"&run={run.uuid}" for run in runs)
        return board.url("case") + f"?split={split}&query={query}{selection}"

    def test_ground_truth_answers_and_clips_for_staff_alone(self, board: Board, reader: Client, chief: Client) -> None:
        text = page(reader, self.page_url(board, board.run, board.other))
        assert [word for word in ("a person sings", "rank 1", "missed") if word not in text] == []
        assert (text.count('class="found"'), text.count('class="miss"')) == (2, 2)
        assert "does not answer the query" in page(reader, self.page_url(board, board.other, query=11))
        page(reader, self.page_url(board, board.run, query=31), 404)  # which is not judged
        hidden_case = self.page_url(board, board.hidden, query=20, split="test")
        page(chief, hidden_case)
        page(reader, hidden_case, 403)
        Moment.objects.filter(video__name="alpha").update(preview="x.gif", preview_state="ready")
        assert page(chief, self.page_url(board, board.run)).count("<img loading") == 5  # two judged, three returned
        assert "<img loading" not in page(reader, self.page_url(board, board.run))

    def test_a_miss_plays_the_predicted_span_though_a_moment_overlaps_it(
        self, board: Board, reader: Client, chief: Client
    ) -> None:
        Moment.objects.filter(video__name__in=["alpha", "beta"]).update(preview="x.gif", preview_state="ready")
        Video.objects.filter(name="beta").update(file="videos/beta.mp4")
        url = self.page_url(board, board.run, board.other)
        text = page(chief, url)
        hits, misses = (re.findall(rf'<li class="{kind}">(.*?)</li>', text, re.DOTALL) for kind in ("found", "miss"))
        of_beta = [row for row in misses if "beta" in row]
        assert of_beta
        assert [row for row in of_beta if not re.search(r'<video [^>]*#t=[\d.]+,[\d.]+"', row) or "<img" in row] == []
        assert [row for row in hits if "<video" in row or "<img" not in row] == []
        assert "<video" not in page(reader, url)

    def test_a_query_is_chosen_by_its_words(self, board: Board, chief: Client) -> None:
        case = board.url("case") + "?split=val"
        assert "Which query?" in page(chief, case)
        assert "<h1>Query 10</h1>" in page(chief, f"{case}&words=10")
        assert "No judged query of this split holds <b>zzz</b>" in page(chief, f"{case}&words=zzz")


class TestFiles:
    def file(self, board: Board, client: Client, name: str) -> object:
        return client.get(reverse("models_runner:file", args=[board.release.uuid, name]))

    def test_participants_get_open_files_and_queries_for_hidden_labels(self, board: Board, reader: Client) -> None:
        text = page(reader, board.url("files"))
        assert "val.json" in text
        assert "test.json" not in text
        answer = self.file(board, reader, "test_queries.json")
        rows = json.loads(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
        assert [set(row) for row in rows] == [{"query_id", "query"}] * 2
        openly = {"val.json", "video_corpus.json", "train_top01.json", "train_top20.json", "train_top40.json"}
        with board.release.archive.open("rb") as source, ZipFile(io.BytesIO(source.read())) as archive:
            for name in set(archive.namelist()):
                answer: Any = self.file(board, reader, name)
                if name in openly:
                    assert answer.headers["Content-Type"] == "application/json"  # a browser would run a page
                    disposition = answer.headers["Content-Disposition"]
                    assert disposition == f'attachment; filename="release-{board.release.version}-{name}"'
                    assert b"".join(answer.streaming_content) == archive.read(name)
                else:
                    assert answer.status_code == 404, name
        assert reader.get(reverse("judging:release-download", args=[board.release.uuid])).status_code == 403

    @pytest.mark.parametrize("changes", [{"archive": "releases/gone.zip"}, {"archive_sha256": "0" * 64}])
    def test_an_archive_that_is_gone_or_another_gives_none(
        self, board: Board, reader: Client, changes: dict[str, str]
    ) -> None:
        with triggers_asleep():
            Release.objects.filter(pk=board.release.pk).update(**changes)
        assert "val.json" in page(reader, board.url("files"))
        assert self.file(board, reader, "val.json").status_code == 409  # type: ignore[attr-defined]


def test_a_lead_sets_what_is_hidden_and_has_a_missing_run_made(board: Board, chief: Client, messages: Messages) -> None:
    values = {"uploads_per_day": 3, "uploads_in_all": 7, "least_queries": 60, "ladder": "on", "alike_percent": 0}
    chief.post(board.url("settings"), {"hides_val": "on", **values})
    leaderboard = leaderboard_of(board.hand_made.project)
    assert {name: getattr(leaderboard, name) for name in values} == values
    assert (leaderboard.hides_val, leaderboard.hides_test) == (True, False)
    event = board.hand_made.project.audit_events.get(action="leaderboard.change")
    assert event.data == {"hides_val": True, "hides_test": False, **values}
    assert chief.post(board.url("settings"), {"uploads_per_day": 0}).status_code == 422
    Run.objects.filter(source="similarity").delete()
    with messages():
        chief.post(board.url("run-create"))
    assert Run.objects.filter(source="similarity", state="scored").count() == 2


def test_a_run_that_was_scored_by_fewer_measures_keeps_its_scores_and_gets_the_others(board: Board) -> None:
    """As after an upgrade that adds measures; a repeat changes nothing, and until then the others are unknown."""
    scoring = board.run.scorings.get()
    before, values = list(scoring.scores.values_list("pk", "metric", "value")), values_of(scoring)
    later = [pk for pk, *_ in before][FIRST_MEASURES:]
    Score.objects.filter(pk__in=later).delete()
    packed = zlib.compress(values[:, :FIRST_MEASURES].tobytes(), 1)
    PerQuery.objects.filter(scoring=scoring).update(values=packed)
    Scoring.objects.filter(pk=scoring.pk).update(n_measures=FIRST_MEASURES)
    scoring = Scoring.objects.get(pk=scoring.pk)
    assert np.isnan(values_of(scoring)[:, FIRST_MEASURES:]).all()
    assert np.isnan(columns_of([scoring.pk], len(COLUMNS) - 1)).all()
    assert list(SCORINGS.rows()) == [scoring]
    for _ in range(2):
        scoring_work(scoring_id=scoring.pk)
        scoring = Scoring.objects.get(pk=scoring.pk)
        assert (scoring.state, scoring.n_measures) == ("scored", len(COLUMNS))
        after = list(scoring.scores.values_list("pk", "metric", "value"))
        assert after[:FIRST_MEASURES] == before[:FIRST_MEASURES]
        assert [row[1:] for row in after] == [row[1:] for row in before]
        np.testing.assert_array_equal(values_of(scoring), values)
    assert not SCORINGS.rows().exists()


def test_measures_that_cannot_be_added_leave_the_scores_as_they_are(board: Board) -> None:
    scoring = board.run.scorings.get()
    Scoring.objects.filter(pk=scoring.pk).update(n_measures=FIRST_MEASURES)
    scoring.refresh_from_db()
    SCORINGS.fail(scoring, "an error")
    assert (Scoring.objects.get(pk=scoring.pk).state, SCORINGS.rows().exists()) == ("scored", False)
