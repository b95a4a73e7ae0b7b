"""WordNet for the proxies: Debian's files made readable for nltk, and what is asked of them; the only import of nltk.

nltk reads only inside its data folders, follows no link out of them and wants a file ``lexnames`` that Debian lacks; so
the files are copied (6 MB of packages, 35 MB of files).

What a word means in its sentence: a sense of WordNet chosen by Lesk, or a class of a table.
"""

import ast
import csv
import os
import shutil
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any, Protocol

from moment_retrieval.relevance import RelevanceMissing

PLACE = Path("corpora") / "wordnet"  # in a data folder of nltk
PARTS = ("adj", "adv", "noun", "verb")
NEEDED = (
    "cntlist.rev",
    *(f"{kind}.{part}" for kind in ("data", "index") for part in PARTS),
    *(f"{p}.exc" for p in PARTS),
)
WANTED = ("index.sense",)  # of no use here, but to nltk's other readers
LEXNAMES = Path(__file__).parent / "data" / "lexnames"
NOUN, VERB, ADJECTIVE, ADVERB = "n", "v", "a", "r"
REMEMBERED = 100_000  # answers of each kind


class WordNetMissing(RelevanceMissing):
    """WordNet's files are not installed, or not complete."""


def lacking(folder: Path) -> list[str]:
    """Files of WordNet that are not in ``folder``."""
    return [name for name in NEEDED if not (folder / name).is_file()]


def install(source: Path, data: Path) -> Path:
    """Copy WordNet's files from ``source`` into the nltk data folder ``data``; all appear at once, or none.

    Returns:
        The folder that holds them.

    Raises:
        WordNetMissing: ``source`` lacks some.
    """
    if missing := lacking(source):
        raise WordNetMissing(f"{source} is not WordNet's folder: it lacks {', '.join(missing)}.")
    target = data / PLACE
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(mkdtemp(prefix="wordnet-", dir=target.parent))
    try:
        for name in (*NEEDED, *WANTED):
            if (source / name).is_file():
                shutil.copyfile(source / name, temporary / name)
        shutil.copyfile(LEXNAMES, temporary / LEXNAMES.name)
        temporary.chmod(0o755)
        if lacking(target):
            shutil.rmtree(target, ignore_errors=True)
            os.replace(temporary, target)
    except OSError:
        if lacking(target):  # else somebody was faster
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


@dataclass(frozen=True)
class Sense:
    """A synset: its name, and the words of its definition."""

    name: str
    definition: frozenset[str]


def wordnet_installed(data: Path) -> Path:
    """Where WordNet's files are in the nltk data folder ``data``. Raises WordNetMissing: they are not there."""
    folder = data / PLACE
    if lacking(folder) or not (folder / LEXNAMES.name).is_file():
        raise WordNetMissing(
            f"WordNet is not installed in {folder}. The similarities pos, synset and meteor need it: run"
            " `manage.py install_wordnet` (it takes Debian's packages wordnet-base and wordnet-sense-index)."
        )
    return folder


@lru_cache(maxsize=2)
def wordnet_in(data: Path) -> "WordNet":
    """WordNet as installed in the nltk data folder ``data``; reading it takes about two seconds.

    Raises:
        WordNetMissing: it is not installed there.
    """
    return WordNet(wordnet_installed(data))


class WordNet:
    """Questions to WordNet. Words come again and again, so answers are remembered."""

    def __init__(self, folder: Path) -> None:
        from nltk.stem.porter import PorterStemmer

        self._reader = _reader(folder)
        self._lock = Lock()  # the reader seeks in its files
        self.version = str(self._reader.get_version())
        self.lemma: Callable[[str, str], str] = lru_cache(REMEMBERED)(self._lemma)
        self.senses: Callable[[str, str], tuple[Sense, ...]] = lru_cache(REMEMBERED)(self._senses)
        self.synonyms: Callable[[str], frozenset[str]] = lru_cache(REMEMBERED)(self._synonyms)
        self.uses: Callable[[str, str], int] = lru_cache(REMEMBERED)(self._uses)
        self.stem: Callable[[str], str] = lru_cache(REMEMBERED)(PorterStemmer().stem)

    def has(self, word: str, part: str) -> bool:
        """Whether ``word``, in lower case, is an inflection of a lemma of this part of speech."""
        return bool(self._reader._morphy(word, part))

    def _lemma(self, word: str, part: str) -> str:
        """The shortest lemma that ``word`` may be an inflection of, else the word itself; case counts."""
        return min(self._reader._morphy(word, part), key=len, default=word)

    def _senses(self, lemma: str, part: str) -> tuple[Sense, ...]:
        """Senses of the lemma as this part of speech, most frequent first; case does not count."""
        with self._lock:
            return tuple(Sense(s.name(), frozenset(s.definition().split())) for s in self._reader.synsets(lemma, part))

    def _synonyms(self, word: str) -> frozenset[str]:
        """Lemmas of one word that share a sense with ``word``, of any part of speech, and the word itself."""
        with self._lock:
            names = {lemma.name() for synset in self._reader.synsets(word) for lemma in synset.lemmas()}
        return frozenset({name for name in names if "_" not in name} | {word})

    def _uses(self, word: str, part: str) -> int:
        """How often WordNet's tagged texts use the lemmas of ``word`` as this part of speech."""
        forms = set(self._reader._morphy(word, part))
        with self._lock:
            synsets = {synset for form in forms for synset in self._reader.synsets(form, part)}
            lemmas = [lemma for synset in synsets for lemma in synset.lemmas()]
            return sum(lemma.count() for lemma in lemmas if lemma.name().lower() in forms)


def _reader(folder: Path) -> Any:
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        """Without the map to WordNet's other versions, which nobody asks for: loading it takes longer than the rest."""

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    root = str(folder.parents[len(PLACE.parts) - 1])
    if root not in nltk.data.path:
        nltk.data.path.insert(0, root)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # there are no other languages
        return Reader(nltk.data.FileSystemPathPointer(str(folder)), None)


class Ties(StrEnum):
    """Which of the senses wins that share the same number of words with the sentence."""

    FIRST = "nltk-3.10"  # the most frequent one
    LAST_NAME = "nltk-3.5"  # the one whose name is last in the alphabet: what the published matrices hold


class Senses(Protocol):
    def sense(self, word: str, context: frozenset[str]) -> Hashable:
        """Return the sense of ``word`` in its sentence."""


class WordNetSenses:
    """Lesk's choice: the sense whose definition shares most words with the sentence; a word of no sense is its own."""

    def __init__(self, wordnet: WordNet, part: str, ties: Ties = Ties.FIRST) -> None:
        self.wordnet, self.part, self.ties = wordnet, part, ties

    def sense(self, word: str, context: frozenset[str]) -> str:
        senses = self.wordnet.senses(self.wordnet.lemma(word, self.part), self.part)
        return max(senses, key=lambda sense: self._merit(sense, context)).name if senses else word

    def _merit(self, sense: Sense, context: frozenset[str]) -> tuple[int, str]:
        shared = len(context & sense.definition)
        return (shared, sense.name if self.ties is Ties.LAST_NAME else "")


class ClassTable:
    """Classes of lemmas; a lemma without gets a new class, whose number is that of the words known so far."""

    def __init__(self, wordnet: WordNet, part: str, classes: Mapping[str, int]) -> None:
        self.wordnet, self.part, self.classes = wordnet, part, dict(classes)

    def sense(self, word: str, context: frozenset[str]) -> int:
        return self.classes.setdefault(self.wordnet.lemma(word, self.part), len(self.classes))


def read_classes(lines: Iterable[str]) -> dict[str, int]:
    """Class of each word of a CSV with columns ``id`` and ``instances``, a list of words as Python writes it.

    Raises:
        ValueError: a word is in two classes.
    """
    classes: dict[str, int] = {}
    for row in csv.DictReader(lines):
        for word in ast.literal_eval(row["instances"]):
            if classes.setdefault(word, int(row["id"])) != int(row["id"]):
                raise ValueError(f"{word!r} is in class {classes[word]} and in class {row['id']}.")
    return classes
