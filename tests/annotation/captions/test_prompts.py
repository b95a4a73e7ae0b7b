"""Prompts: a draft, its trial beside the version in force, and the version that it becomes."""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.models import Project, User
from annotation.captions.selectors import prompt_in_force
from annotation.captions.services.prompts import (
    prompt_draft_discard,
    prompt_draft_save,
    prompt_publish,
    prompt_trial_run,
    prompt_trial_start,
)
from annotation.models import Caption, Prompt, PromptDraft, PromptTrial
from core.exceptions import NotPossible
from core.models import AuditEvent
from tests.annotation.captions.rewriting.chat_server import ChatServer, Reply, chat_server, completion
from tests.annotation.captions.test_rewriting import describe, rewrite
from tests.factories import ProjectFactory, lead

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]
EXAMPLES = [["Ross waves.", "A man waves."], ["Joey and Ross wave.", "Two men wave."]]


@pytest.fixture
def person(project: Project) -> User:
    return lead(project)


@pytest.fixture
def server(settings: Any) -> Iterator[ChatServer]:
    """Answers with a man for Ross under a prompt that is not packaged, else with what it was asked."""
    packaged = Prompt.objects.get(version=1).text

    def answer(text: str, before: int) -> Reply:
        prompt = server.requests[-1]["messages"][0]["content"]
        return completion(text if prompt == packaged else text.replace("Ross", "A man"))

    with chat_server(answer) as server:
        settings.REWRITING_BASE_URL, settings.REWRITING_MODEL = server.url, "model-x"
        settings.REWRITING_API_KEY, settings.REWRITING_CONCURRENCY = "secret", 1
        settings.REWRITING_PER_MINUTE = 10**9
        settings.REWRITING_USD_PER_MILLION_IN, settings.REWRITING_USD_PER_MILLION_OUT = Decimal("2.5"), Decimal(10)
        yield server


def save(project: Project, text: str = "Say a man for Ross.", **values: Any) -> PromptDraft:
    return prompt_draft_save(project=project, actor=None, text=text, **values)


def publish(project: Project, text: str = "Say a man for Ross.", **values: Any) -> Prompt:
    save(project, text, **values)
    return prompt_publish(project=project, actor=None)


def tried(project: Project, person: User, **values: Any) -> PromptTrial:
    trial = prompt_trial_start(project=project, actor=person, wake=False, **values)
    prompt_trial_run(trial_id=trial.pk)
    trial.refresh_from_db()
    return trial


def test_a_draft_becomes_the_next_version_of_its_corpus(project: Project, person: User) -> None:
    other, packaged = ProjectFactory(), prompt_in_force(project.dataset.corpus_id)
    assert packaged.version == 1
    save(project, "First words.")
    save(project, "  Say a man for Ross. ", examples=EXAMPLES, seed=7)
    prompt = prompt_publish(project=project, actor=person)
    assert (prompt.version, prompt.text, prompt.examples, prompt.seed, prompt.created_by) == (
        *(2, "Say a man for Ross.", EXAMPLES, 7),
        person,
    )
    assert prompt_in_force(project.dataset.corpus_id) == prompt
    assert prompt_in_force(other.dataset.corpus_id) == packaged
    assert publish(other, "Other words.").version == 2  # each corpus goes on from the packaged one
    assert not PromptDraft.objects.exists()
    event = AuditEvent.objects.get(action="prompt.publish", project=project)
    assert (event.actor, event.data["version"]) == (person, 2)


def test_what_cannot_be_saved_or_published(project: Project) -> None:
    with pytest.raises(NotPossible, match="no draft"):
        prompt_publish(project=project, actor=None)
    with pytest.raises(NotPossible, match="between 1 and"):
        save(project, " ")
    with pytest.raises(NotPossible, match="Example 2 needs"):
        save(project, examples=[("Ross waves.", "A man waves."), ("Ross waves.", " ")])
    with pytest.raises(NotPossible, match="cannot be stored"):
        save(project, examples=[("Ross\0 waves.", "A man waves.")])
    with pytest.raises(NotPossible, match="A seed is"):
        save(project, seed=-1)
    with pytest.raises(NotPossible, match="at most 20 examples"):
        save(project, examples=[("Ross waves.", "A man waves.")] * 21)
    save(project, Prompt.objects.get(version=1).text)
    with pytest.raises(NotPossible, match="says what version 1 says"):
        prompt_publish(project=project, actor=None)
    save(project, "Late words.")
    Prompt.objects.create(corpus=project.dataset.corpus, version=2, text="Somebody was faster.")
    with pytest.raises(NotPossible, match="Version 2 was published since"):
        prompt_publish(project=project, actor=None)
    assert prompt_draft_discard(project=project) and not prompt_draft_discard(project=project)


def test_examples_and_seed_are_sent_and_the_caption_keeps_its_version(project: Project, server: ChatServer) -> None:
    describe(project, "Ross sings.")
    prompt = publish(project, examples=EXAMPLES, seed=7)
    rewriting = rewrite(project, "openai")
    (request,) = server.requests
    turns = [(turn["role"], turn["content"]) for turn in request["messages"]]
    assert turns == [
        ("system", "Say a man for Ross."),
        *(("user", "Ross waves."), ("assistant", "A man waves.")),
        *(("user", "Joey and Ross wave."), ("assistant", "Two men wave.")),
        ("user", "Ross sings."),
    ]
    assert request["seed"] == 7
    caption = Caption.objects.get()
    assert (caption.text, caption.prompt, rewriting.prompt) == ("A man sings.", prompt, prompt)


def test_a_trial_sets_both_prompts_side_by_side_and_changes_no_caption(
    project: Project, person: User, server: ChatServer
) -> None:
    describe(project, *[f"Ross sings {n}." for n in range(12)])
    save(project)
    trial = tried(project, person)
    assert (len(trial.rows), len(server.requests), trial.error, trial.model) == (10, 20, "", "model-x")
    row = trial.rows[0]
    first, second = row["sides"]
    assert first["text"] == row["description"] and first["failed"] == ["names a person"] and first["name"] == "Ross"
    assert second["text"] == row["description"].replace("Ross", "A man") and second["failed"] == []
    assert second["similarity"] is not None
    assert trial.totals == [
        {"failed": 10, "tokens": 1100, "cost_usd": pytest.approx(0.0035)},
        {"failed": 0, "tokens": 1100, "cost_usd": pytest.approx(0.0035)},
    ]
    assert set(Caption.objects.values_list("provider", "tokens_in")) == {("as-described", 0)}
    assert Prompt.objects.count() == 1

    assert tried(project, person).description_ids == trial.description_ids  # so that drafts compare
    assert tried(project, person, other_descriptions=True).description_ids != trial.description_ids


def test_a_trial_that_cannot_begin_or_end_says_why(
    project: Project, person: User, server: ChatServer, settings: Any
) -> None:
    def refused(words: str) -> None:
        with pytest.raises(NotPossible, match=words):
            prompt_trial_start(project=project, actor=person)

    refused("no draft")
    save(project)
    refused("no descriptions")
    describe(project, "Ross sings.")
    prompt_trial_start(project=project, actor=person, wake=False)
    refused("is at work")
    PromptTrial.objects.all().delete()
    server.answer = lambda text, before: (503, {}, b"{}")
    assert "503" in tried(project, person).error
    settings.REWRITING_API_KEY = ""
    refused("REWRITING_API_KEY")


class TestPage:
    @pytest.fixture
    def page(self, project: Project, person: User, client: Client) -> Callable[..., str]:
        client.force_login(person)

        def page(name: str = "prompts", **form: Any) -> str:
            url = reverse(f"annotation:{name}", args=[project.uuid])
            return (client.get(url) if name == "prompts" else client.post(url, form, follow=True)).text

        return page

    def test_from_the_first_words_to_the_version(
        self, project: Project, server: ChatServer, page: Callable[..., str]
    ) -> None:
        describe(project, "Ross sings.")
        assert "It begins as version 1." in page()
        examples = {"description": ["Ross waves.", ""], "caption": ["A man.", ""]}
        form = {"text": "Say a man for Ross.", "seed": "7", **examples}
        assert "The draft is saved." in page("prompt-save", **form)
        assert PromptDraft.objects.get().examples == [["Ross waves.", "A man."]]
        assert "rewrites 1 description with both prompts" in page("prompt-save", **form, then="try")
        prompt_trial_run(trial_id=PromptTrial.objects.get().pk)
        html = page()
        assert "A man sings." in html
        assert "1 failed a check · 110 tokens" in html and "0 failed a check · 110 tokens" in html
        assert "The draft has changed since." not in html
        assert "The draft has changed since." in page("prompt-save", **{**form, "text": "Other words."})
        assert "Version 2 is in force" in page("prompt-save", **form, then="publish")
        assert "Ross waves." in page()  # the version's example
        rewrite(project, "openai")
        assert "1 caption<" in page()

    def test_who_has_not_seen_the_last_version_publishes_nothing(
        self, project: Project, page: Callable[..., str]
    ) -> None:
        (state,) = re.findall(r'name="looked_at" value="([^"]+)"', page())
        publish(project, "A colleague was faster.")
        assert "meanwhile" in page("prompt-save", text="Mine.", looked_at=state, then="publish")
        assert prompt_in_force(project.dataset.corpus_id).text == "A colleague was faster."
        (state,) = re.findall(r'name="looked_at" value="([^"]+)"', page())
        assert "Version 3 is in force" in page("prompt-save", text="Mine.", looked_at=state, then="publish")

    def test_what_is_refused_stays_in_the_form(self, project: Project, page: Callable[..., str]) -> None:
        refused = page("prompt-save", text="Words", seed="-1", description=["Ross waves."], caption=[""])
        assert "greater than or equal to 0" in refused and "Ross waves." in refused
        refused = page("prompt-save", text="Words", description=["Ross waves."], caption=[""])
        assert "Example 1 needs" in refused and ">Words</textarea>" in refused.replace("\n", "")
        assert "Enter the prompt." in page("prompt-save", text="")
        assert not PromptDraft.objects.exists()
        page("prompt-save", text="Words")
        assert "The draft is discarded." in page("prompt-discard")


def test_the_command(
    project: Project, person: User, server: ChatServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> Any:
        call_command("rewriting_prompt", project.name, *words, *(["--as", person.username] if words else []))
        return json.loads(capsys.readouterr().out)

    describe(project, "Ross sings.")
    (tmp_path / "prompt.txt").write_text("Say a man for Ross.")
    (tmp_path / "examples.json").write_text(json.dumps(EXAMPLES))
    assert run()["version"] == 1
    draft = run("draft", "--text", f"{tmp_path}/prompt.txt", "--examples", f"{tmp_path}/examples.json", "--seed", "7")
    assert draft["draft"] == {"text": "Say a man for Ross.", "examples": EXAMPLES, "seed": 7}
    assert run("try")["rows"][0]["sides"][1]["text"] == "A man sings."
    assert run("publish") == {"version": 2}
    assert run("discard") == {"discarded": False}
    (tmp_path / "examples.json").write_text('{"a": 1}')
    with pytest.raises(CommandError, match="no JSON list of pairs"):
        run("draft", "--text", f"{tmp_path}/prompt.txt", "--examples", f"{tmp_path}/examples.json")
    with pytest.raises(CommandError, match="--text FILE"):
        run("draft")
    with pytest.raises(CommandError, match="Say with --as"):
        call_command("rewriting_prompt", project.name, "publish")
