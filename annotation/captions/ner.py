"""Finding names of persons in captions: by the corpus's own capitals, a model, or the lexicon of the rules.

The only import of transformers and faker here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from annotation.captions.rewriting.english import tokenise
from annotation.captions.rewriting.lexicon import Member, lexicon_for
from annotation.captions.rewriting.mentions import Reader
from annotation.captions.rewriting.rules import Found
from core.exceptions import MomentJudgeError

SURE, LIKELY = 1.0, 0.85  # a name of a list; a capitalised word that can be nothing else
PERSON = {"PER", "PERSON", "B-PER", "I-PER"}
CORPUS, LEXICON = "corpus", "lexicon"
SCORE_DIGITS = 4  # of a score
WINDOW = 480  # bytes: no token is shorter than one, and models read 512 with those that frame a text
SHARED_WORDS = 4  # of neighbouring windows, so that a name on their edge is whole in one


class NameModelMissing(MomentJudgeError):
    """The model of this name cannot be loaded here."""

    status, code = 409, "name_model_missing"


class NameFinder(Protocol):
    name: str

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        """The likeliest name of a person in each of ``texts`` [N]; ``videos`` [N] are the names of their videos."""


def name_finder(name: str, *, members: Sequence[Member] = (), texts: Callable[[], Iterable[str]] = tuple) -> NameFinder:
    """The finder of this name: ``corpus``, ``lexicon``, or a token-classification model (a folder, or a hub name).

    ``texts``: the descriptions whose capitals ``corpus`` goes by.
    """
    if name == CORPUS:
        return CorpusNames(texts())
    return LexiconNames(members) if name == LEXICON else ModelNames(name)


TITLES = r"\b(?:Drs?|Mrs?|Ms|Prof|Det|Capt|Lt|Sgt)\b"
WORDS = re.compile(rf"{TITLES}\.?|[^\W\d_]+(?:-[^\W\d_]+)*|'s\b|[^\w\s]")
IS_TITLE = re.compile(TITLES)
SENTENCE_ENDS = set('.!?"')
OWNERS = {"this", "that", "his", "her", "its", "their", "my", "your", "our"}
BEFORE_THINGS = OWNERS | {"a", "an", "the", "in", "at", "on", "into", "inside", "of", "from"}
AFTER_PERSONS = {"'s", "is", "was", "and"}  # or a verb in the third person
SENTENCE_OPENERS = (  # no names; small corpora do not show it by their capitals
    OWNERS
    | {"a", "an", "the", "these", "those", "some", "several", "many", "both", "all", "no", "another", "each", "every"}
    | {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "someone", "somebody", "people"}
    | {"he", "she", "it", "they", "we", "i", "you", "there", "as", "when", "while", "after", "before", "then", "with"}
    | {"in", "on", "at", "from", "behind", "inside", "outside", "during", "until", "and", "but", "man", "woman"}
)
CALENDAR = (  # capitals that name no person; April, June and August may
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
    | {"january", "february", "march", "july", "september", "october", "november", "december", "christmas", "easter"}
)
LEAST_SCORE = 0.6  # of a word that is reported as a name
MOSTLY_CAPITALISED = 10  # capitalised uses inside sentences for each lowercase one
FREQUENT = 3  # capitalised uses inside sentences
THING_SHARE = 0.4  # of its capitalised uses, above which a word names things
PERSON_SHARE = 0.15  # of its capitalised uses, above which a word names persons
LONGEST_ACRONYM = 4  # "TV", "FBI" and "NYPD" are no names
LOCALES = ("en_US", "en_GB", "en_IN", "es_ES", "fr_FR", "de_DE", "it_IT")


class Word(NamedTuple):
    """A word where it stands in a text."""

    text: str
    starts_sentence: bool
    is_thing: bool  # behind an article, an owner, "in" or another capitalised word
    is_person: bool  # it owns or does something

    @property
    def is_capitalised(self) -> bool:
        return self.text[0].isupper()


def words_of(text: str) -> Iterator[Word]:
    parts, starts_sentence = WORDS.findall(text.replace("’", "'")), True
    for at, part in enumerate(parts):
        if not part[0].isalpha():
            starts_sentence = starts_sentence or part in SENTENCE_ENDS
            continue
        before, after = parts[at - 1] if at else "", parts[at + 1] if at + 1 < len(parts) else ""
        has_title = bool(IS_TITLE.match(before))
        follows_capital = before[:1].isupper() and not has_title and before.lower() not in given_names()
        is_person = has_title or after in AFTER_PERSONS or (after.islower() and after.endswith("s"))
        if not IS_TITLE.match(part):
            is_thing = before.lower() in BEFORE_THINGS or follows_capital
            yield Word(part, starts_sentence, is_thing, is_person)
        starts_sentence = False


@dataclass
class Uses:
    """How often a word stands in the texts of a corpus, by how and where."""

    inside: int = 0  # with a capital, inside a sentence
    first: int = 0  # with a capital, at the beginning
    lowercase: int = 0
    thing: int = 0  # with a capital, where things are named
    person: int = 0  # with a capital, where persons are

    def add(self, word: Word) -> None:
        if not word.is_capitalised:
            self.lowercase += 1
            return
        self.first += word.starts_sentence
        self.inside += not word.starts_sentence
        self.thing += word.is_thing and not word.starts_sentence
        self.person += word.is_person


class CorpusNames:
    """Names by the capitals of a corpus and the places of its words, with a public list of given names.

    It shares no word list with the rules, so that it is a second opinion on them; as they do, it needs no model. A word
    that the corpus writes with a capital inside its sentences, and that owns or does things, is a name; likelier if
    people are given it.

    Args:
        texts: the descriptions of the corpus.
    """

    name = CORPUS

    def __init__(self, texts: Iterable[str]) -> None:
        self._uses: dict[str, Uses] = defaultdict(Uses)
        for text in texts:
            for word in words_of(text):
                self._uses[word.text.lower()].add(word)
        self._given = given_names()

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        return [self._find(text) for text in texts]

    def _find(self, text: str) -> Found:
        matches = [Found(self.score(word), word.text) for word in words_of(text)]
        likely = [one for one in matches if one.score >= LEAST_SCORE]
        return max(likely, key=lambda one: one.score, default=Found())

    def score(self, word: Word) -> float:
        """How likely the word is a person's name, 0 to 1.

        A lowercase word is one only where the corpus mostly writes it with a capital.
        """
        lower = word.text.lower()
        uses, is_given = self._uses.get(lower) or Uses(), lower in self._given
        if lower in SENTENCE_OPENERS or lower in CALENDAR:
            return 0.0
        if not word.is_capitalised:
            return 1.0 if is_given and uses.inside > MOSTLY_CAPITALISED * uses.lowercase else 0.0
        is_mostly_lowercase = uses.lowercase > uses.inside
        if is_given and not (is_mostly_lowercase and word.starts_sentence):
            return 1.0 if uses.inside else 0.9
        is_acronym = word.text.isupper() and len(word.text) <= LONGEST_ACRONYM
        return 0.0 if is_mostly_lowercase or is_acronym else self._score_of_unlisted(word, uses)

    def _score_of_unlisted(self, word: Word, uses: Uses) -> float:
        if uses.thing > THING_SHARE * uses.inside:
            return 0.4
        if uses.person > PERSON_SHARE * (uses.inside + uses.first):
            return 0.95
        if uses.inside > FREQUENT or word.is_thing:
            return 0.7
        acts = word.is_person or uses.person > uses.first / 2
        return 0.85 if acts or not word.starts_sentence else 0.5


@lru_cache(maxsize=1)
def given_names() -> frozenset[str]:
    """Given names of seven countries, lowercase, from Faker (MIT)."""
    providers = [import_module(f"faker.providers.person.{locale}").Provider for locale in LOCALES]
    kinds = ("first_names", "first_names_male", "first_names_female")
    return frozenset(name.lower() for one in providers for kind in kinds for name in getattr(one, kind, ()))


@dataclass
class LexiconNames:
    members: Sequence[Member] = ()
    name = LEXICON

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        return [self._find(text, video) for text, video in zip(texts, videos, strict=True)]

    def _find(self, text: str, video: str) -> Found:
        lexicon = lexicon_for(self.members, video=video)
        reader = Reader(tokenise(text), lexicon)
        matches = [
            Found(SURE if lexicon.known(word) else LIKELY, word)
            for mention in reader.mentions()
            for word in [reader.word(mention.end - (2 if mention.owns else 1))]
        ]
        return max(matches, key=lambda one: one.score, default=Found())


@dataclass
class ModelNames:
    """A transformers model; its score is the mean of an entity's tokens."""

    name: str

    def find(self, texts: Sequence[str], *, videos: Sequence[str]) -> list[Found]:
        text_windows = [windows(text) for text in texts]
        try:
            outputs = iter(_load(self.name)([window for parts in text_windows for window in parts], batch_size=32))
            return [_likeliest([entity for _ in parts for entity in next(outputs)]) for parts in text_windows]
        except RuntimeError as error:
            raise _unusable(self.name, error) from error


class Agreement(NamedTuple):
    """How often two finders find a name in the same texts; of what one alone finds, the words."""

    both: int
    neither: int
    first_alone: Counter[str]
    second_alone: Counter[str]

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of "holds a name"; None where both finders say the same of every text."""
        first, second = self.both + self.first_alone.total(), self.both + self.second_alone.total()
        n = first + self.second_alone.total() + self.neither
        chance = (first * second + (n - first) * (n - second)) / n**2 if n else 1.0
        return None if chance == 1 else ((self.both + self.neither) / n - chance) / (1 - chance)


def agreement(first: Sequence[Found], second: Sequence[Found], *, above: float) -> Agreement:
    """Compare what two finders found in the same texts; a name counts when its score is ``above``."""
    pairs = [(one, other, one.score > above, other.score > above) for one, other in zip(first, second, strict=True)]
    return Agreement(
        sum(is_first and is_second for _, _, is_first, is_second in pairs),
        sum(not is_first and not is_second for _, _, is_first, is_second in pairs),
        Counter(one.text for one, _, is_first, is_second in pairs if is_first and not is_second),
        Counter(other.text for _, other, is_first, is_second in pairs if is_second and not is_first),
    )


def windows(text: str) -> list[str]:
    """The text in parts that no model of 512 tokens cuts, each beginning with the last words of the one before."""
    step = WINDOW // 4 - 1  # of a word: a character has four bytes at most
    words = [word[at : at + step] for word in text.split() for at in range(0, len(word), step)]
    parts: list[str] = []
    part: list[str] = []
    size = 0
    for word in words:
        room = len(word.encode()) + 1
        if size + room > WINDOW:
            parts.append(" ".join(part))
            part = [] if len(part) <= SHARED_WORDS else part[-SHARED_WORDS:]
            part = part if sum(len(one.encode()) + 1 for one in part) + room <= WINDOW else []
            size = sum(len(one.encode()) + 1 for one in part)
        part.append(word)
        size += room
    return [*parts, " ".join(part)] if parts else [text.strip()]


def _unusable(name: str, error: Exception) -> NameModelMissing:
    return NameModelMissing(
        f"The model of names {name!r} cannot be used: {error} Set CAPTION_NER to a token-classification model that is"
        " here, or to 'lexicon'."
    )


def _likeliest(entities: Sequence[dict[str, Any]]) -> Found:
    """The person of the highest score as it is kept; the longer of equals, as windows may cut a name in two."""
    persons = (one for one in entities if one.get("entity_group", one.get("entity", "")).upper() in PERSON)
    matches = (Found(round(float(one["score"]), SCORE_DIGITS), one["word"]) for one in persons)
    return max(matches, key=lambda one: (one.score, len(one.text)), default=Found())


@lru_cache(maxsize=1)
def _load(name: str) -> Any:
    try:
        import transformers

        return transformers.pipeline("token-classification", model=name, aggregation_strategy="simple")
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise _unusable(name, error) from error
