"""Similarities by name, set up as the settings say; one may rank the best moments of another again.

Operators name models in settings, freely. Whoever names one through a page, or in a file that they upload, must not
learn what else lies on the server: whatever is refused is refused in the same words.
"""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from annotation.pools.rules import Indexes, Vectors
from annotation.similarity import sentences
from annotation.similarity.base import Similarity, SimilarityMissing, Texts, TopNotOffered, named_errors
from core.exceptions import NotPossible
from moment_retrieval.errors import MissingModel
from moment_retrieval.hub import PACKAGED, check_folder
from moment_retrieval.relevance import NLTK, Normalisation, Ranked, sets
from moment_retrieval.relevance.tagger import LexiconTagger
from moment_retrieval.relevance.wordnet import (
    NOUN,
    VERB,
    WordNet,
    WordNetMissing,
    WordNetSenses,
    wordnet_in,
    wordnet_installed,
)

RERANKED = 200  # moments of the first ranking
VERSION = "1"  # of our own code of the proxies: raised when their numbers change
OVER = " over "
OFFICIAL = "-official"
PROXIES = ("bow", "pos", "synset", "meteor")
NAMES = tuple(f"{proxy}{how}" for proxy in PROXIES for how in ("", OFFICIAL))


class Reranked:
    """``judge`` ranks the best 200 moments of ``finder`` again; its own similarities are given."""

    def __init__(self, judge: Similarity, finder: Similarity, *, depth: int = RERANKED) -> None:
        self.judge, self.finder, self.depth = judge, finder, depth
        self.name = f"{judge.name}{OVER}{finder.name}"
        self.model = f"{judge.model}; over {finder.model}"
        self.version = f"{judge.version}; over {finder.version}"
        self.normalisation = f"{judge.normalisation}; over {finder.normalisation}"

    def pairs(self, first: Texts, second: Texts) -> NDArray[np.float64]:
        return self.judge.pairs(first, second)

    def top(self, queries: Texts, captions: Texts, first_caption: Indexes, *, depth: int) -> Iterator[Ranked]:
        ends = np.append(first_caption[1:], len(captions))
        first = self.finder.top(queries, captions, first_caption, depth=max(depth, self.depth))
        for query, (nearest, _) in zip(queries, first, strict=True):
            moments = np.sort(nearest)  # ties keep the order of moments
            texts = [captions[index] for moment in moments for index in range(first_caption[moment], ends[moment])]
            widths = ends[moments] - first_caption[moments]
            starts = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.intp)
            best, similarities = sets.best_moments(self.judge.pairs(texts, [query] * len(texts)), starts, depth)
            yield moments[best], similarities


class Embed(Protocol):
    """Gives unit vectors [N, D] of texts [N], such as one that remembers them."""

    def __call__(self, texts: Texts, *, model: str) -> Vectors: ...


@named_errors()
def similarity(name: str, *, embed: Embed | None = None) -> Similarity:
    """The similarity of this name.

    Args:
        name: ``bow``, ``pos``, ``synset`` or ``meteor``, each also with ``-official``; ``meteor over`` one of the
            others; or a sentence model, as ``sentences.encode`` takes it.
        embed: what gives the vectors of a sentence model, where not the model itself.

    Raises:
        SimilarityMissing: there is no such one, or what it needs is not here. No other takes its place.
    """
    judge, finder = _parts(name)
    if finder:
        return Reranked(similarity(judge), similarity(finder, embed=embed))
    if name in NAMES:
        return _proxy(name)
    return sentence_model(name, embed=embed)


def offered(default: str) -> list[tuple[str, str]]:
    """Names to choose among, each with words that say what it compares; the sentence model ``default`` comes first."""
    return [
        (default, f"{default}: meaning, by a sentence model"),
        ("bow", "bow: words"),
        ("pos", "pos: verbs and nouns"),
        ("synset", "synset: senses of verbs and nouns"),
        (f"meteor{OVER}{default}", f"meteor{OVER}{default}: words, stems, synonyms and their order"),
        (f"meteor{OVER}bow", f"meteor{OVER}bow: the same, among those with most words in common"),
    ]


def lacking(name: str) -> str:
    """Return what to install or set before the similarity of this name can be used; empty where nothing is lacking."""
    try:
        check(name)
    except (SimilarityMissing, TopNotOffered) as error:
        return str(error)
    return ""


def sentence_setup() -> sentences.Setup:
    return sentences.Setup(
        device=settings.SENTENCE_DEVICE, threads=settings.SENTENCE_THREADS, pooling=settings.SENTENCE_POOLING
    )


@named_errors()
def wordnet() -> WordNet:
    """WordNet as `manage.py install_wordnet` left it. Raises SimilarityMissing where it is not installed."""
    return wordnet_in(nltk_data())


def wordnet_is_here() -> bool:
    """Whether it is installed; it is not read for that."""
    try:
        return bool(wordnet_installed(nltk_data()))
    except WordNetMissing:
        return False


def nltk_data() -> Path:
    return Path(settings.MOMENTJUDGE_VAR) / "nltk_data"


def sentence_model(name: str, *, embed: Embed | None = None) -> sentences.SentenceSimilarity:
    """The cosine under the sentence model of this name. Raises SimilarityMissing where there is no such model here."""
    setup = sentence_setup()
    embed = embed or partial(sentences.encode, setup=setup)
    return sentences.SentenceSimilarity(name, sentences.find(name, pooling=setup.pooling), partial(embed, model=name))


@named_errors()
def check(name: str) -> None:
    """Say whether the similarity of this name is here and ranks a pool, without loading it.

    Raises SimilarityMissing where it is not here; TopNotOffered where it scores given pairs alone.
    """
    judge, finder = _parts(name)
    if judge in NAMES and judge.startswith("meteor") and not finder:
        raise sets.not_alone(judge)
    for part in (judge, finder) if finder else (judge,):
        if part in NAMES and not part.startswith("bow"):
            wordnet_installed(nltk_data())
        elif part not in NAMES:
            sentences.check(part, pooling=settings.SENTENCE_POOLING)


def sentence_models_of(name: str) -> list[str]:
    """Return the sentence models that the similarity of this name reads: none for the proxies. Raises SimilarityMissing
    where there is no such similarity."""
    return [part for part in _parts(name) if part and part not in NAMES]


def _parts(name: str) -> tuple[str, str]:
    """Return the scorer, and the finder of its moments; the second is empty where one does both."""
    judge, over, finder = name.partition(OVER)
    if over and (judge not in NAMES or not judge.startswith("meteor")):
        raise SimilarityMissing(f"{judge!r} does not rank again; meteor does, as in 'meteor over bow'.")
    if over and (finder.startswith("meteor") or not finder):
        raise SimilarityMissing("What meteor ranks again must rank all by itself, as in 'meteor over bow'.")
    return judge, finder


def _proxy(name: str) -> Similarity:
    how = Normalisation.OFFICIAL if name.endswith(OFFICIAL) else Normalisation.CLEAN
    proxy = name.removesuffix(OFFICIAL)
    if proxy == "bow":
        return sets.SetSimilarity(name, "326 stop words of spaCy 3.8", VERSION, str(how), sets.BagOfWords(how))
    database = wordnet()
    if proxy == "meteor":
        return sets.Meteor(database, how, name=name, version=VERSION)
    tagger = LexiconTagger(database)
    if proxy == "pos":
        return sets.SetSimilarity(name, tagger.name, VERSION, str(how), sets.PartOfSpeech(tagger, how))
    verbs, nouns = (WordNetSenses(database, part) for part in (VERB, NOUN))
    version = f"{VERSION}, Lesk {NLTK}"
    return sets.SetSimilarity(name, tagger.name, version, str(how), sets.Synsets(tagger, verbs, nouns, how))


HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?")
REFUSAL = (
    "No model of this name can be used. Name one on the Hugging Face hub, or give the absolute path of a folder below"
    " a folder that the setting MOMENTJUDGE_MODELS names."
)


class ModelRefused(NotPossible):
    """This model may not be named through the site; why, only who runs the site can find out."""

    def __init__(self) -> None:
        super().__init__(REFUSAL)


def model_check(model: str, *, holds: Callable[[Path], object] = check_folder) -> None:
    """Check that the model may be named through the site; it need not be there if it is one of the hub. Raises
    ModelRefused where it is a path, and not that of a folder below MOMENTJUDGE_MODELS, links followed; NotPossible
    where the folder is no model's: ``holds`` raises MissingModel for it."""
    # a name of the hub reads as ``name`` or ``owner/name``; what loads models takes no such name for a folder
    is_hub_name = HUB_NAME.fullmatch(model) is not None and ".." not in model and "--" not in model
    if model in PACKAGED or is_hub_name:
        return
    if not _is_folder_below_roots(model):
        raise ModelRefused
    try:
        holds(Path(model))
    except MissingModel as error:
        raise NotPossible(f"{str(error)[0].upper()}{str(error)[1:]}") from error


def _is_folder_below_roots(model: str) -> bool:
    try:
        folder = Path(model)
        if not folder.is_absolute():
            return False
        folder = folder.resolve(strict=True)
        roots = [Path(root).resolve() for root in settings.MOMENTJUDGE_MODELS]
        below = any(folder.is_relative_to(root) and folder != root for root in roots)
        return below and folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    except (OSError, RuntimeError, ValueError):  # missing, a loop of links, a name that no file has
        return False
