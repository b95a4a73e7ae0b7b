"""The chat provider against a real HTTP server: what it asks, and what it does when that goes wrong."""

import threading
from collections.abc import Callable

import pytest

from annotation.captions.rewriting.provider import (
    Answer,
    Chat,
    Endpoint,
    Item,
    Pace,
    ProviderUnavailable,
    ProviderUnusable,
)
from tests.annotation.captions.rewriting.chat_server import ChatServer, Reply, chat_server, completion, failure

ITEM = Item(7, "Ross waves.")


class Waits(list[float]):
    """Waiting that takes no time, and a clock that it moves."""

    now = 0.0

    def __call__(self, seconds: float) -> None:
        if seconds == 0 or seconds > 1e-6:  # less is the pace of a thousand million a minute
            self.append(round(seconds, 3))
        self.now += seconds

    def clock(self) -> float:
        return self.now


def ask(
    answer: Callable[[str, int], Reply], *items: Item, again: bool = False, **values: object
) -> tuple[list[Answer], Waits, ChatServer]:
    waits = Waits()
    with chat_server(answer) as server:
        settings = {"per_minute": 10**9, "concurrency": 1, "timeout_s": 5.0, "tries": 3, **values}
        endpoint = Endpoint(server.url, "model-x", "secret", "Replace names.", **settings)  # type: ignore[arg-type]
        answers = list(Chat(endpoint, clock=waits.clock, wait=waits).rewrite(items or [ITEM], again=again))
    return sorted(answers, key=lambda answer: answer.key), waits, server


def test_success() -> None:
    answers, waits, server = ask(lambda text, before: completion('"A man  waves."'))
    assert answers == [Answer(7, "A man waves.", tokens_in=100, tokens_out=10)]
    (request,) = server.requests
    assert (request["model"], request["temperature"], request["key"]) == ("model-x", 0.0, "Bearer secret")
    assert request["messages"] == [
        {"role": "system", "content": "Replace names."},
        {"role": "user", "content": "Ross waves."},
    ]
    assert waits == []
    assert ask(lambda text, before: completion("A man."), again=True)[2].requests[0]["temperature"] == 0.2


@pytest.mark.parametrize(
    ("replies", "delays"),
    [
        ([failure(429, Retry_After="7"), failure(429)], [7.0, 2.0]),  # as it asked; then its own, doubled
        ([failure(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), failure(503, Retry_After="86400")], [120.0]),
    ],
)
def test_busy_endpoint_says_how_long_to_wait(replies: list[Reply], delays: list[float]) -> None:
    answers, waits, _ = ask(lambda text, before: [*replies, completion("A man waves.")][before])
    assert (answers[0].text, waits) == ("A man waves.", delays)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "fault",
    [
        *(failure(500), (0, {}, b""), (200, {"Content-Type": "text/html"}, b"<p>Welcome</p>")),
        *((200, JSON, b'{"choices": [{"mess'), (200, JSON, b'{"choices": []}'), (200, JSON, b"[]")),
        completion([{"type": "text", "text": "A man waves."}]),
        (200, JSON, b'{"choices": [{"message": "A man waves."}]}'),
        (200, JSON, b'{"choices": {"message": "A man waves."}}'),
    ],
)
def test_fault_then_success(fault: Reply) -> None:
    answers, waits, server = ask(lambda text, before: fault if before == 0 else completion("A man waves."))
    assert (answers[0].text, answers[0].problem) == ("A man waves.", "")
    assert (waits, len(server.requests)) == ([1.0], 2)


def test_time_out_then_success() -> None:
    asleep = threading.Event()

    def answer(text: str, before: int) -> Reply:
        if before == 0:
            asleep.wait(60)
        return completion("A man waves.")

    answers, waits, server = ask(answer, timeout_s=1.0)
    asleep.set()
    assert (answers[0].text, waits, len(server.requests)) == ("A man waves.", [1.0], 2)


def test_one_of_many_that_never_comes_fails_alone() -> None:
    answers, _, server = ask(
        lambda text, before: failure(500, "broken") if text == "b" else completion("A man."),
        *[Item(key, text) for key, text in enumerate("abc")],
        concurrency=3,
    )
    assert [(answer.key, answer.problem) for answer in answers] == [(0, ""), (1, "no_answer"), (2, "")]
    assert "broken" in answers[1].detail
    assert server.texts().count("b") == 3


@pytest.mark.parametrize(
    ("status", "message"),
    [
        *((401, "wrong key"), (403, "wrong key"), (404, "wrong key"), (400, "Incorrect API key provided")),
        *((400, "The model `x` does not exist"), (400, "invalid model")),
    ],
)
def test_wrong_settings_stop_at_once(status: int, message: str) -> None:
    with pytest.raises(ProviderUnusable, match=str(status)):
        ask(lambda text, before: failure(status, message))


@pytest.mark.parametrize(
    ("reply", "problem", "words"),
    [
        *((completion(text), "no_answer", "") for text in ("", "   ", None)),
        (completion(None, refusal="I cannot."), "refused", ""),
        (completion("", finish="content_filter"), "refused", ""),
        (failure(400, "content policy"), "refused", ""),
        (completion("A \0 man."), "no_answer", "cannot be stored"),
        (completion("A \ud800 man."), "no_answer", "cannot be stored"),
        (completion("A man wa", finish="length"), "no_answer", "cut off"),
        (completion("A man. " * 300), "no_answer", "2,099 characters"),
        (failure(400, "This model's maximum context length is 8192 tokens"), "no_answer", "maximum context length"),
        (failure(413, "too much \0"), "no_answer", "too much \ufffd"),
    ],
)
def test_answer_that_is_none_is_the_items_fault(reply: Reply, problem: str, words: str) -> None:
    (answer,), waits, server = ask(lambda text, before: reply)
    assert (answer.text, answer.problem, waits, len(server.requests)) == ("", problem, [], 1)
    assert words in answer.detail
    assert answer.tokens_in == (100 if reply[0] == 200 else 0)


def test_usage_of_any_kind_is_counted_as_it_can_be() -> None:
    status, headers, body = completion("A man waves.")
    reply = status, headers, body.replace(b'"prompt_tokens": 100', b'"prompt_tokens": "many"')
    (answer,), _, _ = ask(lambda text, before: reply)
    assert (answer.text, answer.tokens_in, answer.tokens_out) == ("A man waves.", 0, 10)


def test_answers_before_an_outage_come_before_its_error() -> None:
    got = []
    with chat_server(lambda text, before: completion("A man.") if text == "a" else failure(503)) as server:
        chat = Chat(Endpoint(server.url, "x", "secret", "x", 1, 10**9, 5.0, 1))
        with pytest.raises(ProviderUnavailable, match="503"):
            got.extend(chat.rewrite([Item(1, "a"), Item(2, "b")]))
    assert [answer.key for answer in got] == [1]
    with pytest.raises(ProviderUnavailable, match="503"):
        ask(lambda text, before: failure(503), Item(1, "a"), Item(2, "b"))


def test_busy_endpoint_is_left_alone_by_all() -> None:
    waits = Waits()
    pace = Pace(60, clock=waits.clock, wait=waits)
    pace.turn()
    pace.hold(7)
    pace.turn()
    pace.turn()
    assert waits == [7.0, 1.0]
    _, waits, _ = ask(lambda text, before: completion("A man."), *[Item(n, str(n)) for n in range(4)], per_minute=30)
    assert waits == [2.0, 2.0, 2.0]
    with pytest.raises(ProviderUnusable, match="REWRITING_API_KEY"):
        Chat(Endpoint("", "", "", "x"))
