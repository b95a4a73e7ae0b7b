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


def test_second_try_is_warmer() -> None:
    assert ask(lambda text, before: completion("A man."), again=True)[2].requests[0]["temperature"] == 0.2


def test_busy_endpoint_says_how_long_to_wait() -> None:
    replies = [failure(429, Retry_After="7"), failure(429), completion("A man waves.")]
    answers, waits, _ = ask(lambda text, before: replies[before])
    assert answers[0].text == "A man waves."
    assert waits == [7.0, 2.0]  # as it asked; then its own, doubled


def test_retry_after_may_be_a_date_and_is_never_endless() -> None:
    replies = [failure(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), failure(503, Retry_After="86400")]
    _, waits, _ = ask(lambda text, before: [*replies, completion("A man.")][before])
    assert waits == [120.0]


@pytest.mark.parametrize(
    "fault",
    [
        failure(500),
        (0, {}, b""),
        (200, {"Content-Type": "application/json"}, b'{"choices": [{"mess'),
        (200, {"Content-Type": "application/json"}, b'{"choices": []}'),
        (200, {"Content-Type": "application/json"}, b"[]"),
        (200, {"Content-Type": "text/html"}, b"<p>Welcome</p>"),
        completion([{"type": "text", "text": "A man waves."}]),
        (200, {"Content-Type": "application/json"}, b'{"choices": [{"message": "A man waves."}]}'),
        (200, {"Content-Type": "application/json"}, b'{"choices": {"message": "A man waves."}}'),
    ],
    ids=["500", "hang-up", "half a JSON", "no choices", "a list", "a web page", "parts", "a word", "no list"],
)
def test_fault_then_success(fault: Reply) -> None:
    answers, waits, server = ask(lambda text, before: fault if before == 0 else completion("A man waves."))
    assert (answers[0].text, answers[0].problem) == ("A man waves.", "")
    assert waits == [1.0]
    assert len(server.requests) == 2


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


def test_endpoint_that_answers_nobody_is_unavailable() -> None:
    with pytest.raises(ProviderUnavailable, match="503"):
        ask(lambda text, before: failure(503), Item(1, "a"), Item(2, "b"))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_wrong_settings_stop_at_once(status: int) -> None:
    with pytest.raises(ProviderUnusable, match=str(status)):
        ask(lambda text, before: failure(status, "wrong key"))


@pytest.mark.parametrize("text", ["", "   ", None])
def test_empty_answer(text: str | None) -> None:
    (answer,), _, _ = ask(lambda request_text, before: completion(text))
    assert (answer.text, answer.problem, answer.tokens_in) == ("", "no_answer", 100)


@pytest.mark.parametrize(
    "reply",
    [completion(None, refusal="I cannot."), completion("", finish="content_filter"), failure(400, "content policy")],
)
def test_refusal(reply: Reply) -> None:
    (answer,), waits, _ = ask(lambda request_text, before: reply)
    assert (answer.text, answer.problem, waits) == ("", "refused", [])


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (completion("A \0 man."), "cannot be stored"),
        (completion("A \ud800 man."), "cannot be stored"),
        (completion("A man wa", finish="length"), "cut off"),
        (completion("A man. " * 300), "2,099 characters"),
        (failure(400, "This model's maximum context length is 8192 tokens"), "maximum context length"),
        (failure(413, "too much \0"), "too much \ufffd"),
    ],
    ids=["null byte", "half a character", "cut off", "a novel", "too long a request", "too large a request"],
)
def test_answer_that_is_none_is_the_items_fault(reply: Reply, words: str) -> None:
    (answer,), waits, server = ask(lambda text, before: reply)
    assert (answer.text, answer.problem, waits, len(server.requests)) == ("", "no_answer", [], 1)
    assert words in answer.detail


def test_usage_of_any_kind_is_counted_as_it_can_be() -> None:
    status, headers, body = completion("A man waves.")
    reply = status, headers, body.replace(b'"prompt_tokens": 100', b'"prompt_tokens": "many"')
    (answer,), _, _ = ask(lambda text, before: reply)
    assert (answer.text, answer.tokens_in, answer.tokens_out) == ("A man waves.", 0, 10)


@pytest.mark.parametrize("message", ["Incorrect API key provided", "The model `x` does not exist", "invalid model"])
def test_refused_for_the_settings_stops_at_once(message: str) -> None:
    with pytest.raises(ProviderUnusable, match="400"):
        ask(lambda text, before: failure(400, message))


def test_description_without_an_answer_is_at_fault_while_another_gets_one() -> None:
    (answer,), _, server = ask(lambda text, before: failure(500) if text == ITEM.text else completion("A man."))
    assert (answer.problem, server.texts().count(ITEM.text)) == ("no_answer", 3)


def test_answers_before_an_outage_come_before_its_error() -> None:
    got = []
    with chat_server(lambda text, before: completion("A man.") if text == "a" else failure(503)) as server:
        chat = Chat(Endpoint(server.url, "x", "secret", "x", 1, 10**9, 5.0, 1))
        with pytest.raises(ProviderUnavailable, match="503"):
            got.extend(chat.rewrite([Item(1, "a"), Item(2, "b")]))
    assert [answer.key for answer in got] == [1]


def test_busy_endpoint_is_left_alone_by_all() -> None:
    waits = Waits()
    pace = Pace(60, clock=waits.clock, wait=waits)
    pace.turn()
    pace.hold(7)
    pace.turn()
    pace.turn()
    assert waits == [7.0, 1.0]


def test_pace() -> None:
    _, waits, _ = ask(lambda text, before: completion("A man."), *[Item(n, str(n)) for n in range(4)], per_minute=30)
    assert waits == [2.0, 2.0, 2.0]


def test_missing_settings_are_named() -> None:
    with pytest.raises(ProviderUnusable, match="REWRITING_API_KEY"):
        Chat(Endpoint("", "", "", "x"))
