"""Hidden labels cannot be worked out from what participants see: scores in steps, and nothing finer beside them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Membership
from judging.models import Release
from models_runner.leaderboard.selectors.leaderboard import Table, filters_for, leaderboard
from models_runner.leaderboard.selectors.shown_scores import BLIND_COLUMNS, LADDER_COLUMN, ScoreView
from models_runner.leaderboard.services.participants import query_hashes
from models_runner.leaderboard.services.releases import similarity_runs_make
from models_runner.leaderboard.services.runs import UploadLimit, run_withdraw
from models_runner.leaderboard.services.scorings import scoring_work, truth_table
from models_runner.models import Leaderboard, PerQuery, Run, Score, ScoreTest, Scoring, Truth
from moment_retrieval import serialization
from moment_retrieval.metrics.leaderboard import COLUMNS
from moment_retrieval.tables import RunTable
from tests.conftest import hash_with
from tests.factories import ProjectFactory, VideoFactory
from tests.judging.api.acts import bearer, url
from tests.judging.scenario import HandMade
from tests.models_runner import acts
from tests.models_runner.acts import GOOD, WRONG, participant, ready_release, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
ONE, BOTH, EMPTY = run_json({10: GOOD[:1]}), run_json({10: GOOD, 11: WRONG}), run_json({10: GOOD, 11: []})


class Site(acts.Site):
    """Its labels are hidden; scores over two queries are shown in steps unless told otherwise."""

    def hide(self, *, val: bool = True, **others: int | str) -> None:
        self.set_rules(hides_val=val, **{"ladder": "off", "least_queries": 1, "uploads_per_day": 50, **others})

    def board(self, person: Membership | None = None, **filters: str) -> Table:
        selection = filters_for(person or self.member, {"split": "val", **filters})
        assert selection is not None
        return leaderboard(selection, person or self.member)

    def systems(self, person: Membership | None = None) -> set[str]:
        return {row.run.system for row in self.board(person).rows}

    def values(self) -> dict[str, list[float]]:
        return {row.run.system: [score.value for score in row.scores.values()] for row in self.board().ranked}

    def n_scores(self, run: Run, person: Membership | None = None) -> list[int]:
        """How many scores programs get, of each release."""
        return [len(scoring["scores"]) for scoring in self.scorings(run, person)]

    def scorings(self, run: Run, person: Membership | None = None) -> list[dict[str, Any]]:
        program = Client(headers=bearer((person or self.member).user))
        rows: list[dict[str, Any]] = program.get(url("run", run)).json()["scorings"]
        return rows

    def page(self, name: str, *words: object, by: Membership | None = None, **filters: Any) -> str:
        browser = Client()
        browser.force_login((by or self.member).user)
        address = reverse(f"models_runner:{name}", args=words if name == "run" else [self.project.uuid, *words])
        answer = browser.get(address, {"split": "val", **filters})
        assert answer.status_code == 200
        return answer.content.decode()

    def scored_again(self) -> Release:
        """Return another release, on which every run is scored."""
        again = ready_release(self.project)
        for scoring in again.scorings.filter(state="waiting"):
            scoring_work(scoring_id=scoring.pk)
        return again


def set_scores(value: float, **which: Any) -> None:
    Score.objects.filter(**which).update(value=value)


@pytest.fixture(scope="module", autouse=True)
def released_once(module_scenario: HandMade) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return ready_release(module_scenario.project)


@pytest.fixture
def site(scenario: HandMade, release: Release) -> Site:
    site = Site(scenario, release)
    site.hide()
    return site


@pytest.mark.parametrize("content", [ONE, EMPTY])
def test_a_participants_run_of_one_query_is_refused_in_words(site: Site, content: bytes) -> None:
    run = site.bring(content)
    assert (run.state, run.scorings.count()) == ("failed", 0)
    assert run.error == (
        "The run answers 1 of the 2 judged queries of val. The labels of this split are hidden: a run on it answers at "
        "least 90% of them."
    )


def test_scores_over_few_answers_are_shown_to_leads_alone(site: Site) -> None:
    site.hide(val=False)
    run = site.bring(ONE)
    assert site.systems() == {"ours", "similarity"}
    site.hide()
    assert (site.systems(), site.systems(site.lead)) == ({"similarity"}, {"ours", "similarity"})
    assert [site.n_scores(run, person) for person in (site.member, site.lead)] == [[0], [len(COLUMNS)]]
    page = site.page("run", run.uuid)
    assert "its scores are not shown" in page and "NDCG@10" not in page


def test_below_the_least_number_of_queries_participants_see_nothing(site: Site) -> None:
    site.hide(least_queries=3)
    run, other = site.bring(BOTH), site.bring(BOTH, by=participant(site.project))
    table, (scoring,) = site.board(), site.scorings(run)
    reason = (
        "The val split has 2 judged queries. Its labels are hidden, and scores over fewer than 3 queries would tell "
        "them: none is shown."
    )
    assert (table.rows, table.refusal) == ([], reason)
    assert (scoring["scores"], scoring["refusal"]) == ([], reason)
    for page in (site.page("runs"), site.page("compare", one=run.uuid, other=other.uuid)):
        assert "Too few queries to show scores" in page and "<svg class=" not in page
    assert len(site.board(site.lead).rows) == 3
    words = "They see no scores, since it has 2 judged queries, fewer than 3;"
    assert words in site.page("runs", by=site.lead)
    site.hide(least_queries=2)
    assert len(site.board().rows) == 3
    assert "judged moments a query, fewer than 20" in site.page("runs", by=site.lead)
    site.release.truths.update(n_moments=40)
    assert "fewer than 20" not in site.page("runs", by=site.lead)


def test_participants_see_one_convention_and_gain_whatever_they_ask_for(site: Site) -> None:
    site.bring(BOTH)
    filters = {"convention": "released", "gain": "linear", "show": "recall", "base": "x"}
    table = site.board(**filters)
    columns = {(score.column.convention, score.column.gain) for row in table.rows for score in row.scores.values()}
    assert columns == {("paper", "exponential")}
    assert {len(row.scores) for row in table.rows} == {9}
    assert (table.base, table.is_testing, table.step) == (None, False, "0.5")
    page = site.page("runs", convention="released", show="recall")
    assert [word for word in ("VCMR", "Convention <select", "test against", "Holm") if word in page] == []
    assert {len(row.scores) for row in site.board(site.lead, **filters).rows} == {9 + 51}
    program = Client(headers=bearer(site.member.user))
    body = program.get(url("leaderboard", site.project), {"split": "val", "gain": "linear"}).json()
    assert (body["step"], body["refusal"], body["is_testing"]) == (0.5, "", False)
    about_scores = {(row["convention"], row["gain"], row["p"], row["p_holm"]) for row in body["scores"]}
    assert about_scores == {("paper", "exponential", None, None)}


def test_everything_shown_follows_from_the_nine_shown_scores(site: Site) -> None:
    """Intervals, other measures, values of queries and tests may be anything: no page of a participant changes."""
    one, other = site.bring(BOTH), site.bring(run_json({10: WRONG, 11: GOOD}), by=participant(site.project))

    def seen() -> list[str]:
        pages = [site.page("run", one.uuid), site.page("runs")]
        pages += [site.page("compare", one=one.uuid, other=other.uuid)]
        pages += [site.page("export", form) for form in ("csv", "json", "tex")]
        lines = (line for page in pages for line in page.splitlines())
        return [line for line in lines if "csrf" not in line and "request: <code>" not in line]

    before = seen()
    visible = {"convention": "paper", "gain": "exponential", "metric__startswith": "NDCG"}
    Score.objects.exclude(**visible).update(value=0.123)
    Score.objects.update(low=0.01, high=0.99, unjudged=0.456)
    for row in PerQuery.objects.all():
        PerQuery.objects.filter(pk=row.pk).update(values=b"changed")
    scores = Score.objects.filter(metric=LADDER_COLUMN.metric, scoring__run__in=[one, other], **visible).order_by("pk")
    ScoreTest.objects.create(one=scores[0], other=scores[1], p=0.01)
    assert seen() == before
    assert "0.0100–0.9900" in site.page("runs", by=site.lead)  # whoever may see the change does


def test_order_ranks_and_warnings_follow_shown_scores_alone(site: Site) -> None:
    for name in ("b", "a", "c"):
        site.bring(BOTH, by=participant(site.project), system=name)
    first = {"metric": "NDCG@10,IoU>=0.3", "convention": "paper", "gain": "exponential"}
    for name, value in (("a", 0.5), ("b", 1.0), ("c", 0.0), ("similarity", 0.0)):
        set_scores(value, **first, scoring__run__system=name)
    ranks = [(row.run.system, row.rank) for row in site.board().rows]
    assert ranks == [("b", 1), ("a", 1), ("c", 2), ("similarity", 2)]  # one run is more than a step better than c
    judged = {moment.video for query in truth_table(release=site.release, split="val").values() for moment in query}
    free = VideoFactory(corpus=site.project.dataset.corpus, name="free", duration_s=90)
    assert free.name not in judged
    run = site.bring(run_json({number: [[free.name, 1.0, 4.0, 1.0]] for number in (10, 11)}))
    assert (run.state, run.scorings.get().warnings) == ("scored", [])


def test_the_same_file_and_the_runs_of_the_site_give_the_same_numbers_on_every_release(site: Site) -> None:
    site.bring(BOTH)
    site.bring(BOTH, by=participant(site.project), system="copy")
    values = site.values()
    assert values["ours"] == values["copy"]
    site.scored_again()
    assert site.values()["ours"] == values["ours"]
    draws = set()
    for each in (site.release, ready_release(site.project)):
        run = next(run for run in similarity_runs_make(release_id=each.pk) if run.split == "val")
        draws.add(draw(site, run.scorings.get()))
    assert len(draws) == 1


def draw(site: Site, scoring: Scoring, person: Membership | None = None) -> float:
    return ScoreView(person or site.member, "val")._share(scoring, LADDER_COLUMN)


def test_other_labels_projects_and_secret_keys_draw_other_numbers(site: Site, settings: Settings) -> None:
    """A threshold that is known from elsewhere, or used twice, would tell a score exactly."""
    scoring, truth = site.bring(BOTH).scorings.get(), Truth.objects.get(release=site.release, split="val")
    draws = {draw(site, scoring)}
    judged = truth_table(release=site.release, split="val")
    truth.table.save("truth", ContentFile(serialization.truth_bytes(replace(judged, weights=4 - judged.weights))))
    draws |= {draw(site, scoring), draw(site, scoring, participant(ProjectFactory()))}
    assert len(draws) == 3

    def shares() -> list[float]:
        view = ScoreView(site.member, "val")
        return [view._share(scoring, column) for column in BLIND_COLUMNS]

    before = shares()
    assert shares() == before
    settings.SECRET_KEY = "another-" + "y" * 40
    assert all(new != old for new, old in zip(shares(), before, strict=True))


class TestLadder:
    """A run is shown only when it is a step better than the same person's runs before."""

    @pytest.fixture
    def runs(self, site: Site) -> list[Run]:
        site.hide(ladder="on")
        runs = [site.bring(BOTH, system=name) for name in ("first", "equal", "better", "worse")]
        for run, value in zip(runs, (0.0, 0.0, 0.5, 0.0), strict=True):
            set_scores(value, scoring__run=run)
        return runs

    def test_of_a_participant(self, runs: list[Run], site: Site) -> None:
        assert site.systems() == {"similarity", "first", "better"}
        assert "is not a step (0.5) better than the best run" in site.page("run", runs[1].uuid)
        assert [site.n_scores(run) for run in runs] == [[9], [0], [9], [0]]
        page, file = site.page("runs"), site.page("export", "tex")
        assert page.count("not shown: <a") == 2
        assert "Of one person’s runs only those are shown that are a step better" in page
        assert "two steps each way" in page and "2 steps each way" in file  # the interval that they show
        assert [words for words in ("95 %", "share of the first K") if words in page or words in file] == []

    def test_a_withdrawn_run_counts(self, runs: list[Run], site: Site) -> None:
        run_withdraw(run=runs[2], actor=site.member.user, reason="to see another")
        set_scores(0.5, scoring__run=site.bring(BOTH, system="last"))
        assert site.systems() == {"similarity", "first"}

    def test_a_run_on_another_release_begins_no_new_one(self, runs: list[Run], site: Site) -> None:
        again = site.scored_again()
        set_scores(0.5, scoring__release=again)
        assert site.systems() == {"similarity", "first"}
        assert site.n_scores(runs[2]) == [0, 9]  # on the older as before
        set_scores(1.0, scoring__run=site.bring(BOTH, release=again, system="newest"))
        older = site.bring(BOTH, system="older")
        set_scores(1.0, scoring__run=older)
        assert site.n_scores(older) == [0, 0]  # no step above "newest"

    def test_others_have_a_ladder_of_their_own_and_leads_none(self, runs: list[Run], site: Site) -> None:
        other = participant(site.project)
        set_scores(0.0, scoring__run=site.bring(BOTH, by=other, system="theirs"))
        assert site.systems(other) == {"similarity", "first", "better", "theirs"}
        for name in ("mine", "mine too"):
            set_scores(0.0, scoring__run=site.bring(BOTH, by=site.lead, system=name))
        assert len(site.systems(site.lead)) == 8
        assert {"mine", "mine too"} <= site.systems(participant(site.project))

    @pytest.mark.parametrize(("ladder", "n_shown"), [("auto", 3), ("off", 5)])
    def test_it_is_on_unless_a_lead_says_otherwise(
        self, runs: list[Run], site: Site, ladder: str, n_shown: int
    ) -> None:
        site.hide(ladder=ladder)
        assert len(site.systems()) == n_shown


def test_uploads_to_a_hidden_split_end_in_all(site: Site) -> None:
    site.hide(uploads_in_all=2)
    run_withdraw(run=site.bring(BOTH, system="a"), actor=site.member.user, reason="a mistake")
    site.bring(b"not a run", system="unreadable")
    site.bring(ONE, system="refused")  # it was read, so it counts
    page = " ".join(site.page("run-new").replace("</p>", " </p>").split())
    assert "Of 2 uploads to the val split in all you have had 2. " in page
    with pytest.raises(UploadLimit, match="You have uploaded 2 runs to the val split, as many as a participant may"):
        site.bring(BOTH, system="c")
    site.hide(val=False, uploads_in_all=2)
    assert site.bring(BOTH, system="c").state == "scored"
    assert site.bring(BOTH, by=site.lead, system="d").state == "scored"


LONG = [["alpha", 1.0 + number, 2.5 + number, 1.0] for number in range(12)]
ALIKE = "Differs from “ours (the team)” of the same person in only {} of 2 queries."


class TestConcerns:
    """Uploads that look as if made to read labels are listed for leads."""

    @pytest.mark.parametrize(
        ("rows", "concerns"),
        [
            ((LONG, LONG[:9]), []),
            ((LONG[:9], LONG[:8]), ["Near-empty: 2 of 2 queries have fewer than 10 predictions."]),
            ((LONG, LONG), ["Constant: 2 of 2 queries have the very same predictions."]),
        ],
    )
    def test_of_one_run(self, site: Site, rows: tuple[Any, Any], concerns: list[str]) -> None:
        content = run_json(dict(zip((10, 11), rows, strict=True)))
        assert site.bring(content).concerns == concerns
        assert site.bring(content, by=site.lead).concerns == []

    def test_of_runs_that_hardly_differ(self, site: Site) -> None:
        site.hide(alike_percent=51)
        site.bring(run_json({10: LONG, 11: LONG[1:]}))
        site.bring(run_json({10: LONG, 11: LONG[1:]}), by=participant(site.project))
        assert site.bring(run_json({10: LONG, 11: LONG[2:]}), system="b").concerns == [ALIKE.format(1)]
        site.hide(alike_percent=50)
        assert site.bring(run_json({10: LONG, 11: LONG[1:-1]}), system="c").concerns == []

    def test_what_lies_below_the_last_cutoff_makes_no_run_another(self, site: Site) -> None:
        many = [["alpha", 0.5 * number, 0.5 * number + 1, 1.0] for number in range(41)]
        site.hide(alike_percent=5)
        site.bring(run_json({10: many, 11: many[::-1]}))
        other = site.bring(run_json({10: [*many[:40], *WRONG], 11: [*many[::-1][:40], *WRONG]}), system="b")
        assert ALIKE.format(0) in other.concerns

    def test_only_leads_and_admins_see_them(self, site: Site) -> None:
        run = site.bring(run_json({10: LONG, 11: LONG}))
        for words in (("runs",), ("run", run.uuid)):
            pages = [site.page(*words, by=person) for person in (site.member, site.lead)]
            assert ["the very same predictions" in page for page in pages] == [False, True]
        assert "very same" not in str(Client(headers=bearer(site.member.user)).get(url("run", run)).json())


def test_hashes_of_queries_are_equal_for_equal_lists_in_any_file() -> None:
    rows = np.array([[0, 1.0, 2.0], [1, 3.0, 4.0]])
    one = RunTable.from_moments({"1": rows, "2": rows[::-1], "3": rows[:1], "4": rows[:0]})
    columns = ([[0, 1], [1, 0]], [[3, 1], [1, 3]], [[4, 2], [2, 4]])
    other = RunTable.from_arrays(["2", "1"], *columns, names=dict(enumerate("10")))
    hashes = query_hashes(one)
    assert len(set(hashes.values())) == 4
    assert hashes["4"] == b""
    assert query_hashes(other) == {"2": hashes["2"], "1": hashes["1"]}
    assert len(set(query_hashes(one, with_order=False).values())) == 3


def test_the_defaults_are_the_promised_ones() -> None:
    settings = Leaderboard()
    assert (settings.least_queries, settings.ladder, settings.uploads_per_day) == (50, "auto", 5)
    assert (settings.uploads_in_all, settings.alike_percent) == (50, 5)
    assert (settings.hides("test"), settings.hides("val")) == (True, False)
