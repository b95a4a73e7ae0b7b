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
from models_runner.leaderboard.services.participants import leaderboard_change, query_hashes
from models_runner.leaderboard.services.releases import similarity_runs_make
from models_runner.leaderboard.services.runs import UploadLimit, run_withdraw
from models_runner.leaderboard.services.scorings import scoring_work, truth_table
from models_runner.models import Leaderboard, PerQuery, Run, Score, ScoreTest, Truth
from moment_retrieval import serialization
from moment_retrieval.tables import RunTable
from tests.conftest import hash_with
from tests.factories import ProjectFactory, VideoFactory
from tests.judging.api.acts import bearer, url
from tests.judging.scenario import HandMade
from tests.models_runner.acts import GOOD, WRONG, bring, member_of, participant, ready_release, run_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
ONE, BOTH, EMPTY = run_json({10: GOOD[:1]}), run_json({10: GOOD, 11: WRONG}), run_json({10: GOOD, 11: []})


@pytest.fixture(scope="module", autouse=True)
def released_once(module_scenario: HandMade) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        hide(module_scenario)
        return ready_release(module_scenario.project)


@pytest.fixture
def member(scenario: HandMade) -> Membership:
    return participant(scenario.project)


def hide(hand_made: HandMade, *, val: bool = True, least_queries: int = 1, **others: int | str) -> None:
    """Hide the labels; scores over two queries are shown in steps unless told otherwise."""
    values: dict[str, Any] = {"ladder": "off", "least_queries": least_queries, "uploads_per_day": 50, **others}
    leaderboard_change(project=hand_made.project, actor=None, hides_val=val, hides_test=True, **values)


def board(hand_made: HandMade, member: Membership, **filters: str) -> Table:
    selection = filters_for(member, {"split": "val", **filters})
    assert selection is not None
    return leaderboard(selection, member)


def systems_on_board(hand_made: HandMade, member: Membership) -> set[str]:
    return {row.run.system for row in board(hand_made, member).rows}


def api_scorings(member: Membership, run: Run) -> list[dict[str, Any]]:
    scorings: list[dict[str, Any]] = Client(headers=bearer(member.user)).get(url("run", run)).json()["scorings"]
    return scorings


def api_scores(member: Membership, run: Run) -> dict[str, Any]:
    return api_scorings(member, run)[0]


def text(member: Membership, address: str, **filters: Any) -> str:
    browser = Client()
    browser.force_login(member.user)
    answer = browser.get(address, {"split": "val", **filters})
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("content", [ONE, EMPTY])
def test_a_participants_run_of_one_query_is_refused_in_words(
    release: Release, member: Membership, content: bytes
) -> None:
    run = bring(member, release, content)
    assert (run.state, run.scorings.count()) == ("failed", 0)
    assert run.error == (
        "The run answers 1 of the 2 judged queries of val. The labels of this split are hidden: a run on it answers at "
        "least 90% of them."
    )


def test_scores_over_few_answers_are_shown_to_leads_alone(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    hide(scenario, val=False)
    run = bring(member, release, ONE)
    assert systems_on_board(scenario, member) == {"ours", "similarity"}
    hide(scenario)
    chief = member_of(scenario, scenario.lead)
    assert (systems_on_board(scenario, member), systems_on_board(scenario, chief)) == (
        {"similarity"},
        {"ours", "similarity"},
    )
    assert [len(api_scores(person, run)["scores"]) for person in (member, chief)] == [0, 48]
    page = text(member, reverse("models_runner:run", args=[run.uuid]))
    assert "its scores are not shown" in page
    assert "NDCG@10" not in page


def test_below_the_least_number_of_queries_participants_see_nothing(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    hide(scenario, least_queries=3)
    run, other = bring(member, release, BOTH), bring(participant(scenario.project), release, BOTH)
    table = board(scenario, member)
    reason = (
        "The val split has 2 judged queries. Its labels are hidden, and scores over fewer than 3 queries would tell "
        "them: none is shown."
    )
    assert (table.rows, table.refusal) == ([], reason)
    scoring = api_scores(member, run)
    assert (scoring["scores"], scoring["refusal"]) == ([], reason)
    for name, parameters in (("runs", {}), ("compare", {"one": run.uuid, "other": other.uuid})):
        page = text(member, reverse(f"models_runner:{name}", args=[scenario.project.uuid]), **parameters)
        assert "Too few queries to show scores" in page
        assert "<svg class=" not in page
    chief = member_of(scenario, scenario.lead)
    assert len(board(scenario, chief).rows) == 3
    assert "They see no scores, since it has 2 judged queries, fewer than 3;" in text(
        chief, reverse("models_runner:runs", args=[scenario.project.uuid])
    )
    hide(scenario, least_queries=2)
    assert len(board(scenario, member).rows) == 3


def test_another_secret_key_draws_the_rounding_anew(
    release: Release, member: Membership, scenario: HandMade, settings: Settings
) -> None:
    """Whoever knows the numbers of one site learns nothing of the thresholds of another."""
    columns = BLIND_COLUMNS
    scoring = bring(member, release, BOTH).scorings.get()

    def shares() -> list[float]:
        view = ScoreView(member, "val")
        return [view._share(scoring, column) for column in columns]

    before = shares()
    assert shares() == before
    settings.SECRET_KEY = "another-" + "y" * 40
    assert all(new != old for new, old in zip(shares(), before, strict=True))


def test_leads_are_warned_of_few_judged_moments_a_query(release: Release, scenario: HandMade) -> None:
    hide(scenario, least_queries=2)
    board_url = reverse("models_runner:runs", args=[scenario.project.uuid])
    assert "judged moments a query, fewer than 20" in text(member_of(scenario, scenario.lead), board_url)
    release.truths.update(n_moments=40)
    assert "fewer than 20" not in text(member_of(scenario, scenario.lead), board_url)


def test_participants_see_one_convention_and_gain_whatever_they_ask_for(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    bring(member, release, BOTH)
    table = board(scenario, member, convention="released", gain="linear", show="recall", base="x")
    columns = {(score.column.convention, score.column.gain) for row in table.rows for score in row.scores.values()}
    assert columns == {("paper", "exponential")}
    assert {len(row.scores) for row in table.rows} == {9}
    assert (table.base, table.is_testing, table.step) == (None, False, "0.5")
    page = text(
        member, reverse("models_runner:runs", args=[scenario.project.uuid]), convention="released", show="recall"
    )
    assert not {"R@K", "Convention <select", "test against", "Holm"} & {
        word for word in ("R@K", "Convention <select", "test against", "Holm") if word in page
    }
    chief = board(scenario, member_of(scenario, scenario.lead), convention="released", gain="linear", show="recall")
    assert {len(row.scores) for row in chief.rows} == {21}


def test_everything_shown_follows_from_the_nine_shown_scores(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    """Intervals, other measures, values of queries and tests may be anything: no page of a participant changes."""
    one, other = (
        bring(member, release, BOTH),
        bring(participant(scenario.project), release, run_json({10: WRONG, 11: GOOD})),
    )
    project = scenario.project.uuid
    addresses = [
        *(reverse(f"models_runner:{name}", args=[project]) for name in ("runs", "compare")),
        *(reverse("models_runner:export", args=[project, form]) for form in ("csv", "json", "tex")),
        reverse("models_runner:run", args=[one.uuid]),
    ]
    before = [stable_lines(member, address, one, other) for address in addresses]
    visible = {"convention": "paper", "gain": "exponential", "metric__startswith": "NDCG"}
    Score.objects.exclude(**visible).update(value=0.123)
    Score.objects.update(low=0.01, high=0.99, unjudged=0.456)
    for row in PerQuery.objects.all():
        PerQuery.objects.filter(pk=row.pk).update(values=b"changed")
    scores = Score.objects.filter(metric=LADDER_COLUMN.metric, scoring__run__in=[one, other], **visible).order_by("pk")
    ScoreTest.objects.create(one=scores[0], other=scores[1], p=0.01)
    assert [stable_lines(member, address, one, other) for address in addresses] == before
    chief = member_of(scenario, scenario.lead)
    assert "0.0100–0.9900" in text(chief, addresses[0])  # whoever may see the change does


def stable_lines(member: Membership, address: str, one: Run, other: Run) -> str:
    page = text(member, address, one=one.uuid, other=other.uuid)
    return "\n".join(line for line in page.splitlines() if "csrf" not in line and "request: <code>" not in line)


def test_no_warning_says_which_videos_hold_judged_moments(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    judged = {moment.video for query in truth_table(release=release, split="val").values() for moment in query}
    free = VideoFactory(corpus=scenario.project.dataset.corpus, name="free", duration_s=90)
    assert free.name not in judged
    run = bring(member, release, run_json({number: [[free.name, 1.0, 4.0, 1.0]] for number in (10, 11)}))
    assert (run.state, run.scorings.get().remarks) == ("scored", [])


def test_order_and_ranks_follow_shown_scores_alone(release: Release, member: Membership, scenario: HandMade) -> None:
    for name in ("b", "a", "c"):
        bring(participant(scenario.project), release, BOTH, system=name)
    first = {"metric": "NDCG@10,IoU>=0.3", "convention": "paper", "gain": "exponential"}
    Score.objects.filter(**first).update(value=0.5)
    for name, value in (("a", 0.5), ("b", 1.0), ("c", 0.0), ("similarity", 0.0)):
        Score.objects.filter(**first, scoring__run__system=name).update(value=value)
    assert [(row.run.system, row.rank) for row in board(scenario, member).rows] == [
        ("b", 1),
        ("a", 1),
        ("c", 2),  # one run is more than a step better
        ("similarity", 2),
    ]


def test_the_same_file_gives_the_same_numbers_on_every_release(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    bring(member, release, BOTH)
    bring(participant(scenario.project), release, BOTH, system="copy")
    values = {row.run.system: [score.value for score in row.scores.values()] for row in board(scenario, member).rows}
    assert values["ours"] == values["copy"]
    again = ready_release(scenario.project)
    for scoring in again.scorings.filter(state="waiting"):
        scoring_work(scoring_id=scoring.pk)
    newer = {row.run.system: [score.value for score in row.scores.values()] for row in board(scenario, member).ranked}
    assert newer["ours"] == values["ours"]


def test_the_runs_of_the_site_draw_once_for_all_releases(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    """Another release with the same labels gives no new number of them, as it gives none of an upload."""
    draws = set()
    for each in (release, ready_release(scenario.project)):
        run = next(run for run in similarity_runs_make(release_id=each.pk) if run.split == "val")
        draws.add(ScoreView(member, "val")._share(run.scorings.get(), LADDER_COLUMN))
    assert len(draws) == 1


def test_other_labels_and_other_projects_draw_other_numbers(
    release: Release, member: Membership, scenario: HandMade
) -> None:
    """A threshold that is known from elsewhere, or used twice, would tell a score exactly."""
    scoring = bring(member, release, BOTH).scorings.get()
    view = ScoreView(member, "val")
    draws = {view._share(scoring, LADDER_COLUMN)}
    truth = Truth.objects.get(release=release, split="val")
    judged = truth_table(release=release, split="val")
    truth.table.save("truth", ContentFile(serialization.truth_bytes(replace(judged, weights=4 - judged.weights))))
    draws.add(ScoreView(member, "val")._share(scoring, LADDER_COLUMN))
    draws.add(ScoreView(participant(ProjectFactory()), "val")._share(scoring, LADDER_COLUMN))
    assert len(draws) == 3


class TestLadder:
    """A run is shown only when it is a step better than the same person's runs before."""

    @pytest.fixture
    def runs(self, release: Release, member: Membership, scenario: HandMade) -> list[Run]:
        hide(scenario, ladder="on")
        runs = [bring(member, release, BOTH, system=name) for name in ("first", "equal", "better", "worse")]
        for run, value in zip(runs, (0.0, 0.0, 0.5, 0.0), strict=True):
            Score.objects.filter(scoring__run=run).update(value=value)
        return runs

    def test_of_a_participant(self, runs: list[Run], member: Membership, scenario: HandMade) -> None:
        assert systems_on_board(scenario, member) == {"similarity", "first", "better"}
        assert "is not a step (0.5) better than the best run" in text(
            member, reverse("models_runner:run", args=[runs[1].uuid])
        )
        assert [len(api_scores(member, run)["scores"]) for run in runs] == [9, 0, 9, 0]
        page = text(member, reverse("models_runner:runs", args=[scenario.project.uuid]))
        assert page.count("not shown: <a") == 2
        assert "Of one person’s runs only those are shown that are a step better" in page

    def test_page_and_file_name_the_interval_that_they_show(
        self, runs: list[Run], member: Membership, scenario: HandMade
    ) -> None:
        page = text(member, reverse("models_runner:runs", args=[scenario.project.uuid]))
        file = text(member, reverse("models_runner:export", args=[scenario.project.uuid, "tex"]))
        assert "two steps each way" in page
        assert "2 steps each way" in file
        assert [words for words in ("95 %", "share of the first K") if words in page or words in file] == []

    def test_a_withdrawn_run_counts(self, runs: list[Run], member: Membership, scenario: HandMade) -> None:
        run_withdraw(run=runs[2], actor=member.user, reason="to see another")
        last = bring(member, runs[0].release, BOTH, system="last")
        Score.objects.filter(scoring__run=last).update(value=0.5)
        assert systems_on_board(scenario, member) == {"similarity", "first"}

    def test_a_run_on_another_release_begins_no_new_one(
        self, runs: list[Run], member: Membership, scenario: HandMade
    ) -> None:
        again = ready_release(scenario.project)
        for scoring in again.scorings.filter(state="waiting"):
            scoring_work(scoring_id=scoring.pk)
        Score.objects.filter(scoring__release=again).update(value=0.5)
        assert systems_on_board(scenario, member) == {"similarity", "first"}
        assert [len(scoring["scores"]) for scoring in api_scorings(member, runs[2])] == [0, 9]  # on the older as before
        newest = bring(member, again, BOTH, system="newest")
        Score.objects.filter(scoring__run=newest).update(value=1.0)
        older = bring(member, runs[0].release, BOTH, system="older")
        Score.objects.filter(scoring__run=older).update(value=1.0)
        assert [len(scoring["scores"]) for scoring in api_scorings(member, older)] == [0, 0]  # no step above "newest"

    def test_another_person_has_a_ladder_of_their_own(self, runs: list[Run], scenario: HandMade) -> None:
        other = participant(scenario.project)
        run = bring(other, runs[0].release, BOTH, system="theirs")
        Score.objects.filter(scoring__run=run).update(value=0.0)
        assert systems_on_board(scenario, other) == {"similarity", "first", "better", "theirs"}

    def test_leads_have_none_and_see_all(self, runs: list[Run], scenario: HandMade) -> None:
        chief = member_of(scenario, scenario.lead)
        for name in ("mine", "mine too"):
            Score.objects.filter(scoring__run=bring(chief, runs[0].release, BOTH, system=name)).update(value=0.0)
        assert len(systems_on_board(scenario, chief)) == 7
        assert {"mine", "mine too"} <= systems_on_board(scenario, participant(scenario.project))

    @pytest.mark.parametrize(("ladder", "n_shown"), [("auto", 3), ("off", 5)])
    def test_it_is_on_for_small_splits_unless_a_lead_says_otherwise(
        self, runs: list[Run], member: Membership, scenario: HandMade, ladder: str, n_shown: int
    ) -> None:
        hide(scenario, ladder=ladder)
        assert len(systems_on_board(scenario, member)) == n_shown


def test_uploads_to_a_hidden_split_end_in_all(release: Release, member: Membership, scenario: HandMade) -> None:
    hide(scenario, uploads_in_all=2)
    run_withdraw(run=bring(member, release, BOTH, system="a"), actor=member.user, reason="a mistake")
    bring(member, release, b"not a run", system="unreadable")
    bring(member, release, ONE, system="refused")  # it was read, so it counts
    page = text(member, reverse("models_runner:run-new", args=[scenario.project.uuid]))
    assert "Of 2 uploads to the val split in all you have had 2. " in " ".join(page.replace("</p>", " </p>").split())
    with pytest.raises(UploadLimit, match="You have uploaded 2 runs to the val split, as many as a participant may"):
        bring(member, release, BOTH, system="c")
    hide(scenario, val=False, uploads_in_all=2)
    assert bring(member, release, BOTH, system="c").state == "scored"
    assert bring(member_of(scenario, scenario.lead), release, BOTH, system="d").state == "scored"


LONG = [["alpha", 1.0 + number, 2.5 + number, 1.0] for number in range(12)]


class TestConcerns:
    """Uploads that look as if made to read labels are listed for leads."""

    @pytest.mark.parametrize(
        ("content", "concern"),
        [
            (run_json({10: LONG, 11: LONG[:9]}), None),
            (run_json({10: LONG[:9], 11: LONG[:8]}), "Near-empty: 2 of 2 queries have fewer than 10 predictions."),
            (run_json({10: LONG, 11: LONG}), "Constant: 2 of 2 queries have the very same predictions."),
        ],
    )
    def test_of_one_run(self, release: Release, member: Membership, content: bytes, concern: str | None) -> None:
        assert bring(member, release, content).concerns == ([concern] if concern else [])

    def test_of_runs_that_hardly_differ(self, release: Release, member: Membership, scenario: HandMade) -> None:
        hide(scenario, alike_percent=51)
        bring(member, release, run_json({10: LONG, 11: LONG[1:]}))
        bring(participant(scenario.project), release, run_json({10: LONG, 11: LONG[1:]}))
        other = bring(member, release, run_json({10: LONG, 11: LONG[2:]}), system="b")
        assert other.concerns == [
            "Differs from “ours (the team)” of the same person in only 1 of 2 queries.",
        ]
        hide(scenario, alike_percent=50)
        assert bring(member, release, run_json({10: LONG, 11: LONG[1:-1]}), system="c").concerns == []

    def test_what_lies_below_the_last_cutoff_makes_no_run_another(
        self, release: Release, member: Membership, scenario: HandMade
    ) -> None:
        many = [["alpha", 0.5 * number, 0.5 * number + 1, 1.0] for number in range(41)]
        hide(scenario, alike_percent=5)
        bring(member, release, run_json({10: many, 11: many[::-1]}))
        other = bring(member, release, run_json({10: [*many[:40], *WRONG], 11: [*many[::-1][:40], *WRONG]}), system="b")
        assert "Differs from “ours (the team)” of the same person in only 0 of 2 queries." in other.concerns

    def test_only_leads_and_admins_see_them(self, release: Release, member: Membership, scenario: HandMade) -> None:
        run = bring(member, release, run_json({10: LONG, 11: LONG}))
        chief = member_of(scenario, scenario.lead)
        for name, argument in (("runs", scenario.project.uuid), ("run", run.uuid)):
            address = reverse(f"models_runner:{name}", args=[argument])
            assert ["the very same predictions" in text(person, address) for person in (member, chief)] == [False, True]
        assert "very same" not in str(Client(headers=bearer(member.user)).get(url("run", run)).json())

    def test_a_lead_is_listed_for_nothing(self, release: Release, scenario: HandMade) -> None:
        assert bring(member_of(scenario, scenario.lead), release, run_json({10: LONG, 11: LONG})).concerns == []


def test_hashes_of_queries_are_equal_for_equal_lists_in_any_file() -> None:
    rows = np.array([[0, 1.0, 2.0], [1, 3.0, 4.0]])
    one = RunTable.from_moments({"1": rows, "2": rows[::-1], "3": rows[:1], "4": rows[:0]})
    other = RunTable.from_arrays(
        ["2", "1"], [[0, 1], [1, 0]], [[3, 1], [1, 3]], [[4, 2], [2, 4]], names=dict(enumerate("10"))
    )
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
