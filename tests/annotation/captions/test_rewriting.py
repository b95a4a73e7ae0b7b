"""Rewriting a corpus: what is accepted, what goes to review, and that a stop anywhere loses and doubles nothing."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Project
from annotation.captions.rewriting.lexicon import Member
from annotation.captions.rewriting.provider import Answer, Chat, Item, ProviderUnavailable, Rules
from annotation.captions.selectors import captions_report, captions_serving
from annotation.captions.services import captions as services_captions
from annotation.captions.services import rewriting as service
from annotation.captions.services.rewriting import REWRITINGS, rewriting_run, rewriting_start
from annotation.corpora.services.corpora import cast_import
from annotation.models import Caption, CaptionFailure, CastMember, Description, Prompt, Query, Rewriting
from annotation.queries.services import queries_draw
from core.exceptions import NotPossible
from core.models import AuditEvent, Job
from core.sql import only_one
from tests.annotation.captions.rewriting.chat_server import ChatServer, Reply, chat_server, completion, failure
from tests.conftest import Messages
from tests.factories import CaptionFactory, DescriptionFactory, ProjectFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
State = Caption.State


def describe(project: Project, *texts: str, captions: bool = True) -> list[Description]:
    """Descriptions of the corpus, as an import leaves them: each serves as its own caption."""
    rows = [DescriptionFactory(moment__video__corpus=project.dataset.corpus, text=text) for text in texts]
    for row in rows if captions else []:
        CaptionFactory(description=row, moment=row.moment, text=row.text)
    return rows


def rewrite(project: Project, provider: str = "rules") -> Rewriting:
    rewriting = rewriting_start(corpus=project.dataset.corpus, provider=provider, actor=None, project=project)
    rewriting_run(rewriting_id=rewriting.pk)
    rewriting.refresh_from_db()
    return rewriting


def captions(project: Project) -> list[tuple[str, str]]:
    rows = Caption.objects.filter(description__corpus=project.dataset.corpus).order_by("description")
    return list(rows.values_list("text", "state"))


class TestRules:
    def test_every_description_gets_its_caption(self, project: Project, messages: Messages) -> None:
        corpus = project.dataset.corpus
        describe(project, "Ross waves at Rachel.", "A dog barks.")
        describe(project, "Joey eats a sandwich.", captions=False)
        rewriting = rewriting_start(corpus=corpus, provider="rules", actor=None, project=project)
        assert rewriting_start(corpus=corpus, provider="rules", actor=None, project=project) == rewriting
        with messages():
            REWRITINGS.sweep(timezone.now())  # its message was lost
        assert captions(project) == [
            ("A man waves at a woman.", "accepted"),
            ("A dog barks.", "accepted"),
            ("A man eats a sandwich.", "accepted"),
        ]
        caption = Caption.objects.earliest("description")
        assert (caption.provider, caption.model) == ("rules", Rules().model)
        assert caption.prompt is caption.temperature is None
        assert caption.similarity is not None and caption.similarity >= 0.4
        assert (caption.name_score, caption.name_model) == (0.0, "corpus")
        rewriting.refresh_from_db()
        assert rewriting.finished_at is not None
        assert not REWRITINGS.rows().exists()
        assert Job.objects.get(project=project).state == "done"
        assert AuditEvent.objects.get(action="captions.rewrite").data["descriptions"] == 3
        with pytest.raises(NotPossible, match="has its caption"):
            rewriting_start(corpus=corpus, provider="rules", actor=None, project=project)

    def test_each_flaw_waits_for_a_person_and_nothing_is_lost(self, project: Project) -> None:
        flawed = {
            "  ": "empty",
            "Ross walks. " * 200: "huge",
            "Dr. House": "only_name",
            "Ross <b>walks</b> in.": "markup",
            "Der Hund läuft schnell zurück": "language",
        }
        describe(project, *flawed, "Ross 🙂 walks in.")
        rewrite(project)
        rows = list(Caption.objects.order_by("description").values_list("state", "failed"))
        assert [state for state, _ in rows] == ["in_review"] * 5 + ["accepted"]
        assert [failed[0] for _, failed in rows[:5]] == list(flawed.values())
        assert captions_serving(project.dataset.corpus_id).count() == 1
        report = captions_report(project.dataset.corpus_id)
        assert (report.rewritten, report.left, report.failed, report.waiting) == (6, 0, 5, 5)
        first = {row.check: row.first for row in report.checks}
        assert [first[flaw] for flaw in flawed.values()] == [1] * 5

    def test_another_provider_waits_until_the_first_is_done(
        self, project: Project, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        describe(project, "Ross waves at Rachel.")
        corpus = project.dataset.corpus
        settings.REWRITING_MODEL = settings.REWRITING_API_KEY = ""
        with pytest.raises(NotPossible, match="REWRITING_MODEL"):
            rewriting_start(corpus=corpus, provider="openai", actor=None)
        settings.REWRITING_MODEL = settings.REWRITING_API_KEY = "x"
        rewriting_start(corpus=corpus, provider="rules", actor=None, project=project)
        with pytest.raises(NotPossible, match="by rules, is not finished"):
            rewriting_start(corpus=corpus, provider="openai", actor=None, project=project)
        monkeypatch.setattr(service, "only_one", lambda *lock: nullcontext(False))
        with pytest.raises(CommandError, match="Another process"):
            call_command("rewrite_captions", corpus.name)


def test_commands(capsys: pytest.CaptureFixture[str], project: Project, tmp_path: Path) -> None:
    """A corpus without a project is rewritten too, with a cast of its own, and its words are counted."""
    corpus = project.dataset.corpus
    cast_import(corpus=corpus, members=[Member("Zork", "M"), Member("Zork", "F")], actor=None)
    assert CastMember.objects.get().gender == "F"
    texts = (
        "Zork waves at Rachel from the other side of the street.",
        "Ross and Joey walk along the street in the rain.",
    )
    describe(project, *texts)
    cast = tmp_path / "cast.csv"
    cast.write_text("name,gender\nZork,F\n")
    call_command("import_cast", corpus.name, cast)
    call_command("rewrite_captions", corpus.name)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report["rewritten"], report["accepted"], report["waiting"]) == (2, 2, 0)
    call_command("rewriting_report", corpus=corpus.name)
    output = capsys.readouterr().out
    assert "woman               2" in output and "two                 1" in output
    cast.write_text("name,gender\nZork,Q\n")
    for command in (
        ["import_cast", corpus.name, cast],
        ["rewrite_captions", "none"],
        ["rewrite_captions", corpus.name],
    ):
        with pytest.raises(CommandError):
            call_command(*command)


class Killed(BaseException):
    """Exception that kills a task."""


class Provider:
    """Answers from a dictionary, a few at a time; counts what it was asked."""

    name, model, batch, answers_per_write = "rules", "told", 2, 2

    def __init__(self, answers: dict[str, str | list[str]] | None = None) -> None:
        self.answers, self.requests = answers or {}, []  # type: ignore[var-annotated]

    def temperature(self, *, again: bool) -> float | None:
        return 0.2 if again else 0.0

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> Iterator[Answer]:
        for item in items:
            self.requests.append((item.text, again))
            answer = self.answers.get(item.text, item.text.replace("Ross", "A man"))
            yield Answer(item.key, answer if isinstance(answer, str) else answer[again], tokens_in=10, tokens_out=5)


@pytest.fixture
def use_provider(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Provider]:
    def use(**answers: str | list[str]) -> Provider:
        provider = Provider({key.replace("_", " ").strip() + ".": value for key, value in answers.items()})
        monkeypatch.setattr(service, "provider_of", lambda *args, **values: provider)
        return provider

    return use


class TestChecks:
    def test_failed_twice_then_review(self, project: Project, use_provider: Callable[..., Provider]) -> None:
        provider = use_provider(Ross_waves=["Joey waves.", "Rachel waves."])
        describe(project, "Ross waves.", "Ross walks.")
        rewrite(project)
        caption = Caption.objects.order_by("description").first()
        assert caption is not None
        assert (caption.text, caption.state, caption.failed) == ("Rachel waves.", "in_review", ["name"])
        assert (caption.attempt, caption.temperature, caption.tokens_in) == (2, 0.2, 20)
        tries = CaptionFailure.objects.order_by("attempt").values_list("attempt", "text", "name_found", "temperature")
        assert list(tries) == [(1, "Joey waves.", "Joey", 0.0), (2, "Rachel waves.", "Rachel", 0.2)]
        assert provider.requests == [("Ross waves.", False), ("Ross walks.", False), ("Ross waves.", True)]

    def test_what_passes_the_second_time_still_waits_for_a_person(
        self, project: Project, use_provider: Callable[..., Provider]
    ) -> None:
        use_provider(
            Ross_waves=["Joey waves.", "A man waves."], Ross_sits=["Elephants paint blue houses.", "A man sits."]
        )
        describe(project, "Ross waves.", "Ross sits.")
        rewrite(project)
        assert captions(project) == [("A man waves.", "in_review"), ("A man sits.", "in_review")]
        report = captions_report(project.dataset.corpus_id)
        checks = {row.check: (row.first, row.again, row.waiting) for row in report.checks}
        assert (checks, report.redone) == ({"name": (1, 0, 1), "similarity": (1, 0, 1)}, 2)

    def test_what_waits_is_no_query(
        self, project: Project, use_provider: Callable[..., Provider], settings: Any
    ) -> None:
        use_provider(Ross_waves=["Joey waves.", "A man waves."])
        describe(project, "Ross waves.", "Ross walks.")
        rewrite(project)
        queries_draw(project=project, sizes={"val": 1, "test": 0}, seed=1)
        assert list(Query.objects.values_list("text", flat=True)) == ["A man walks."]
        waiting = Caption.objects.get(state="in_review")
        with pytest.raises(IntegrityError, match="accepted or edited"), transaction.atomic():
            Query.objects.create(project=project, number=99, text="x", split="train", caption=waiting)
        settings.CAPTION_SIMILARITY_MIN, settings.CAPTION_NAME_SCORE_MAX = -1.0, 1.0
        use_provider(Ross_sits="Joey paints elephants.")
        describe(project, "Ross sits.")
        rewrite(project)
        assert captions(project)[-1] == ("Joey paints elephants.", "accepted")


@pytest.mark.parametrize("kill_point", ["asking", "storing", "stored", "measuring", "asking again", "saving", "saved"])
def test_killed_in_the_middle(
    kill_point: str, project: Project, use_provider: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is killed in its second batch, the next run makes every caption once, and none is missing."""
    provider = use_provider(Ross_3=["Monica 3.", "Rachel 3."])
    describe(project, *[f"Ross {n}." for n in range(6)])
    rewriting = rewriting_start(corpus=project.dataset.corpus, provider="rules", actor=None, project=project)
    kill_points = {
        "asking": (provider, "rewrite", 2, False),
        "storing": (service, "_store", 2, False),
        "stored": (service, "_store", 2, True),
        "measuring": (services_captions, "vectors_of", 2, False),
        "asking again": (provider, "rewrite", 3, False),
        "saving": (service, "_save", 2, False),
        "saved": (service, "_save", 2, True),
    }
    kill(monkeypatch, *kill_points[kill_point])
    with pytest.raises(Killed):
        rewriting_run(rewriting_id=rewriting.pk)
    monkeypatch.undo()
    monkeypatch.setattr(service, "provider_of", lambda *args, **values: provider)
    monkeypatch.setattr("annotation.similarity.sentences.encode", encode_hashed)
    before = dict(Caption.objects.filter(state="accepted", provider="rules").values_list("pk", "text"))
    with only_one(service.KIND, project.dataset.corpus_id) as free:
        assert free, "the killed task left its lock"
    rewriting_run(rewriting_id=rewriting.pk)
    assert captions(project) == [
        ("Rachel 3." if n == 3 else f"A man {n}.", "in_review" if n == 3 else "accepted") for n in range(6)
    ]
    assert dict(Caption.objects.filter(pk__in=before).values_list("pk", "text")) == before
    assert CaptionFailure.objects.count() == 2
    first_texts = [text for text, again in provider.requests if not again]
    twice = {text for text in first_texts if first_texts.count(text) > 1}
    assert twice <= ({"Ross 2.", "Ross 3."} if kill_point in ("asking", "storing") else set())
    assert Job.objects.get(project=project).state == "done"


def encode_hashed(texts: Sequence[str], **values: object) -> object:
    from tests.conftest import hashed

    return hashed(texts)


def kill(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, call: int, after: bool) -> None:
    """The ``call``th call of ``owner.name`` kills, before or after what it does."""
    real, calls = getattr(owner, name), []

    def deadly(*args: object, **values: object) -> object:
        calls.append(1)
        if len(calls) == call and not after:
            raise Killed
        result = real(*args, **values)
        if len(calls) == call:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, deadly)


class TestChat:
    """The whole way, with a real HTTP server at its end."""

    @pytest.fixture
    def endpoint(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[ChatServer], None]:
        real = Chat.__init__

        def use(server: ChatServer) -> None:
            settings.REWRITING_BASE_URL, settings.REWRITING_MODEL = server.url, "model-x"
            settings.REWRITING_API_KEY, settings.REWRITING_TRIES = "secret", 2
            settings.REWRITING_CONCURRENCY, settings.REWRITING_PER_MINUTE = 2, 10**9
            settings.REWRITING_USD_PER_MILLION_IN = Decimal("2.5")
            settings.REWRITING_USD_PER_MILLION_OUT = Decimal(10)
            monkeypatch.setattr(
                Chat, "__init__", lambda self, endpoint: real(self, endpoint, wait=lambda seconds: None)
            )

        return use

    def test_every_step(self, project: Project, endpoint: Callable[[ChatServer], None]) -> None:
        """One is right, one keeps a name, one comes empty, one is refused, one needs a second request."""

        def answer(text: str, before: int) -> Reply:
            if text == "Ross 4." and before == 0:
                return failure(429, Retry_After="3")
            caption = {"Ross 1.": "A man and Joey 1.", "Ross 2.": ""}.get(text, text.replace("Ross", "A man"))
            return completion(None, refusal="I cannot.") if text == "Ross 3." else completion(caption)

        describe(project, *[f"Ross {n}." for n in range(5)])
        with chat_server(answer) as server:
            endpoint(server)
            rewrite(project, "openai")
        rows = Caption.objects.order_by("description")
        assert [(row.text, row.state, row.failed) for row in rows] == [
            ("A man 0.", "accepted", []),
            ("A man and Joey 1.", "in_review", ["name"]),
            ("Ross 2.", "in_review", ["no_answer"]),
            ("Ross 3.", "in_review", ["refused"]),
            ("A man 4.", "accepted", []),
        ]
        first, second = rows[0], rows[1]
        assert (first.provider, first.model, first.temperature) == ("openai", "model-x", 0.0)
        assert first.prompt == Prompt.objects.get(version=1)
        assert (first.tokens_in, first.tokens_out, first.cost_usd) == (100, 10, Decimal("0.00035"))
        assert (second.tokens_in, second.temperature) == (200, 0.2)
        report = captions_report(project.dataset.corpus_id)
        assert (report.tokens, report.cost_usd) == (880, Decimal("0.0028"))
        assert {row.check: (row.first, row.again) for row in report.checks} == {
            "similarity": (0, 0),
            "name": (1, 1),
            "no_answer": (1, 1),
            "refused": (1, 1),
        }

    def test_unavailable_endpoint_stops_the_job_and_the_next_goes_on(
        self, project: Project, endpoint: Callable[[ChatServer], None]
    ) -> None:
        describe(project, *[f"Ross {n}." for n in range(10)])
        is_down, answered = True, list[str]()

        def answer(text: str, before: int) -> Reply:
            return failure(503) if is_down and len(answered) >= 8 else note_and_answer(text)

        def note_and_answer(text: str) -> Reply:
            answered.append(text)
            return completion(text.replace("Ross", "A man"))

        with chat_server(answer) as server:
            endpoint(server)
            stopped = rewrite(project, "openai")
            assert "503" in stopped.error
            assert "503" in Job.objects.get(project=project, state="waiting").error
            assert captions_report(project.dataset.corpus_id).left == 2
            is_down = False
            rewrite(project, "openai")
        assert [state for _, state in captions(project)] == ["accepted"] * 10
        assert sorted(answered) == [f"Ross {n}." for n in range(10)]


def test_fault_ends_the_job_and_is_recorded(project: Project, use_provider: Callable[..., Provider]) -> None:
    provider = use_provider()
    provider.rewrite = lambda items, again=False: {}["x"]  # type: ignore[method-assign,misc]
    describe(project, "Ross waves.")
    rewriting = rewrite(project)
    assert (rewriting.error, rewriting.finished_at is not None) == ("KeyError: 'x'", True)
    assert Job.objects.get(project=project).state == "failed"


def test_every_answer_is_saved_before_the_next_is_awaited(
    project: Project, use_provider: Callable[..., Provider]
) -> None:
    """Killed between answers, of the first wording and of the second, it asks for none again."""
    assert Chat.answers_per_write == 1  # each costs money
    provider = use_provider(Ross_0=["Monica 0.", "Monica 0."], Ross_1=["Monica 1.", "Monica 1."])
    provider.batch, provider.answers_per_write = 4, 1
    describe(project, *[f"Ross {n}." for n in range(4)])
    rewriting = rewriting_start(corpus=project.dataset.corpus, provider="rules", actor=None, project=project)
    real, requests = provider.rewrite, provider.requests

    def deadly(items: Sequence[Item], *, again: bool = False) -> Iterator[Answer]:
        for answer in real(items, again=again):
            if len(requests) in (3, 5):
                raise Killed
            yield answer

    provider.rewrite = deadly  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(Killed):
            rewriting_run(rewriting_id=rewriting.pk)
    rewriting_run(rewriting_id=rewriting.pk)
    first, second = ([text for text, again in requests if again == when] for when in (False, True))
    assert sorted(first) == ["Ross 0.", "Ross 1.", "Ross 2.", "Ross 2.", "Ross 3."]
    assert sorted(second) == ["Ross 0.", "Ross 1.", "Ross 1."]
    assert [state for _, state in captions(project)] == ["in_review", "in_review", "accepted", "accepted"]
    failures = CaptionFailure.objects.order_by("caption", "attempt").values_list("attempt", "failed")
    assert list(failures) == [(1, ["name"]), (2, ["name"])] * 2


class TestUnavailableProvider:
    @pytest.fixture
    def waits(
        self, project: Project, use_provider: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
    ) -> Rewriting:
        """A rewriting whose provider does not answer."""
        provider = use_provider()
        with monkeypatch.context() as patch:
            patch.setattr(provider, "rewrite", lambda items, again=False: raise_unavailable())
            describe(project, "Ross waves.")
            return rewrite(project)

    def test_it_waits_and_goes_on_by_itself(self, project: Project, waits: Rewriting, messages: Messages) -> None:
        assert (waits.error, waits.finished_at) == ("gone fishing", None)
        assert captions(project) == [("Ross waves.", "accepted")]
        job = Job.objects.get(project=project)
        assert (job.state, job.error, job.title[:27]) == ("waiting", "gone fishing", "Rewriting waits; next try a")
        assert not REWRITINGS.rows().exists()
        Rewriting.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))
        with messages():
            REWRITINGS.sweep(timezone.now())
        waits.refresh_from_db()
        assert (waits.error, waits.finished_at is not None, waits.next_try_at) == ("", True, None)
        assert captions(project) == [("A man waves.", "accepted")]

    def test_each_try_goes_on_with_the_same_job(
        self, project: Project, waits: Rewriting, use_provider: Callable[..., Provider], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        provider = use_provider()
        with monkeypatch.context() as patch:
            patch.setattr(provider, "rewrite", lambda items, again=False: raise_unavailable())
            for _ in range(2):
                rewriting_run(rewriting_id=waits.pk)
        assert Job.objects.get(project=project).error == "gone fishing"
        rewriting_run(rewriting_id=waits.pk)
        job = Job.objects.get(project=project)
        assert (job.state, job.title, job.error) == ("done", "Descriptions rewritten", "")

    def test_job_of_another_project_ends_with_the_rewriting_that_is_replaced(
        self, project: Project, waits: Rewriting
    ) -> None:
        Rewriting.objects.update(provider="openai")
        rewrite(other := ProjectFactory(corpus=project.dataset.corpus))
        assert dict(Job.objects.values_list("project", "state")) == {project.pk: "failed", other.pk: "done"}
        waits.refresh_from_db()
        assert waits.finished_at is not None
        assert captions(project) == [("A man waves.", "accepted")]

    def test_nobody_needs_to_wait_for_it_and_the_job_goes_to_the_one_that_follows(
        self, project: Project, waits: Rewriting
    ) -> None:
        Rewriting.objects.update(provider="openai")
        assert rewrite(project, "rules") != waits
        waits.refresh_from_db()
        assert waits.finished_at is not None
        assert [job.state for job in Job.objects.all()] == ["done"]


def raise_unavailable() -> Iterator[Answer]:
    raise ProviderUnavailable("gone fishing")
