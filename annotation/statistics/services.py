"""Statistics of a project's texts: asked for, computed by a task, kept as last computed."""

import logging
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from accounts.models import Project
from annotation.captions.rewriting.english import NOUN_OF, RELATIONS, plural, tokenise
from annotation.captions.rewriting.lexicon import Lexicon, lexicon_for
from annotation.captions.rewriting.mentions import Reader
from annotation.corpora.services.corpora import members_of
from annotation.models import Measure, TextStatistics
from annotation.pools.services.candidates import vectors_of
from annotation.similarity import registry
from annotation.similarity.base import SimilarityMissing
from annotation.statistics import selectors
from annotation.statistics.analyses import Text, span_analyses, text_analyses
from annotation.statistics.collection import Queries, Verbs, query_figures
from annotation.statistics.proxies import BY_WORDS, LEAST, SAMPLE, SENTENCE, Floats, proxy_analyses
from annotation.statistics.rules import WORD, Names, figures
from core.jobs import JobKind, durable
from core.sql import only_one
from moment_retrieval.hub import PACKAGED, is_path
from moment_retrieval.relevance import stop_words
from moment_retrieval.relevance.matrices import Captions, set_relevance
from moment_retrieval.relevance.sets import SetSimilarity
from moment_retrieval.relevance.tagger import LexiconTagger
from moment_retrieval.relevance.vectors import cosine_relevance
from moment_retrieval.relevance.wordnet import NOUN, VERB

logger = logging.getLogger(__name__)
NOT_PEOPLE = {"dog", "cat", "monkey", "date", "team", "character", "ghost", "ex", "host"}
PEOPLE = (RELATIONS | set(NOUN_OF.values())) - NOT_PEOPLE
IRREGULAR = {"children", "ladies", "babies", "secretaries", "wives", "mothers-in-law", "fathers-in-law"}
PEOPLES = {plural(noun) for noun in PEOPLE} | IRREGULAR | {"people"}  # at least two
STATISTICS = JobKind(
    "annotation.tasks.statistics_compute",
    lambda: TextStatistics.objects.filter(requested_at__isnull=False),
    moved="requested_at",
    key="project",
)


def statistics_request(*, project: Project) -> None:
    """Wake the task that computes the figures; asking twice computes once."""
    TextStatistics.objects.update_or_create(project=project, defaults={"requested_at": timezone.now(), "error": ""})
    STATISTICS.send(project.pk)


@durable(STATISTICS.task)
def statistics_compute(*, project_id: int) -> TextStatistics | None:
    """Compute the figures from the rows and keep them; None when somebody else is at it, or there is no project."""
    project = Project.objects.filter(pk=project_id).first()
    with only_one(STATISTICS.lock, project_id) as alone:
        if not alone or project is None:
            return None
        try:
            return _compute(project)
        except OperationalError:
            raise  # the task is tried again
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            TextStatistics.objects.filter(project=project).update(requested_at=None, error=message)
            raise


def _compute(project: Project) -> TextStatistics:
    state = selectors.state_of_texts(project)  # before reading: what changes meanwhile makes the figures old
    figures_by_group = figures(selectors.texts_of(project), names=_names(project.dataset.corpus_id))
    order = [name for name in selectors.group_order(project) if name in figures_by_group]
    data = {
        "groups": [{"group": name, **figures_by_group[name]} for name in order],
        "candidates": selectors.candidates_by_rank(project),
        "collection": collection_compute(project),
        "analyses": analyses_compute(project),
    }
    fresh = {"data": data, "state_of_texts": state, "computed_at": timezone.now(), "requested_at": None, "error": ""}
    text_statistics, _ = TextStatistics.objects.update_or_create(project=project, defaults=fresh)
    logger.info("texts of project %s: %s groups", project.pk, len(order))
    return text_statistics


def collection_compute(project: Project) -> list[dict[str, Any]]:
    """The columns of Tables 1 and 4: what each is of, which moments it counts, and its figures."""
    columns = selectors.columns_of(project)
    verbs = _verbs()
    texts = query_figures(selectors.query_rows(project, [name for name, _ in columns]), verbs=verbs)
    nothing = Queries().figures(tagged=verbs is not None)
    return [
        {"column": name, "moments_are": words, **texts.get(name, nothing), **_spans(project, name)}
        for name, words in columns
    ]


def _spans(project: Project, column: str) -> dict[str, Any]:
    train_set = selectors.newest_train_set(project) if column.startswith("train set") else None
    if train_set:
        return selectors.train_set_figures(train_set)
    return selectors.span_figures(selectors.moments_of(project, column))


def _tagger() -> LexiconTagger | None:
    """Finds the verbs and nouns of a text; None where WordNet is not installed."""
    try:
        return LexiconTagger(registry.wordnet())
    except SimilarityMissing:
        return None


def _verbs() -> Verbs | None:
    tagger = _tagger()
    if tagger is None:
        return None

    def verbs(text: str) -> list[tuple[str, str]]:
        forms = [verb.lower() for verb in tagger.tag(text).verbs]
        return [(form, tagger.wordnet.lemma(form, VERB)) for form in forms]

    return verbs


def analyses_compute(project: Project) -> dict[str, Any]:
    """TVR's analyses of the corpus: its moments, and its descriptions as a tagger reads them.

    Without a tagger, words stand for verbs and nouns, as they are written.
    """
    corpus_id, tagger = project.dataset.corpus_id, _tagger()
    read, texts = people_reader(corpus_id), []
    for text, video in selectors.texts_with_videos(corpus_id):
        n_people, others = read(text, video)
        words = WORD.findall(text.lower())
        if tagger is None:
            texts.append(Text(text, " ".join(words), words=others, people=n_people))
            continue
        tags, lemma = tagger.tag(text), tagger.wordnet.lemma
        verbs = tuple(lemma(word.lower(), VERB) for word in tags.verbs)
        nouns = tuple(lemma(word.lower(), NOUN) for word in tags.nouns)
        key = " ".join(lemma(lemma(word, NOUN), VERB) for word in words)
        texts.append(Text(text, key, verbs, nouns, people=n_people))
    return {
        **text_analyses(texts, tagged=tagger is not None),
        **span_analyses(selectors.spans_with_lengths(corpus_id)),
        "proxies": proxies_compute(corpus_id),
    }


def proxies_compute(corpus_id: int) -> dict[str, Any]:
    """Compare the proxies of relevance on a sample of the corpus's captions.

    A proxy that cannot be computed is listed under ``missing`` with the reason. The system whose recall is bounded is
    the site's sentence model, which finds captions by the descriptions of their moments.
    """
    rows, n_moments = selectors.captions_sampled(corpus_id, SAMPLE)
    report = {"sample": len(rows), "moments": n_moments, "system": settings.SENTENCE_MODEL}
    if len(rows) < LEAST:
        return report
    descriptions, captions = ([row[side] for row in rows] for side in (0, 1))
    relevance, missing = dict[str, Floats](), dict[str, str]()
    for name in BY_WORDS:
        try:
            relevance[name] = _relevance_by(name, captions)
        except SimilarityMissing as error:
            missing[name] = str(error)
    similarity = None
    try:
        vectors = _sentence_vectors([*captions, *descriptions])
    except SimilarityMissing as error:
        missing[SENTENCE] = str(error)
    else:
        of_captions, of_descriptions = vectors[: len(rows)], vectors[len(rows) :]
        relevance[SENTENCE] = cosine_relevance(of_captions, of_captions)
        similarity = of_descriptions @ of_captions.T
    return {**report, "missing": missing, **proxy_analyses(relevance, similarity)}


def _relevance_by(name: str, captions: Sequence[str]) -> Floats:
    """Return the relevance [N, N] between captions by a proxy of words. Raises SimilarityMissing."""
    measure = registry.similarity(name)
    if isinstance(measure, SetSimilarity):
        return set_relevance(Captions.of([(str(number), text) for number, text in enumerate(captions)]), measure.reader)
    texts = sorted(set(captions))  # equal captions are compared once
    first, second = zip(*product(texts, texts), strict=True)
    numbers = [texts.index(text) for text in captions]
    return measure.pairs(first, second).reshape(len(texts), len(texts))[np.ix_(numbers, numbers)]


def _sentence_vectors(texts: Sequence[str]) -> Floats:
    """Return unit vectors [N, D] of the site's sentence model; texts that are stored need no model.

    Raises SimilarityMissing where it is not here; nothing is downloaded for a figure.
    """
    model = settings.SENTENCE_MODEL
    if not (model in PACKAGED or is_path(model) or Measure.objects.filter(name=model).exists()):
        raise SimilarityMissing(f"The sentence model {model!r} was never used here; rank candidates by it first.")
    return vectors_of(texts, model=model).astype(np.float64)


def people_reader(corpus_id: int) -> Callable[[str, str], tuple[int, tuple[str, ...]]]:
    """Return what reads a text about a video: how many people it speaks of, and its words that name nobody.

    People are those it names, and nouns such as woman; stop words are left out of the words.
    """
    lexicon = _lexicons(corpus_id)

    def read(text: str, video: str) -> tuple[int, tuple[str, ...]]:
        tokens = tokenise(text)
        mentions = Reader(tokens, lexicon(video)).mentions()
        inside = {at for mention in mentions for at in range(mention.start, mention.end)}
        words = [token.text.lower() for at, token in enumerate(tokens) if token.is_word and at not in inside]
        by_name = {mention.person.key for mention in mentions}
        n_people = len(by_name) + sum(word in PEOPLE for word in words) + sum(2 * (word in PEOPLES) for word in words)
        return n_people, tuple(word for word in words if word not in stop_words())

    return read


def statistics_are_old(text_statistics: TextStatistics) -> bool:
    """Whether something that is counted has changed, or verbs could be counted by now."""
    if text_statistics.state_of_texts != selectors.state_of_texts(text_statistics.project):
        return True
    return (
        any(column["verbs"] is None for column in text_statistics.data.get("collection", []))
        and registry.wordnet_is_here()
    )


def _names(corpus_id: int) -> Names:
    lexicon = _lexicons(corpus_id)
    return lambda text, video: bool(Reader(tokenise(text), lexicon(video)).mentions())


def _lexicons(corpus_id: int) -> Callable[[str], Lexicon]:
    members = members_of(corpus_id)

    @cache
    def lexicon(video: str) -> Lexicon:
        return lexicon_for(members, video=video)

    return lexicon
