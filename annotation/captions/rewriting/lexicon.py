"""Who a capitalised word may be: a cast list with genders, given names, and words that name nobody."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from annotation.captions.rewriting.english import NOUN_OF, tokenise

SPELLED_ALIKE = 0.76  # of difflib's ratio, same first letter: "Lenord" is Leonard
SHORTEST_MISSPELT = 5
DATA = Path(__file__).with_name("data")
COLUMNS = ("name", "gender", "kind", "noun", "videos")


@dataclass(frozen=True)
class Member:
    """One name of a cast list; ``kind`` "word" is a name only when it is written as one (House, Castle)."""

    name: str
    gender: str  # M, F, N
    kind: str = "name"
    noun: str = ""  # said instead of man, woman, person
    videos: str = ""  # how the names of the videos begin in which this member goes before others of the name
    main: bool = True  # known by one name: "Ryan Castle" are two, where one of many guests' names is one


@dataclass(frozen=True)
class Person:
    """Whoever a name means; two names of one key are one person."""

    key: str
    gender: str
    noun: str = ""
    is_word: bool = False
    is_cast: bool = False
    is_main: bool = False
    is_here: bool = False  # of the main cast of the video's own show

    @property
    def word(self) -> str:
        return self.noun or NOUN_OF[self.gender]


class Lexicon:
    """Names by their lower-case words; earlier members go before later ones of the same name."""

    def __init__(self, members: Iterable[Member], *, show: str = "") -> None:
        self.things, self.locations, self._given = _things(), _words("places.txt"), _given()
        self.proper, self.ordinary = _words("proper.txt"), _words("ordinary.txt")
        self.cast: dict[str, Person] = {}
        self.full: set[tuple[str, str]] = set()  # neighbouring names of one person
        self._alike: dict[str, Person | None] = {}
        rows = list(members)
        words = {member.name.lower() for member in rows if member.kind == "word"}
        self._main = {part.lower() for member in rows if member.main for part in member.name.split()}
        for member in rows:
            parts = [part.lower() for part in member.name.split()]
            self.full |= {(a, b) for a in parts for b in parts if a != b}
            for part in parts:
                is_here = member.main and member.videos == show
                key, is_word = parts[0] + parts[-1], part in words
                person = Person(key, member.gender, member.noun, is_word, True, member.main, is_here)
                self.cast.setdefault(part, person)
        self._spelt = [name for name in self.cast if len(name) >= SHORTEST_MISSPELT]

    def known(self, word: str) -> Person | None:
        """The member or given name spelt so, in any case."""
        lower = word.lower()
        if person := self.cast.get(lower):
            return person
        gender = self._given.get(lower)
        return Person(lower, gender) if gender else None

    def alike(self, word: str) -> Person | None:
        """The member whose name is misspelt so."""
        lower = word.lower()
        if lower not in self._alike:
            if len(self._alike) > 20_000:
                self._alike.clear()
            near = [name for name in self._spelt if name[0] == lower[0]] if len(lower) >= SHORTEST_MISSPELT else []
            close = get_close_matches(lower, near, 1, SPELLED_ALIKE)
            self._alike[lower] = self.cast[close[0]] if close else None
        return self._alike[lower]

    def is_no_name(self, word: str) -> bool:
        return word in self.proper or word.lower() in self.ordinary

    def are_one(self, first: str, second: str) -> bool:
        """Whether two neighbouring names may be one person's, as given name and family name are."""
        first, second = first.lower(), second.lower()
        return (first, second) in self.full or not (first in self._main and second in self._main)


@lru_cache(maxsize=1)
def packaged_members() -> tuple[Member, ...]:
    """Return the cast of the six shows of TVR; main characters first."""
    with (DATA / "cast.csv").open(encoding="utf-8") as lines:
        return tuple(read_members(lines))


def read_members(lines: Iterable[str]) -> Iterator[Member]:
    """Members of a cast list as CSV; columns name, gender, and if wanted kind, noun, videos. Raises ValueError where a
    row has no name or an unknown gender or kind; the message names its line."""
    for row in (reader := csv.DictReader(lines)):
        cells = {column: " ".join((row.get(column) or "").split()) for column in COLUMNS}
        member = Member(**cells, main="main" not in row or row["main"] == "yes")
        if not member.name or member.gender not in NOUN_OF or member.kind not in ("", "name", "word"):
            raise ValueError(f"line {reader.line_num}: a name, a gender (M, F, N) and a kind (name, word) are needed")
        yield replace(member, kind=member.kind or "name")


def lexicon_for(members: Sequence[Member] = (), *, video: str = "") -> Lexicon:
    """The lexicon of a video: ``members`` of the corpus first, then the packaged cast, its own show's before others."""
    everyone = (*members, *packaged_members())
    start = max((m.videos for m in everyone if m.videos and video.startswith(m.videos)), key=len, default="")
    return _lexicon(tuple(members), start)


@lru_cache(maxsize=32)
def _lexicon(members: tuple[Member, ...], start: str) -> Lexicon:
    everyone = sorted((*members, *packaged_members()), key=lambda member: not (start and member.videos == start))
    return Lexicon(everyone, show=start)


@lru_cache(maxsize=1)
def _given() -> dict[str, str]:
    men, women = ({name.lower() for name in _words(file)} for file in ("men.txt", "women.txt"))
    return {name: "N" if name in men and name in women else "M" if name in men else "F" for name in men | women}


@lru_cache(maxsize=1)
def _things() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Names of things as the words of their tokens, the longest first, by the first word."""
    lines = (DATA / "things.txt").read_text(encoding="utf-8").splitlines()
    names = [tuple(token.text for token in tokenise(line)) for line in lines if line and not line.startswith("#")]
    names.sort(key=len, reverse=True)
    return {name[0]: tuple(other for other in names if other[0] == name[0]) for name in names}


@lru_cache(maxsize=8)
def _words(file: str) -> set[str]:
    lines = (DATA / file).read_text(encoding="utf-8").splitlines()
    return {word for line in lines if not line.startswith("#") for word in line.split()}


@lru_cache(maxsize=1)
def data_digest() -> str:
    """A hash of every packaged list."""
    digest = sha256()
    for file in sorted(DATA.iterdir(), key=lambda one: one.name):
        if file.name.endswith((".txt", ".csv")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
