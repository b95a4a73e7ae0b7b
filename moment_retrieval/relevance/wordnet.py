"""WordNet for the proxies: Debian's files made readable for nltk, and what is asked of them; the only import of nltk.

nltk reads only inside its data folders, follows no link out of them and wants a file ``lexnames`` that Debian lacks; so
the files are copied (6 MB of packages, 35 MB of files).

What a word means in its sentence is a sense of WordNet chosen by Lesk.
"""

import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any

from moment_retrieval.relevance import RelevanceMissing

WORDNET_FOLDER = Path("corpora") / "wordnet"  # in a data folder of nltk
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
    target = data / WORDNET_FOLDER
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
        if lacking(target):  # else another process was faster
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
    folder = data / WORDNET_FOLDER
    if lacking(folder) or not (folder / LEXNAMES.name).is_file():
        raise WordNetMissing(
            f"WordNet is not installed in {folder}. The similarities pos, synset and meteor need it: whoever runs this"
            " site installs it by .venv/bin/python manage.py install_wordnet --download, which takes seconds and no"
            " root (it fetches Debian's packages wordnet-base and wordnet-sense-index)."
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
        self.synsets: Callable[[str], list[Any]] = lru_cache(REMEMBERED)(self._synsets)
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

    def _synsets(self, word: str) -> list[Any]:
        """Synsets of ``word``, of any part of speech, as nltk's METEOR looks them up."""
        with self._lock:
            return list(self._reader.synsets(word))

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
        """Without the map to WordNet's other versions, which is not needed: loading it takes longer than the rest."""

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    root = str(folder.parents[len(WORDNET_FOLDER.parts) - 1])
    if root not in nltk.data.path:
        nltk.data.path.insert(0, root)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # there are no other languages
        return Reader(nltk.data.FileSystemPathPointer(str(folder)), None)


def meteor(reference: Sequence[str], hypothesis: Sequence[str], wordnet: WordNet) -> float:
    """Return METEOR of two captions in lower case (Lavie and Agarwal, 2007) as nltk computes it; it is not symmetric.

    Words are matched exactly, then by Porter's stems, then by WordNet's synonyms: the last word of the hypothesis
    first, each with the last word of the reference that is still free. Identical captions of n words have
    1 - 0.5 / n**3, captions without a match 0.
    """
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(reference, hypothesis, preprocess=str, stemmer=wordnet, wordnet=wordnet))


class WordNetSenses:
    """Lesk's choice: the sense whose definition shares most words with the sentence, of equals the most frequent one.

    A word of no sense is its own.
    """

    def __init__(self, wordnet: WordNet, part: str) -> None:
        self.wordnet, self.part = wordnet, part

    def sense(self, word: str, context: frozenset[str]) -> str:
        senses = self.wordnet.senses(self.wordnet.lemma(word, self.part), self.part)
        return max(senses, key=lambda sense: len(context & sense.definition)).name if senses else word
