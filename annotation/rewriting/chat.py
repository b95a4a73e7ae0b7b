"""Captions by any OpenAI-compatible chat endpoint; the only import of openai."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import Any

from annotation.rewriting.provider import AGAIN_TEMPERATURE, Answer, Item, ProviderAway, ProviderUnusable

logger = logging.getLogger(__name__)
LONGEST_WAIT_S = 120.0
UNUSABLE = {400, 401, 403, 404, 422}  # asking again gives the same


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, and how gently."""

    base_url: str
    model: str
    key: str
    prompt: str
    concurrency: int = 8
    per_minute: int = 500
    timeout_s: float = 60.0
    tries: int = 5


class Pace:
    """Lets one request through every ``60 / per_minute`` seconds, whichever thread asks."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float], wait: Callable[[float], None]) -> None:
        self._gap, self._clock, self._wait = 60.0 / max(1, per_minute), clock, wait
        self._next, self._lock = 0.0, Lock()

    def turn(self) -> None:
        with self._lock:
            now = self._clock()
            begin = max(now, self._next)
            self._next = begin + self._gap
        if begin > now:
            self._wait(begin - now)


class Chat:
    """Asks for each description alone, several at a time, and again when the endpoint is busy."""

    name = "openai"

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not endpoint.model or not endpoint.key:
            raise ProviderUnusable(
                "Set REWRITING_MODEL and REWRITING_API_KEY (and REWRITING_BASE_URL) to use a chat API."
            )
        self.endpoint, self.model, self.batch = endpoint, endpoint.model, 4 * max(1, endpoint.concurrency)
        self._wait, self._pace = wait, Pace(endpoint.per_minute, clock=clock, wait=wait)
        self._client = _client(endpoint)

    def temperature(self, *, again: bool) -> float | None:
        return AGAIN_TEMPERATURE if again else 0.0

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> list[Answer]:
        """Raises ProviderUnusable; and ProviderAway when the endpoint failed for every item."""
        with ThreadPoolExecutor(max_workers=max(1, self.endpoint.concurrency)) as threads:
            answers = list(threads.map(lambda item: self._ask(item, again=again), items))
        away = [answer for answer in answers if answer.problem == "away"]
        if answers and len(away) == len(answers):
            raise ProviderAway(away[0].detail)
        return [
            Answer(answer.key, problem="no_answer", detail=answer.detail) if answer.problem == "away" else answer
            for answer in answers
        ]

    def _ask(self, item: Item, *, again: bool) -> Answer:
        import openai

        detail = ""
        for attempt in range(max(1, self.endpoint.tries)):
            self._pace.turn()
            try:
                return _answer(item, self._completion(item.text, again=again))
            except openai.APIStatusError as error:
                if error.status_code in UNUSABLE:
                    return self._refusal(item, error)
                detail, wait = f"{error.status_code}: {error.message}", _retry_after(error.response.headers)
            except (openai.APIError, ValueError) as error:  # a time-out, a broken connection, something that is no JSON
                detail, wait = f"{type(error).__name__}: {error}", None
            if attempt + 1 < self.endpoint.tries:
                self._wait(min(LONGEST_WAIT_S, wait if wait is not None else 2.0**attempt))
        logger.warning("no answer for description %s: %s", item.key, detail)
        return Answer(item.key, problem="away", detail=detail[:300])

    def _completion(self, text: str, *, again: bool) -> Any:
        return self._client.chat.completions.create(
            model=self.model,
            temperature=self.temperature(again=again),
            messages=[{"role": "system", "content": self.endpoint.prompt}, {"role": "user", "content": text}],
        )

    def _refusal(self, item: Item, error: Any) -> Answer:
        """A request that is refused for its content is the item's fault, any other the settings'."""
        if error.status_code in {400, 422} and "content" in str(error).lower():
            return Answer(item.key, problem="refused", detail=str(error)[:300])
        raise ProviderUnusable(f"The chat API answers {error.status_code}: {error.message}"[:300]) from error


def _client(endpoint: Endpoint) -> Any:
    import openai

    return openai.OpenAI(
        api_key=endpoint.key, base_url=endpoint.base_url or None, timeout=endpoint.timeout_s, max_retries=0
    )


def _answer(item: Item, completion: Any) -> Answer:
    """Raises ValueError for what is no chat completion."""
    choices = getattr(completion, "choices", None)
    if not choices or getattr(choices[0], "message", None) is None:
        raise ValueError("the answer is no chat completion")
    choice, usage = choices[0], completion.usage
    spent = (usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else (0, 0)
    refusal = getattr(choice.message, "refusal", None) or (choice.finish_reason == "content_filter" and "filtered")
    text = _clean(choice.message.content or "")
    if refusal:
        return Answer(item.key, problem="refused", detail=str(refusal)[:300], tokens_in=spent[0], tokens_out=spent[1])
    problem = "" if text else "no_answer"
    return Answer(item.key, text, problem, "" if text else "an empty answer", *spent)


def _clean(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        return text[1:-1].strip()
    return text


def _retry_after(headers: Any) -> float | None:
    """Seconds the endpoint asks to wait: a number, or a date."""
    said = headers.get("retry-after")
    if not said:
        return None
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
