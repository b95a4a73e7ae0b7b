"""Reads texts, queries and moments for their statistics, and shapes figures for people: histograms, tables, CSV."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from django.db import connection
from django.db.models import (
    Avg,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    FilteredRelation,
    FloatField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)

from accounts.models import Project
from annotation.captions.selectors import captions_serving
from annotation.models import Candidate, Caption, Description, Moment, NamedQuerySet, Query, TrainSet, Video
from annotation.statistics.collection import value_rows
from annotation.statistics.rules import Row
from annotation.train_sets.ranks import spans_of
from core.charts.kinds import Bin, Histogram

RANKS = (1, 20, 40)  # the first candidate, the last of the first batch, the last of the second
SPLITS = [Query.Split.VAL, Query.Split.TEST, Query.Split.TRAIN]
CHUNK = 5000
SEED = 0  # of samples
ALL = "all"
FORM = 4  # of the figures: another form makes stored ones old
STATE = """
SELECT (SELECT concat(count(*), '.', sum(hashtext(concat_ws('|', c.id, c.text, c.similarity, c.state))))
        FROM annotation_description d LEFT JOIN annotation_caption c ON c.description_id = d.id
        WHERE d.corpus_id = %(corpus)s),
    (SELECT concat(count(*), '.', sum(hashtext(concat_ws('|', q.id, q.split, q.text, s.name))))
        FROM annotation_query q LEFT JOIN annotation_namedqueryset s ON s.id = q.query_set_id
        WHERE q.project_id = %(project)s),
    (SELECT concat(count(*), '.', sum(c.id)) FROM annotation_candidate c JOIN annotation_query q ON q.id = c.query_id
        WHERE q.project_id = %(project)s AND c.rank IN (1, 20, 40)),
    (SELECT sum(hashtext(concat_ws('|', m.*))) FROM annotation_castmember m WHERE m.corpus_id = %(corpus)s),
    (SELECT concat(count(m.id), '.',
            sum(hashtext(concat_ws('|', m.id, m.start_s, m.end_s, v.duration_s, v.source_split))))
        FROM annotation_moment m JOIN annotation_video v ON v.id = m.video_id WHERE v.corpus_id = %(corpus)s),
    (SELECT max(t.id) FROM annotation_trainset t WHERE t.project_id = %(project)s AND t.state = 'done')"""
HOUR_S = 3600
LENGTH = ExpressionWrapper(F("end_s") - F("start_s"), output_field=FloatField())


def state_of_texts(project: Project) -> str:
    """A word that is another one as soon as something changed that the statistics count."""
    with connection.cursor() as cursor:
        cursor.execute(STATE, {"corpus": project.dataset.corpus_id, "project": project.pk})
        return f"{FORM} " + " ".join(str(part) for part in cursor.fetchone())


def texts_of(project: Project) -> Iterator[Row]:
    """Every description of the corpus with its caption, in the groups it belongs to: kind, split, query set.

    A query counts as it is asked, should its caption have been changed since.
    """
    sets = dict(project.query_sets.values_list("pk", "name"))
    relation = FilteredRelation("caption__queries", condition=Q(caption__queries__project=project.pk))
    rows = Description.objects.filter(corpus=project.dataset.corpus_id).annotate(drawn_query=relation)
    fields = ("kind", "text", "caption__text", "caption__similarity", "moment__video__name")
    query = ("drawn_query__split", "drawn_query__query_set_id", "drawn_query__text")
    for kind, description, caption, similarity, video, split, query_set, words in rows.values_list(
        *fields, *query
    ).iterator(chunk_size=CHUNK):
        text = description.strip()
        groups: tuple[str, ...] = (f"split {split}",) if split is not None else ()
        if groups and sets.get(query_set) not in (None, split):
            groups = (*groups, f"set {sets[query_set]}")
        if words is not None and words != caption:
            yield Row((ALL, f"kind {kind}"), text, caption, similarity, video)
            yield Row(groups, text, words, None, video)
        else:
            yield Row((ALL, f"kind {kind}", *groups), text, caption, similarity, video)


def group_order(project: Project) -> list[str]:
    """The names of the groups there can be, in the order to show them."""
    kinds = [f"kind {kind}" for kind in Description.Kind.values]
    splits = [f"split {split}" for split in SPLITS]
    sets = NamedQuerySet.objects.filter(project=project).order_by("name").values_list("name", flat=True)
    return [ALL, *kinds, *splits, *(f"set {name}" for name in sets)]


def candidates_by_rank(project: Project) -> list[dict[str, object]]:
    """How similar candidates are to their query at some ranks, by split."""
    rows = Candidate.objects.filter(query__project=project, rank__in=RANKS, similarity__isnull=False)
    figures = (Count("pk"), Avg("similarity"), Min("similarity"), Max("similarity"))
    groups = rows.values_list("query__split", "rank").annotate(*figures).order_by()
    sorted_groups = sorted(groups, key=lambda row: (SPLITS.index(row[0]), row[1]))
    return [dict(zip(("split", "rank", "queries", "mean", "least", "most"), row, strict=True)) for row in sorted_groups]


def columns_of(project: Project) -> list[tuple[str, str]]:
    """Return each column with words for which moments it counts: the corpus, its source splits, the splits."""
    names = project.dataset.corpus.videos.order_by().values_list("source_split", flat=True).distinct()
    sources = sorted(name for name in names if name)
    columns = [(ALL, "all of the corpus")]
    if len(sources) > 1:
        columns += [(f"source {name}", "all of this part") for name in sources]
    splits = set(project.queries.filter(is_placeholder=False).order_by().values_list("split", flat=True).distinct())
    columns += [(f"split {split}", "those the queries describe") for split in SPLITS if split in splits]
    if train := newest_train_set(project):
        columns.append((f"train set {train.depth}", f"the best {train.depth} of each training query"))
    return columns


def newest_train_set(project: Project) -> TrainSet | None:
    return project.train_sets.filter(state=TrainSet.State.DONE).order_by("-finished_at").first()


def query_rows(project: Project, columns: Iterable[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every description and every query, with the columns it counts in."""
    names = set(columns)
    descriptions = Description.objects.filter(corpus=project.dataset.corpus_id)
    for source, text in descriptions.values_list("moment__video__source_split", "text").iterator(chunk_size=CHUNK):
        yield tuple({ALL, f"source {source}"} & names), text.strip()
    sets = tuple(name for name in names if name.startswith("train set"))
    queries = project.queries.filter(is_placeholder=False).values_list("split", "text")
    for split, text in queries.iterator(chunk_size=CHUNK):
        yield (f"split {split}", *(sets if split == Query.Split.TRAIN else ())), text


def texts_with_videos(corpus_id: int) -> Iterator[tuple[str, str]]:
    """Yield every description of a corpus and the name of its video."""
    rows = Description.objects.filter(corpus=corpus_id).order_by("pk").values_list("text", "moment__video__name")
    for text, video in rows.iterator(chunk_size=CHUNK):
        yield text.strip(), video


def captions_sampled(corpus_id: int, size: int) -> tuple[list[tuple[str, str]], int]:
    """Return (description, caption) of so many moments by chance, always the same ones, and among how many they are.

    A moment takes part with the first of its captions that may serve as candidates.
    """
    first: dict[int, int] = {}
    for moment, caption in captions_serving(corpus_id).order_by("pk").values_list("moment_id", "pk"):
        first.setdefault(moment, caption)
    ids = Random(SEED).sample(sorted(first.values()), min(size, len(first)))
    rows = Caption.objects.filter(pk__in=ids).order_by("pk")
    pairs = rows.values_list("description__text", "text")
    return [(description.strip(), caption) for description, caption in pairs], len(first)


def marked_moments(corpus_id: int) -> QuerySet[Moment]:
    """Return the moments of a corpus but those that were proposed and that nobody has described: figures are of what
    people marked."""
    described = Exists(Description.objects.filter(moment=OuterRef("pk")))
    return Moment.objects.filter(Q(proposal=None) | described, video__corpus=corpus_id)


def spans_with_lengths(corpus_id: int) -> Iterator[tuple[float, float, float]]:
    """Yield start, end and the length of the video of every moment of a corpus, in seconds."""
    moments = marked_moments(corpus_id).filter(video__duration_s__gt=0)
    yield from moments.values_list("start_s", "end_s", "video__duration_s").iterator(chunk_size=CHUNK)


def moments_of(project: Project, column: str) -> QuerySet[Moment]:
    """The moments that a column counts, but of a training set."""
    moments = marked_moments(project.dataset.corpus_id)
    kind, _, name = column.partition(" ")
    if kind == "source":
        return moments.filter(video__source_split=name)
    if kind == "split":
        queries = project.queries.filter(split=name, is_placeholder=False, caption__isnull=False)
        return moments.filter(pk__in=queries.values("caption__moment"))
    return moments


def span_figures(moments: QuerySet[Moment]) -> dict[str, Any]:
    """How many moments there are, how long they and their videos are; None where there is none."""
    ratio = ExpressionWrapper(LENGTH / F("video__duration_s"), output_field=FloatField())
    totals = moments.order_by().aggregate(
        moments=Count("pk"),
        seconds=Sum(LENGTH),
        moment_min=Min(LENGTH),
        moment_mean=Avg(LENGTH),
        moment_max=Max(LENGTH),
        ratio=Avg(ratio),
    )
    videos = Video.objects.filter(pk__in=moments.order_by().values("video")).aggregate(
        videos=Count("pk"),
        video_seconds=Sum("duration_s"),
        video_min=Min("duration_s"),
        video_mean=Avg("duration_s"),
        video_max=Max("duration_s"),
    )
    hours = {
        "moment_hours": (totals.pop("seconds") or 0) / HOUR_S,
        "video_hours": (videos.pop("video_seconds") or 0) / HOUR_S,
    }
    return {**totals, **videos, **hours}


def train_set_figures(train_set: TrainSet) -> dict[str, Any]:
    """The same of what a training set ranks, from its table."""
    with train_set.parquet.open("rb") as source:
        spans = spans_of(source)
    lengths = [end - start for _, start, end, _ in spans]
    videos = {name: duration for name, _, _, duration in spans}
    ratios = [(end - start) / duration for _, start, end, duration in spans]
    figures: dict[str, Any] = {
        "moments": len(spans),
        "videos": len(videos),
        "ratio": sum(ratios) / len(ratios) if ratios else None,
    }
    for name, values in (("moment", lengths), ("video", list(videos.values()))):
        least_mean_most = (min(values), sum(values) / len(values), max(values)) if values else (None, None, None)
        figures |= dict(zip((f"{name}_min", f"{name}_mean", f"{name}_max"), least_mean_most, strict=True))
        figures[f"{name}_hours"] = sum(values) / HOUR_S
    return figures


Figures = Mapping[str, Any]
MOST_BINS = 50  # numbers of words with a bin of their own
IN_SIGHT = 0.99  # of the texts have one; longer ones share the last
STEP = 0.05  # of similarities
NAMES = {
    "all": "All",
    "kind video": "Of the video",
    "kind subtitle": "Of the speech",
    "kind both": "Of both",
    "split val": "Validation queries",
    "split test": "Test queries",
    "split train": "Training queries",
}
SIDES = ("descriptions", "captions")
MEASURES = ("texts", "distinct", "vocabulary", "with_names")
COLUMNS = ("group", "texts", "measure", "value")
HISTOGRAM_COLUMNS = ("group", "texts", "histogram", "from", "to", "count")


def group_name(group: str) -> str:
    return NAMES.get(group) or f"Query set {group.removeprefix('set ')}"


def words_histogram(figures: Figures) -> Histogram:
    """How many descriptions and captions have each number of words; the last bin holds all longer ones."""
    lengths = [dict(figures[side]["lengths"]) for side in SIDES]
    last = _last_bin(lengths)
    bins = []
    for words in range(last + 1):
        tick = str(words) if words % 5 == 0 and last - words > 2 else ""  # room for the word at the end
        counts = tuple(side.get(words, 0) for side in lengths)
        bins.append(Bin(f"{words} word{'' if words == 1 else 's'}", counts, tick))
    beyond = tuple(sum(n for words, n in side.items() if words > last) for side in lengths)
    return Histogram([*bins, Bin(f"more than {last} words", beyond, "more")] if any(beyond) else bins, SIDES)


def _last_bin(lengths: Sequence[Mapping[int, int]]) -> int:
    """The number of words up to which nearly all texts are, of the side with the longer ones."""
    lasts = [10]
    for side in lengths:
        rest, total = sum(side.values()), sum(side.values())
        for words in sorted(side):
            rest -= side[words]
            if rest <= total * (1 - IN_SIGHT):
                lasts.append(words)
                break
    return min(max(lasts), MOST_BINS)


def similarity_histogram(figures: Figures, *, limit: float) -> Histogram:
    """Captions by their similarity to the description, from 0 or the least up to 1; a line where the check fails."""
    counts = {round(low / STEP): n for low, _, n in figures["similarity"]["bins"]}
    first, end = min([0, *counts]), round(1 / STEP)
    bins = [
        Bin(
            f"{at * STEP:.2f} to {(at + 1) * STEP:.2f}", (counts.get(at, 0),), f"{at * STEP:.1f}" if at % 2 == 0 else ""
        )
        for at in range(first, end)
    ]
    return Histogram(bins, ("captions",), ticks_at=0, mark=limit / STEP - first)


def measure_rows(data: Figures) -> Iterator[tuple[str, str, str, object]]:
    """The figures in long form: group, texts, measure, value."""
    for figures in data["groups"]:
        group = figures["group"]
        for side in SIDES:
            yield from ((group, side, name, figures[side][name]) for name in MEASURES)
            yield from ((group, side, f"words_{name}", _rounded(n)) for name, n in figures[side]["words"].items())
            yield from ((group, side, f"first_word {word}", n) for word, n in figures[side]["first_words"])
        yield group, "both", "pairs", figures["pairs"]
        yield group, "both", "changed", figures["changed"]
        yield group, "both", "similarity_texts", figures["similarity"]["texts"]
        yield group, "both", "similarity_mean", _rounded(figures["similarity"]["mean"])
        yield group, "both", "replaced", figures["replaced"]
        yield from ((group, "both", f"replacement {word}", n) for word, n in figures["replacements"])
    for column, measure, value in value_rows(data.get("collection", [])):
        yield column, "collection", measure, value
    for row in data["candidates"]:
        for name in ("queries", "mean", "least", "most"):
            yield f"split {row['split']}", "candidates", f"rank_{row['rank']}_{name}", _rounded(row[name])


def histogram_rows(data: Figures) -> Iterator[tuple[str, str, str, object, object, int]]:
    """The histograms in long form; a bin goes from its first number up to, but without, its second."""
    for figures in data["groups"]:
        group = figures["group"]
        for side in SIDES:
            yield from ((group, side, "words", words, words + 1, n) for words, n in figures[side]["lengths"])
        yield from ((group, "both", "similarity", low, high, n) for low, high, n in figures["similarity"]["bins"])


def _rounded(value: float | None) -> object:
    return "" if value is None else round(value, 6)
