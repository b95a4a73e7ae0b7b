"""What every provider of captions gives, and the rules as one of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from hashlib import sha256
from typing import Protocol

from annotation.captions.rewriting.lexicon import Member, data_digest, lexicon_for
from annotation.captions.rewriting.rules import rewrite
from core.exceptions import MomentJudgeError

AGAIN_TEMPERATURE = 0.2
RULES_CODE = 2  # one more with every change of the rules that changes a caption


class ProviderUnusable(MomentJudgeError):
    """The provider cannot be used as it is set: a wrong key, an unknown model, nothing set at all."""


class ProviderAway(MomentJudgeError):
    """The provider does not answer anything now; what is not done yet can be done later."""


@dataclass(frozen=True)
class Item:
    """One description to rewrite; ``video`` is the name of its video."""

    key: int
    text: str
    video: str = ""


@dataclass(frozen=True)
class Answer:
    """What a provider made of an item: a text, or ``problem`` (no_answer, refused) and why."""

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
    stored_at_once: int  # answers; what an answer costs decides how many may be lost

    def temperature(self, *, again: bool) -> float | None: ...

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> Iterable[Answer]:
        """An answer for every item, in any order; ``again``: another wording, after one that failed."""


def rules_version(members: Sequence[Member] = ()) -> str:
    """What a caption of the rules depends on: their code, their lists, and the cast list of the corpus, in order."""
    digest = sha256(data_digest().encode())
    digest.update(repr([astuple(member) for member in members]).encode())
    return f"{RULES_CODE}-{digest.hexdigest()[:12]}"


class Rules:
    """Offline and deterministic; its second wording is more general."""

    name = "rules"
    batch = stored_at_once = 1000

    def __init__(self, members: Sequence[Member] = ()) -> None:
        self.members = tuple(members)
        self.model = rules_version(self.members)

    def temperature(self, *, again: bool) -> float | None:
        return None

    def rewrite(self, items: Sequence[Item], *, again: bool = False) -> Iterator[Answer]:
        for item in items:
            made = rewrite(item.text, lexicon_for(self.members, video=item.video), general=again)
            yield Answer(item.key, made.text, "" if made.text else "no_answer")
