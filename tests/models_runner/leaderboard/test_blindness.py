"""Responses to a participant do not depend on hidden labels: two sites that differ in nothing else look the same.

Scores of whole runs do depend on them, as they must; so they are shown as they were in the first site.
"""

import re
from dataclasses import replace

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.models import Membership
from models_runner.leaderboard.selectors import shown_scores
from models_runner.leaderboard.services.scorings import truth_table
from models_runner.models import Leaderboard, Score, Truth
from moment_retrieval import serialization
from tests.judging.api.acts import bearer, url
from tests.models_runner.leaderboard.conftest import Board

pytestmark = pytest.mark.django_db
OPEN_NAMES = ("runs", "export", "run-new", "run", "run-download", "compare", "case", "files", "file")
CLOSED_NAMES = ("run-create", "economy", "economy-study", "economy-csv", "settings", "run-withdraw")
EXPERIMENTS = ["experiment", "experiment-delete", "experiments", "experiment-new", "experiment-grid"]
TRAININGS = ["training", "training-cancel", "training-resume", "training-file"]
SEARCHES = [f"settings-search{step}" for step in ("", "-new", "-csv", "-cancel", "-resume", "-delete")]
# Their labels are public where a participant gets in: tests/models_runner/ground_truths
GROUND_TRUTHS = [
    "ground-truths",
    "ground-truth-new",
    *(f"ground-truth{step}" for step in ("", "-csv", "-file", "-delete")),
]
GROUND_TRUTHS += [f"truth-run{step}" for step in ("", "-new", "-download", "-withdraw")]
FOR_STAFF = [*EXPERIMENTS, *TRAININGS, *SEARCHES, "tables", "tables-export", "search", "video"]
FOR_ADMINS = [f"feature-set-{act}" for act in ("create", "register", "model", "cancel", "resume", "delete")]
VARYING = re.compile(r'csrfmiddlewaretoken" value="[^"]+"|x-csrftoken": "[^"]+"|request: <code>\w+')


def pages(board: Board) -> list[str]:
    """Every address of the leaderboard that a participant could think of, for the hidden split."""
    project, split, both = board.hand_made.project, "?split=test", (board.hidden, board.hidden_other)
    runs = f"&one={board.hidden.uuid}&other={board.hidden_other.uuid}"
    case = f"&query=20&run={board.hidden.uuid}&run={board.hidden_other.uuid}"

    def page(name: str, *words: object) -> str:
        return reverse(f"models_runner:{name}", args=words or [project.uuid])

    names = ["test.json", "test_queries.json", "val.json", "pairs.csv", "qrels.txt", "pool.txt", "raw_annotation.csv"]
    return [
        *(page("runs") + split + show for show in ("", "&show=recall", "&convention=released&gain=linear")),
        *(page("export", project.uuid, form) + split for form in ("csv", "json", "tex")),
        *(page("run-new"), page("files"), page("compare") + split + runs, page("case") + split + case),
        *(page("file", board.release.uuid, name) for name in names),
        *(page(name, run.uuid) for name in ("run", "run-download") for run in both),
        reverse("judging:releases", args=[project.uuid]),
        reverse("judging:release-download", args=[board.release.uuid]),
        *(url("leaderboard", project) + split, url("runs", project), *(url("run", run) for run in both)),
    ]


def page_contents(board: Board, member: Membership) -> dict[str, tuple[int, str]]:
    """Status and content of each page; API answers come with a token."""
    browser, program = Client(), Client(headers=bearer(member.user))
    browser.force_login(member.user)
    answers = {}
    for address in pages(board):
        answer = (program if address.startswith("/api/") else browser).get(address)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        answers[address] = (answer.status_code, VARYING.sub("", content.decode("utf-8", "replace")))
    return answers


def labels_changed(board: Board) -> None:
    """Other relevance for every hidden moment; the scores stay."""
    truth = Truth.objects.get(release=board.release, split="test")
    judged = truth_table(release=board.release, split="test")
    changed = serialization.truth_bytes(replace(judged, weights=4 - judged.weights))
    truth.table.save("truth", ContentFile(changed))
    assert truth_table(release=board.release, split="test").weights.tolist() == (4 - judged.weights).tolist()


@pytest.mark.parametrize("least_queries", [1, 50])
def test_answers_do_not_depend_on_hidden_labels(
    board: Board, least_queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Leaderboard.objects.create(project=board.hand_made.project, least_queries=least_queries)
    monkeypatch.setattr(shown_scores, "truth_digest", lambda **values: "the same")  # other labels draw other numbers
    before = page_contents(board, board.one)
    labels_changed(board)
    if least_queries == 50:  # then whole scores are not shown either
        Score.objects.filter(scoring__run__split="test").update(value=0.77, low=0.7, high=0.8, unjudged=0.5)
    after = page_contents(board, board.one)
    assert [address for address in before if before[address] != after[address]] == []


def test_a_lead_would_see_the_change(board: Board) -> None:
    """So the test above can fail."""
    chief = board.hand_made.project.memberships.get(user=board.hand_made.lead)
    before = page_contents(board, chief)
    labels_changed(board)
    after = page_contents(board, chief)
    assert any("/case/" in address for address in before if before[address] != after[address])


def test_no_page_shows_a_hidden_relevance(board: Board) -> None:
    texts = {address: text for address, (status, text) in page_contents(board, board.one).items() if status == 200}
    assert [address for address, text in texts.items() if re.search(r'"relevance"|class="grade|missed', text)] == [
        reverse("models_runner:file", args=[board.release.uuid, "val.json"])
    ]


def test_every_route_is_looked_at() -> None:
    names = {name for name in get_resolver().namespace_dict["models_runner"][1].reverse_dict if isinstance(name, str)}
    assert names == {*OPEN_NAMES, *CLOSED_NAMES, *FOR_STAFF, "features", "features-hub", *FOR_ADMINS, *GROUND_TRUTHS}
