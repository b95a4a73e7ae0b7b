"""The demo as `make run` leaves it: one of everything, and answers for the person who tries it."""

import json
import re
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.test import Client, TestCase
from django.urls import resolve, reverse
from django.utils.html import strip_tags
from numpy.typing import NDArray

from accounts.models import Project, User
from annotation.models import Pooling, Video
from annotation.previews import services
from core.models import Job
from judging.demo.collection import LOGINS
from judging.demo.services import JOB, YES_OR_NO_NAME, demo_advance, demo_render
from judging.demo.simulation import truth_for, visitors_answer
from judging.figures.views import BY_NAME
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from judging.review.selectors import review_queue
from judging.work import rules
from judging.work.selectors.flags import flags_waiting
from judging.work.services.assignments import assignment_take
from models_runner.demo.services import demo_results_add
from models_runner.demo.shipped import FOLDER
from models_runner.experiments.files import folder_of
from models_runner.experiments.forms import ExperimentForm
from models_runner.models import EconomyStudy, Experiment, FeatureSet, Run, Scoring, Training
from models_runner.search.selectors import searchable
from moment_retrieval.features import open_features
from moment_retrieval.searchers import CorpusSearcher
from tests.conftest import Messages
from tests.factories import NOW, MembershipFactory
from tests.judging import demo_site
from tests.judging.demo_site import SEED, everything, fake_cut, pages_of
from tests.judging.play import finish, give, ungraded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder", "one_clip")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> FileSystemStorage:
    return FileSystemStorage(tmp_path_factory.mktemp("ready"))


@pytest.fixture(scope="module")
def ready_once(module_database: None, long_clip: Path, files: FileSystemStorage) -> Project:
    with pytest.MonkeyPatch.context() as patch:
        return demo_site.ready(patch, long_clip, files)


@pytest.fixture
def ready(ready_once: Project, files: FileSystemStorage, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The demo as `make run` leaves it: every message was delivered."""
    monkeypatch.setattr(services, "cut_previews", fake_cut)
    monkeypatch.setattr(Video._meta.get_field("file"), "storage", files)
    monkeypatch.setattr(settings, "EXPERIMENTS_ROOT", files.base_location)
    assert Job.objects.get(project=ready_once, kind=JOB).state == "done"
    return deepcopy(ready_once)


class TestReady:
    def test_one_of_everything(self, ready: Project) -> None:
        self.states(ready)
        self.grades(ready)
        self.releases(ready)
        self.yes_or_no(ready)
        examples = ready.guidelines.latest("version").examples.all()
        assert len(examples) >= 3
        assert len({example.query_text for example in examples}) == 1

    def states(self, ready: Project) -> None:
        """Finished, waiting for the lead, escalated, begun, and nothing that only time could end."""
        batches = Batch.objects.filter(project=ready, number=1)
        assert Counter(BatchReview.objects.values_list("decision", flat=True)) == {"close": 5, "extend": 1}
        assert review_queue(ready).count() == 3
        assert review_queue(ready).filter(assignments__annotator__username="simulated-contrary").count() == 1
        begun = batches.filter(state="open", round=1, assignments__isnull=False).distinct()
        assert begun.exists()
        assert all(batch.assignments.count() == 1 for batch in begun)
        assert batches.filter(state="open", round=2).exists()
        assert Pair.objects.filter(state="escalated").exists()
        assert not Assignment.objects.filter(state="open").exists()

    def grades(self, ready: Project) -> None:
        """Simulated annotators know the truth but not exactly; what they agreed on is near it."""
        assert set(Judgment.objects.values_list("source", flat=True)) == {"simulated"}
        pairs = Pair.objects.select_related("batch__query__caption__moment__video", "candidate__moment__video")
        off = []
        for pair in pairs.filter(state__in=["settled", "dropped"]).prefetch_related("judgments"):
            outcome = rules.settle([judgment.grade for judgment in pair.judgments.all()], rules.rules_of(pair.batch))
            assert (pair.state, pair.relevance) == outcome
            if pair.relevance is not None and pair.batch.project_id == ready.pk:
                off.append(abs(pair.relevance - truth_for(pair.batch.query, pair.candidate.moment)))
        assert len(off) > 50
        assert 0 < sum(off) / len(off) < 1

    def yes_or_no(self, ready: Project) -> None:
        """Of three queries one waits for a lead, one lacks its third judge, and one is for visitors."""
        second = Project.objects.exclude(pk=ready.pk).get()
        assert (second.name, second.dataset.corpus_id) == (YES_OR_NO_NAME, ready.dataset.corpus_id)
        assert rules.rules_of(second) == rules.Rules(top_grade=1, judges=3, max_spread=0, max_rounds=2)
        batches = Batch.objects.filter(project=second).order_by("query__number")
        assert [(batch.state, batch.free_slots, batch.pairs.count()) for batch in batches] == [
            *(("done", 0, 10), ("open", 1, 10), ("open", 3, 10)),
        ]
        assert review_queue(second).get() == batches[0]

    def releases(self, ready: Project) -> None:
        """Of the second the first says what changed: a query more, and a caption that was corrected."""
        releases = list(Release.objects.filter(project=ready).order_by("version"))
        assert [release.state for release in releases] == ["ready", "ready"]
        counts = [release.manifest["counts"] for release in releases]
        assert all(count["simulated_judgments"] == count["judgments"] > 0 for count in counts)
        assert counts[1]["queries"] == counts[0]["queries"] + 1
        assert [count["captions_edited"] for count in counts] == [0, 1]
        assert set(Run.objects.values_list("split", "state")) == {("val", "scored"), ("test", "scored")}

    def test_a_flag_waits_and_another_was_answered(self, ready: Project) -> None:
        assert flags_waiting(ready).count() == 1
        assert Pair.objects.get(state="withdrawn").flags.get().answer.kind == "withdrawn"

    def test_participants_see_scores_of_val_and_why_there_are_none_of_test(self, ready: Project) -> None:
        """The demo shows both pages on purpose: an open split, and one with too few queries."""
        browser = Client()
        browser.force_login(MembershipFactory(project=ready, role="participant").user)
        pages = {
            split: browser.get(reverse("models_runner:runs", args=[ready.uuid]), {"split": split}).content.decode()
            for split in ("val", "test")
        }
        first = browser.get(reverse("models_runner:runs", args=[ready.uuid])).content.decode()
        assert "<option selected>val</option>" in first  # the split of which there is something to see
        assert "Too few queries to show scores" not in pages["val"] and "similarity" in pages["val"]
        assert "Too few queries to show scores" in pages["test"]
        scores = {split: re.findall(r"0\.\d{4}", page) for split, page in pages.items()}
        assert scores["val"] and not scores["test"]

    def test_the_matrix_of_its_grades_has_two_runs(self, ready: Project) -> None:
        truth = ready.ground_truths.get()
        assert (truth.state, truth.measures, truth.is_public) == ("ready", ["semantic", "instance"], True)
        values = [run.scores.get(metric="nDCG").value for run in truth.runs.filter(state="scored")]
        assert len(values) == 2 and all(0 < value <= 1 for value in values)

    def test_a_repeat_changes_nothing_even_after_a_crash(self, ready: Project, messages: Messages) -> None:
        before = everything()
        with messages():
            for video in Video.objects.all():
                demo_render(video_id=video.pk)
            demo_advance()
            visitors_answer(ready)  # nobody came
        assert everything() == before
        Job.objects.update(state="running")  # as if it had ended before its last step
        with messages():
            demo_advance()
        assert Job.objects.get(kind=JOB).state == "done"
        assert everything() == before


@dataclass
class WordsOfFile:
    """Reads the words of one query as its features in a file have them."""

    width: int
    features: NDArray[np.float32]
    name = ""

    def rows(self, text: str) -> NDArray[np.float32]:
        return self.features


class TestResults:
    """Finished benchmark runs as they are shipped; scores are this site's own."""

    def test_systems_of_the_leaderboard(self, ready: Project) -> None:
        newest = Release.objects.latest("version")
        scored = Scoring.objects.filter(release=newest, state="scored", scores__isnull=False).distinct()
        systems = Counter(scored.values_list("run__system", flat=True))
        trained = [f"{name}, N=20, seed 1" for name in ("XML", "ReLoCLNet", "CONQUER")]
        assert systems == dict.fromkeys([*trained, "Merged ranks", "similarity"], 2)
        upload = Run.objects.filter(source="upload").values_list("owner__username", "release__version")
        assert set(upload) == {("participant", newest.version)}

    def test_trainings_have_their_curves_and_runs(self, ready: Project) -> None:
        for training in Training.objects.all():
            assert training.state == "done" and training.curve["losses"] and training.curve["scores"]
            assert training.val_run and training.test_run
            assert training.seconds_per_step is None  # that of another machine would be taken for this one's

    def test_search_finds_what_the_shipped_run_found(self, ready: Project) -> None:
        """The shipped weights, read on the shipped features, answer as the training did."""
        folder = folder_of(searchable(ready).get())
        predictions = json.loads((FOLDER / f"{SEED}-40" / "xml" / "predictions.val.json").read_text())
        with open_features(FeatureSet.objects.get(kind="query").path) as store:
            for entry in predictions:
                words = WordsOfFile(store.width, store.rows(str(entry["query_id"])))
                best = CorpusSearcher.open(folder, words).answer(entry["query"], 1).hits[0]
                assert [best.video, best.start_s, best.end_s] == entry["predictions"][0][:3]

    def test_those_without_weights_say_so_and_are_not_offered(self, ready: Project) -> None:
        browser = Client()
        browser.force_login(User.objects.get(username="lead"))
        bare = Training.objects.filter(has_weights=False).order_by("pk")
        assert {one.experiment.baseline for one in bare} == {"reloclnet", "conquer"}
        search = reverse("models_runner:search", args=[ready.uuid])
        assert all(f">{one.system}</a>" in browser.get(search).content.decode() for one in bare)
        page = browser.get(search, {"q": "a man sits", "training": bare[0].uuid})
        assert page.status_code == 422
        for training in Training.objects.select_related("experiment"):
            page = browser.get(reverse("models_runner:experiment", args=[training.experiment.uuid]))
            assert ("Its weights are not shipped" in page.content.decode()) != training.has_weights
        offered = ExperimentForm(project=ready).fields["candidates"].queryset
        assert set(offered) == set(searchable(ready))

    def test_what_an_earlier_call_did_not_come_to_is_added(self, ready: Project) -> None:
        def counts() -> list[int]:
            return [len(rows) for rows in everything()]

        before, others = counts(), set(Training.objects.exclude(experiment__baseline="conquer").values_list("uuid"))
        EconomyStudy.objects.all().delete()
        Pooling.objects.filter(seed=None).delete()
        FeatureSet.objects.filter(kind="query").delete()  # its file was written
        Training.objects.filter(experiment__baseline="conquer").delete()
        Experiment.objects.filter(baseline="conquer").delete()
        Run.objects.filter(source="upload", split="test").delete()
        with TestCase.captureOnCommitCallbacks(execute=True):
            assert demo_results_add(ready)
        assert counts() == before
        assert others < set(Training.objects.values_list("uuid"))

    def test_a_demo_of_another_size_has_none(self, ready: Project) -> None:
        before, ready.demo_videos = everything(), 6
        for model in (EconomyStudy, Pooling):
            model.objects.filter(**({"seed": None} if model is Pooling else {})).delete()
        before = everything()
        assert demo_results_add(ready)
        assert everything() == before


NO = r"(?:No|Nothing(?! of the query happens here)|Nobody|None)"  # the exception are words of grade 0
EMPTY = re.compile(rf'<article class="empty[^>]*>\s*<h2>(.*?)</h2>|<p[^>]*>\s*({NO}\b.*?)</p>', re.DOTALL)
NONE_BY_SIMILARITY = "No experiment with labels by similarity has finished; {} with Labels: by similarity."
EMPTY_BY_NATURE = {  # route and title: why
    ("annotation:topics", "No topic yet"): "its queries come from captions; a topic would be one that nobody judged",
    ("annotation:captions", "Nothing waits for you"): "the captions of the script pass the checks",
    ("judging:exam", "Nobody has begun"): "the exam for newcomers, whom the visitor invites",
    ("judging:judgment-imports", "Nothing imported yet"): "an import makes a project of its own",
    (
        "judging:own-grades",
        "No finished batch yet",
    ): "its log-in is the visitor's, in whose name nobody grades",
    ("judging:hours", "No hours in this period"): "nor works",
    ("judging:pay", "No hours in this period: annotator 8."): "likewise",
    ("judging:people", "None."): "open invitations: the visitor makes one",
    ("judging:review-queue", "Nothing waits for you"): "hidden while a query waits, and behind the last one",
    ("judging:webhooks", "No webhook yet"): "it would lead to a server of the visitor's",
    **dict.fromkeys(
        (("models_runner:tables", NONE_BY_SIMILARITY.format(verb)) for verb in ("order one", "an admin orders one")),
        "the runs that are shipped learn from judgments",
    ),
    ("models_runner:search", "What are you looking for?"): "nothing is typed yet",
}


@pytest.mark.parametrize("username", LOGINS)
def test_no_page_is_empty(ready: Project, username: str) -> None:
    kinds, figures, empty = set(), set(), set()
    for route, address, page in pages_of(username):
        kinds.add(route)
        if route == "judging:figure":
            figures.add(resolve(address).kwargs["name"])
        marks = {(route, " ".join(strip_tags(title or words).split())) for title, words in EMPTY.findall(page)}
        empty |= marks - EMPTY_BY_NATURE.keys()
    assert empty == set()
    assert username != "lead" or figures == BY_NAME.keys()
    assert len(kinds) > {"lead": 60, "admin": 50, "annotator": 8, "participant": 6, "writer": 3, "checker": 3}[username]


class TestVisitor:
    def judge_as_person(self, project: Project) -> Batch:
        """The demo's annotator takes what is due, grades the truth and finishes."""
        person = User.objects.get(username="annotator")
        assignment = assignment_take(project=project, annotator=person, now=NOW)
        assert assignment is not None
        for pair in ungraded(assignment):
            give(assignment, pair, truth_for(pair.batch.query, pair.candidate.moment))
        assert finish(assignment)
        return assignment.batch

    def test_escalated_pairs_come_first_and_settle_at_once(self, ready: Project, messages: Messages) -> None:
        with messages():
            batch = self.judge_as_person(ready)
        batch.refresh_from_db()
        assert batch.round == 2
        assert batch.state == "done"
        assert not batch.pairs.filter(state__in=["open", "escalated"]).exists()

    def test_a_begun_batch_is_answered_until_it_settles(self, ready: Project, messages: Messages) -> None:
        Batch.objects.filter(round=2, state="open").update(round=2, state="done", done_at=NOW)  # out of the way
        with messages():
            batch = self.judge_as_person(ready)
        for _ in range(3):
            with messages():
                demo_advance()
        batch.refresh_from_db()
        assert batch.state == "done"
        assert set(batch.pairs.values_list("state", flat=True)) <= {"settled", "dropped", "withdrawn"}
        assert Counter(batch.assignments.filter(round=1).values_list("annotator__is_simulated", flat=True)) == {
            True: 2,  # who began it flagged a pair instead of grading it
            False: 1,
        }
        assert batch in review_queue(ready)
