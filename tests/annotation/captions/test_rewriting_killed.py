"""A process that is killed while it rewrites by a chat API: who goes on asks for nothing that is stored."""

import os
import signal
import threading
from multiprocessing import get_context
from zlib import crc32

import pytest
from django.db import connection

from accounts.models import Project
from annotation.captions.services import rewriting as service
from annotation.captions.services.rewriting import rewriting_run
from annotation.models import Caption, Prompt, Rewriting
from tests.annotation.captions.rewriting.chat_server import Reply, chat_server, completion
from tests.conftest import hashed
from tests.factories import DescriptionFactory, ProjectFactory

TEXTS = [f"Ross {n} waves." for n in range(12)]
BEFORE, AT_A_TIME = 6, 2  # answers before the process is killed; requests in flight


def work(rewriting_id: int) -> None:
    """In a process of its own, with a connection of its own."""
    connection.connect()
    rewriting_run(rewriting_id=rewriting_id)


@pytest.mark.django_db(transaction=True)
def test_killed_process_requests_nothing_twice_that_is_saved(settings: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.similarity.sentences.encode", lambda texts, **values: hashed(texts))
    project: Project = ProjectFactory()
    for text in TEXTS:
        DescriptionFactory(moment__video__corpus=project.dataset.corpus, text=text)
    stuck, go = threading.Event(), threading.Event()

    def answer(text: str, before: int) -> Reply:
        if len(server.requests) > BEFORE and not go.is_set():
            if len(server.requests) >= BEFORE + AT_A_TIME:
                stuck.set()
            go.wait(20)
        return completion(text.replace("Ross", "A man"))

    with chat_server(answer) as server:
        settings.REWRITING_BASE_URL, settings.REWRITING_MODEL = server.url, "x"  # type: ignore[attr-defined]
        settings.REWRITING_API_KEY, settings.REWRITING_PER_MINUTE = "secret", 10**9  # type: ignore[attr-defined]
        settings.REWRITING_CONCURRENCY = AT_A_TIME  # type: ignore[attr-defined]
        prompt = Prompt.objects.get(version=1)
        rewriting = Rewriting.objects.create(corpus=project.dataset.corpus, provider="openai", model="x", prompt=prompt)
        connection.close()
        child = get_context("fork").Process(target=work, args=[rewriting.pk], daemon=True)
        child.start()
        assert stuck.wait(20)
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        with connection.cursor() as cursor:  # the server takes a moment to see that its client is gone
            lock_key = [crc32(service.KIND.encode()) - 2**31, project.dataset.corpus_id]
            cursor.execute("SELECT pg_advisory_lock(%s, %s), pg_advisory_unlock(%s, %s)", [*lock_key, *lock_key])
        saved_texts = set(Caption.objects.values_list("description__text", flat=True))
        go.set()
        rewriting_run(rewriting_id=rewriting.pk)
    assert len(saved_texts) == BEFORE
    request_texts = server.texts()
    assert {text for text in TEXTS if request_texts.count(text) > 1}.isdisjoint(saved_texts)
    assert len(request_texts) <= len(TEXTS) + AT_A_TIME
    assert Caption.objects.filter(provider=service.Caption.Provider.OPENAI, state="accepted").count() == len(TEXTS)
