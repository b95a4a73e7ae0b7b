"""Drawing queries from captions."""

import json
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Project
from annotation.models import NamedQuerySet, Query, Rewriting
from annotation.queries import services
from annotation.queries.rules import size_of
from annotation.queries.selectors import draft_of, last_draw, source_of
from annotation.queries.services import queries_draw, query_set_create
from core.exceptions import NotPossible
from tests.factories import (
    BatchFactory,
    CandidateFactory,
    CaptionFactory,
    KnownPairFactory,
    MomentFactory,
    ProjectFactory,
    VideoFactory,
    lead,
)

pytestmark = pytest.mark.django_db
SIZES = {"val": 3, "test": 4}
Use = Callable[[Query], object]


@pytest.fixture
def project() -> Project:
    """Twelve texts, two of them three times, and captions that are no candidates for queries."""
    project: Project = ProjectFactory()
    video = VideoFactory(corpus=project.dataset.corpus)
    texts = [f"text {n}" for n in range(12)] + ["text 0", "text 0", "text 1", "text 1"]
    for index, text in enumerate(texts):
        moment = MomentFactory(video=video, start_s=index, end_s=index + 1, uncut=True)
        CaptionFactory(moment=moment, text=text, description__source_id=1000 + index)
    for kind in ("subtitle", "both"):
        CaptionFactory(moment=moment, text=f"a {kind}", description__kind=kind, description__source_id=ord(kind[0]))
    CaptionFactory(text="elsewhere")
    return project


def query_rows(project: Project) -> list[tuple[int, str, str]]:
    return list(project.queries.order_by("number").values_list("number", "text", "split"))


def test_sizes_and_texts(project: Project) -> None:
    counts = queries_draw(project=project, sizes=SIZES, seed=5)
    rows = query_rows(project)
    judged = [text for _, text, split in rows if split != "train"]
    train = [text for _, text, split in rows if split == "train"]
    assert len(set(judged)) == len(judged) == 7
    assert not set(judged) & set(train)
    assert counts == {"val": 3, "test": 4, "train": len(train), "removed": 16 - len(rows), "waiting": 0}
    assert set(judged + train) == {f"text {n}" for n in range(12)}
    for query in project.queries.select_related("caption__description"):
        assert query.caption is not None
        assert (query.number, query.text) == (query.caption.description.source_id, query.caption.text)
    event = project.audit_events.get(action="queries.draw")
    assert (event.data["seed"], event.data["val"], event.data["test"]) == (5, 3, 4)
    assert (event.data["asked_val"], event.data["asked_test"]) == ("3", "4")


def test_the_seed_decides(project: Project) -> None:
    results = []
    for seed in (1, 1, 2):
        queries_draw(project=project, sizes=SIZES, seed=seed)
        results.append(query_rows(project))
        project.queries.all().delete()
        project.query_sets.all().delete()
    assert results[0] == results[1] != results[2]


def test_refusals(project: Project) -> None:
    with pytest.raises(NotPossible, match="12 different"):
        queries_draw(project=project, sizes={"val": 13}, seed=1)
    assert not project.queries.exists()
    counts = queries_draw(project=project, sizes={"val": size_of("10%"), "test": size_of("50%")}, seed=1)
    assert (counts["val"], counts["test"]) == (1, 6)  # of 12 different texts
    before = query_rows(project)
    for sizes, again, words in ((SIZES, False, "has queries already"), ({"val": 13}, True, "13 are asked for")):
        with pytest.raises(NotPossible, match=words):
            queries_draw(project=project, sizes=sizes, seed=2, again=again)
    assert query_rows(project) == before


def test_captions_that_wait_for_a_person_are_left_out_and_counted(project: Project) -> None:
    for state in ("in_review", "proposed"):
        values = {"description__source_id": 2000 + len(state), "state": state, "failed": ["name"]}
        CaptionFactory(moment__video__corpus=project.dataset.corpus, text=f"is {state}", **values)
    source = source_of(project.dataset.corpus_id)
    assert (source.captions, source.texts, source.waiting, source.unwritten) == (16, 12, 2, 16)
    assert queries_draw(project=project, sizes=SIZES, seed=1)["waiting"] == 2
    assert not project.queries.filter(text__startswith="is ").exists()


def test_nothing_is_drawn_while_descriptions_are_rewritten(project: Project) -> None:
    rewriting = Rewriting.objects.create(corpus=project.dataset.corpus, provider="rules", model="1")
    with pytest.raises(NotPossible, match="being rewritten"):
        queries_draw(project=project, sizes=SIZES, seed=1)
    rewriting.delete()
    queries_draw(project=project, sizes=SIZES, seed=1)


def test_the_draft_is_what_is_drawn_and_what_was_seen_is_what_comes(project: Project) -> None:
    counts = draft_of(project.dataset.corpus_id, SIZES, 1).counts
    CaptionFactory(moment__video__corpus=project.dataset.corpus, text="came later", description__source_id=2000)
    with pytest.raises(NotPossible, match="changed since you looked"):
        queries_draw(project=project, sizes=SIZES, seed=1, expected_counts=counts)
    assert not project.queries.exists()
    counts = draft_of(project.dataset.corpus_id, SIZES, 1).counts
    assert queries_draw(project=project, sizes=SIZES, seed=1, expected_counts=counts) == counts


class TestAgain:
    def test_old_queries_go_with_the_sets_they_leave_empty(self, project: Project) -> None:
        person = lead(project)
        queries_draw(project=project, sizes=SIZES, seed=1)
        NamedQuerySet.objects.filter(project=project, name="val").update(is_paused=True)
        query_set_create(project=project, name="first", queries=project.queries.filter(split="test"), actor=None)
        before = query_rows(project)
        queries_draw(project=project, sizes={"val": 2, "test": 0}, seed=2, actor=person, again=True)
        assert query_rows(project) != before
        assert dict(project.query_sets.values_list("name", "is_paused")) == {"val": True}
        event = last_draw(project)
        assert event is not None
        assert (event.action, event.actor, event.data["seed"]) == ("queries.redraw", person, 2)

    @pytest.mark.parametrize(
        ("use", "words"),
        [
            (lambda query: CandidateFactory(query=query), "candidates of them"),
            (lambda query: BatchFactory(query=query, pairs=0), "batches of them"),
            (lambda query: KnownPairFactory(query=query, project=query.project), "known pairs of them"),
        ],
    )
    def test_queries_that_something_rests_on_stay(self, project: Project, use: Use, words: str) -> None:
        queries_draw(project=project, sizes=SIZES, seed=1)
        use(project.queries.first())
        with pytest.raises(NotPossible, match=f"The queries stay: there are .*{words}"):
            queries_draw(project=project, sizes=SIZES, seed=2, again=True)

    def test_the_database_has_the_last_word(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody ranked the queries after it was looked whether anything rests on them."""
        queries_draw(project=project, sizes=SIZES, seed=1)
        CandidateFactory(query=project.queries.first())
        monkeypatch.setattr(services, "uses_of_queries", lambda project: [])
        before = query_rows(project)
        with pytest.raises(NotPossible, match="somebody has just begun"):
            queries_draw(project=project, sizes=SIZES, seed=2, again=True)
        assert query_rows(project) == before


class TestCommand:
    def draw(self, *words: str) -> dict[str, int]:
        out = StringIO()
        call_command("draw_queries", *words, stdout=out, stderr=StringIO())
        return json.loads(out.getvalue().splitlines()[-1])  # type: ignore[no-any-return]

    def test_a_dry_run_draws_nothing(self, project: Project) -> None:
        words = [project.name, "--val", "3", "--test", "25%", "--seed", "4"]
        counts = self.draw(*words, "--dry-run")
        assert not project.queries.exists()
        assert self.draw(*words) == counts
        assert project.queries.filter(split="test").count() == counts["test"] == 3

    def test_a_dry_run_says_what_would_be_refused(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("draw_queries", project.name, "--val", "0", "--test", "1")
        stderr = capsys.readouterr().err
        assert "No val query" in stderr and "No test query" not in stderr
        words = [project.name, "--val", "1", "--test", "1"]
        with pytest.raises(CommandError, match="already"):
            call_command("draw_queries", *words)
        call_command("draw_queries", *words, "--dry-run")
        assert "This would be refused. The project" in capsys.readouterr().err
        call_command("draw_queries", *words, "--dry-run", "--again")
        assert "refused" not in capsys.readouterr().err
        assert self.draw(*words, "--again")["val"] == 1
        CandidateFactory(query=project.queries.first())
        capsys.readouterr()
        call_command("draw_queries", *words, "--dry-run", "--again")
        assert "This would be refused. The queries stay: there are candidates" in capsys.readouterr().err

    def test_descriptions_with_their_names_are_no_queries_unannounced(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A corpus that nobody rewrites is only said to be so; one rewritten in part needs a word."""
        call_command("draw_queries", project.name, "--val", "1", "--test", "0")
        assert "16 descriptions have not been rewritten" in capsys.readouterr().err
        CaptionFactory(moment__video__corpus=project.dataset.corpus, provider="rules")
        words = [project.name, "--val", "2", "--test", "0", "--again"]
        with pytest.raises(CommandError, match="16 descriptions .* say --as-described"):
            self.draw(*words)
        assert self.draw(*words, "--dry-run")["val"] == 2
        assert project.queries.filter(split="val").count() == 1
        corpus = project.dataset.corpus.name
        with pytest.raises(CommandError, match="--as-described"):
            call_command("create_project", "other", "--corpus", corpus, "--val", "1", "--test", "0")
        assert self.draw(*words, "--as-described")["val"] == 2

    def test_refusals(self, project: Project) -> None:
        for name, words, message in (
            (project.name, ["--val", "-3"], "is no size"),
            (project.name, ["--val", "60%", "--test", "50%"], "110 %"),
            (project.name, ["--val", "1", "--test", "1", "--seed", "-1"], "seed"),
            ("x", [], "no project named 'x'"),
        ):
            with pytest.raises(CommandError, match=message):
                self.draw(name, *words)
