"""Providers of captions: the rules, and any OpenAI-compatible chat endpoint; the only import of openai."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from itertools import islice
from threading import Lock
from typing import Any, Protocol

from annotation.captions.rewriting.lexicon import Member, data_digest, lexicon_for
from annotation.captions.rewriting.rules import LONGEST, rewrite
from core.exceptions import MomentJudgeError
from core.texts import is_storable

AGAIN_TEMPERATURE = 0.2
RULES_CODE = 3  # one more with every change of the rules that changes a caption


class ProviderUnusable(MomentJudgeError):
    """The provider cannot be used as it is set: a wrong key, an unknown model, nothing set at all."""


class ProviderUnavailable(MomentJudgeError):
    """The provider does not answer anything now; what is not done yet can be done later."""


@dataclass(frozen=True)
class Item:
    """One description to rewrite; ``video`` is the name of its video."""

    key: int
    text: str
    video: str = ""


@dataclass(frozen=True)
class Answer:
    """A provider's result for an item: a text, or ``problem`` (no_answer, refused) and why."""

    key: int
    text: str = ""
    problem: str = ""
    detail: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


class Provider(Protocol):
    name: str
    model: str
    batch: int  # items given at once
    answers_per_write: int  # answers; what an answer costs decides how many may be lost

    def temperature(self, *, again: bool) -> float | None: ...

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> Iterable[Answer]:
        """An answer for every item, in any order; ``again``: another wording, after one that failed."""


class Rules:
    """Offline and deterministic; its second wording is more general.

    Its version, ``model``, is of its code, the packaged lists, and the cast list of the corpus, in order.
    """

    name = "rules"
    batch = answers_per_write = 1000

    def __init__(self, members: Sequence[Member] = ()) -> None:
        self.members = tuple(members)
        lists = data_digest() + repr([astuple(member) for member in members])
        self.model = f"{RULES_CODE}-{sha256(lists.encode()).hexdigest()[:12]}"

    def temperature(self, *, again: bool) -> float | None:
        return None

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> Iterator[Answer]:
        for item in items:
            text = rewrite(item.text, lexicon_for(self.members, video=item.video), general=again)
            yield Answer(item.key, text, "" if text else "no_answer")


logger = logging.getLogger(__name__)
LONGEST_WAIT_S = 120.0
UNUSABLE = {401, 403, 404}  # the settings are wrong
REFUSED = {400, 413, 422}  # asking again gives the same
SETTING = re.compile(r"api.?key|authenti|unknown model|invalid model|model\W.*\b(not (exist|found)|unsupported)", re.I)
JUDGED = re.compile(r"content|polic|flagged|moderat", re.I)
BUSY = {429, 502, 503, 504}  # for every description alike
PROBE = Item(0, "A man walks.")
MOST_TOKENS = 10**9


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
    probes: bool = True  # whether to find out who is at fault when a description gets no answer
    examples: Sequence[tuple[str, str]] = ()  # descriptions with their captions, shown to the model
    seed: int | None = None


class Pace:
    """Lets one request through every ``60 / per_minute`` seconds, whichever thread asks, and none while held."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float], wait: Callable[[float], None]) -> None:
        self._gap, self._clock, self._wait = 60.0 / max(1, per_minute), clock, wait
        self._next, self._pause_until, self._lock = 0.0, 0.0, Lock()

    def turn(self) -> None:
        while True:
            with self._lock:
                now = self._clock()
                begin = max(now, self._next, self._pause_until)
                self._next = begin + self._gap
            if begin > now:
                self._wait(begin - now)
            with self._lock:
                if self._pause_until <= begin:
                    return

    def hold(self, seconds: float) -> None:
        """Nobody asks for so long: the endpoint is busy for all."""
        with self._lock:
            self._pause_until = max(self._pause_until, self._clock() + seconds)


class Chat:
    """Asks for each description alone, several at a time, and again when the endpoint is busy."""

    name = "openai"
    answers_per_write = 1

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
        import openai

        self._client = openai.OpenAI(
            api_key=endpoint.key, base_url=endpoint.base_url or None, timeout=endpoint.timeout_s, max_retries=0
        )

    def temperature(self, *, again: bool) -> float | None:
        return AGAIN_TEMPERATURE if again else 0.0

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> Iterator[Answer]:
        """Answers as they come. Raises ProviderUnusable;
        ProviderUnavailable, after the answers there are, for items without.

        A description that gets no answer while a harmless one does is itself at fault.
        """
        unavailable, queue = [], iter(items)
        at_once = max(1, self.endpoint.concurrency)
        threads = ThreadPoolExecutor(max_workers=at_once)
        try:
            futures = {threads.submit(self._ask, item, again=again) for item in islice(queue, at_once)}
            while futures:
                finished, futures = wait(futures, return_when=FIRST_COMPLETED)
                for answer in (one.result() for one in finished):
                    if answer.problem == "away":
                        unavailable.append(answer)
                    else:
                        yield answer  # and is stored before the next is asked for: a kill loses what is in flight
                    futures |= {threads.submit(self._ask, item, again=again) for item in islice(queue, 1)}
        finally:
            threads.shutdown(cancel_futures=True)
        if unavailable and not (self.endpoint.probes and self._ask(PROBE, again=False).problem != "away"):
            raise ProviderUnavailable(unavailable[0].detail)
        for answer in unavailable:
            yield Answer(answer.key, problem="no_answer", detail=answer.detail)

    def _ask(self, item: Item, *, again: bool) -> Answer:
        """An answer, whatever comes back; its problem is ``away`` where every try failed."""
        try:
            answer = self._tried(item, again=again)
            return replace(answer, detail=self._without_key(answer.detail))
        except ProviderUnusable as error:
            raise ProviderUnusable(self._without_key(str(error))) from None
        except Exception as error:
            logger.exception("description %s", item.key)
            return Answer(item.key, problem="no_answer", detail=_storable(f"{type(error).__name__}: {error}"))

    def _without_key(self, text: str) -> str:
        """Some endpoints repeat the key they refuse; what they say is stored and shown."""
        return text.replace(self.endpoint.key, "[key]")

    def _tried(self, item: Item, *, again: bool) -> Answer:
        import openai

        detail = ""
        for attempt in range(max(1, self.endpoint.tries)):
            self._pace.turn()
            rest, busy = 2.0**attempt, True
            try:
                return _answer(item, self._completion(item.text, again=again))
            except openai.APIStatusError as error:
                if error.status_code in UNUSABLE | REFUSED:
                    return _refusal(item, error)
                detail, retry_after_s = f"{error.status_code}: {error.message}", _retry_after(error.response.headers)
                rest = rest if retry_after_s is None else retry_after_s
                busy = error.status_code in BUSY or retry_after_s is not None
            except openai.APIConnectionError as error:  # a time-out too
                detail = f"{type(error).__name__}: {error}"
            except (openai.APIError, ValueError) as error:  # something that is no JSON, or no chat completion
                detail, busy = f"{type(error).__name__}: {error}", False
            if attempt + 1 < self.endpoint.tries:
                (self._pace.hold if busy else self._wait)(min(LONGEST_WAIT_S, rest))
        logger.warning("no answer for description %s: %s", item.key, self._without_key(detail))
        return Answer(item.key, problem="away", detail=_storable(detail))

    def _completion(self, text: str, *, again: bool) -> Any:
        turns = [("system", self.endpoint.prompt)]
        for description, caption in self.endpoint.examples:
            turns += [("user", description), ("assistant", caption)]
        values: dict[str, Any] = {
            "model": self.model,
            "temperature": self.temperature(again=again),
            "messages": [{"role": role, "content": content} for role, content in [*turns, ("user", text)]],
        }
        if self.endpoint.seed is not None:
            values["seed"] = self.endpoint.seed
        return self._client.chat.completions.create(**values)


def _refusal(item: Item, error: Any) -> Answer:
    """A request is refused for its text, unless for what is set: raises ProviderUnusable."""
    about = f"{error.code} {error.message}"
    if error.status_code in UNUSABLE or error.param in ("model", "temperature") or SETTING.search(about):
        raise ProviderUnusable(_storable(f"The chat API answers {error.status_code}: {error.message}")) from error
    return Answer(
        item.key, problem="refused" if JUDGED.search(about) else "no_answer", detail=_storable(f"{error.message}")
    )


def _answer(item: Item, completion: Any) -> Answer:
    """Raises ValueError for what is no chat completion."""
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    content = getattr(message, "content", None)
    if message is None or isinstance(message, str) or not isinstance(content, str | None):
        raise ValueError("the answer is no chat completion")
    end = getattr(choice, "finish_reason", None)
    spent = _spent(completion)
    refusal = getattr(message, "refusal", None) or (end == "content_filter" and "filtered")
    if refusal:
        return Answer(item.key, "", "refused", _storable(str(refusal)), *spent)
    text = _clean(content or "")
    if fault := _fault(text, end):
        return Answer(item.key, "", "no_answer", fault, *spent)
    return Answer(item.key, text, "", "", *spent)


def _spent(completion: Any) -> tuple[int, int]:
    usage = getattr(completion, "usage", None)
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    first, second = (min(max(0, n), MOST_TOKENS) if isinstance(n, int) else 0 for n in counts)
    return first, second


def _fault(text: str, end: object) -> str:
    """Why an answer is none."""
    if end == "length":
        return "the answer was cut off"
    if not text:
        return "an empty answer"
    if not is_storable(text):
        return "an answer with characters that cannot be stored"
    return f"an answer of {len(text):,} characters" if len(text) > LONGEST else ""


def _storable(detail: str) -> str:
    return "".join(one if is_storable(one) else "\ufffd" for one in detail[:300])


def _clean(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        return text[1:-1].strip()
    return text


def _retry_after(headers: Any) -> float | None:
    """Seconds the endpoint asks to wait: a number, or a date."""
    wait = headers.get("retry-after") or ""
    for seconds in (float, lambda date: (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()):
        try:
            return max(0.0, seconds(wait))
        except (TypeError, ValueError):
            continue
    return None
