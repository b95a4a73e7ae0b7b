"""Write the relevance of videos to captions by a proxy, for ``score --metric matrix``."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path

import numpy as np

from moment_retrieval.errors import MalformedFile, at
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
from moment_retrieval.relevance.wordnet import NOUN, VERB, WordNet, WordNetMissing, WordNetSenses, wordnet_in
from moment_retrieval.tables import Floats

HELP = "Write the relevance of videos to captions by a proxy, for score --metric matrix."
BOW, POS, SYNSET, METEOR = "bow", "pos", "synset", "meteor"
PROXIES = {
    BOW: "words that are no stop words",
    POS: "verbs and nouns",
    SYNSET: "their senses, or the classes of a table",
    METEOR: "METEOR, the video's captions being the references",
}
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
    parser.add_argument("--nltk-data", metavar="FOLDER", type=Path, help="with WordNet in it; all but bow need it")
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
    relevance = relevance_of(captions, options)
    if options.own == "one":
        relevance = with_own_captions(relevance, captions.owners)
    with options.to.open("wb") as file:
        np.savez_compressed(file, relevance=relevance, owners=captions.owners)
    videos, columns = relevance.shape
    return f"{options.to}: {videos} videos, {columns} captions, mean relevance {relevance.mean():.4f}", []


def relevance_of(captions: Captions, options: argparse.Namespace) -> Floats:
    """Return the relevance [N, M] by the requested proxy. Raises RetrievalError."""
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
