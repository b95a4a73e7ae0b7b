"""Ground truth of another form than a release has, the measures that each form has, and a run's values by them. Pure.

Every value comes from the function that ``moment-retrieval score`` calls for the same files and options.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from moment_retrieval import formats
from moment_retrieval.entries import value_positions
from moment_retrieval.errors import CorpusNeeded, EmptyFile, WrongFormat
from moment_retrieval.formats import CODECS, FileFormat, SourceFile
from moment_retrieval.formats.matrices import Relevance, is_matrix, parse_relevance, parse_similarity
from moment_retrieval.formats.qvhighlights import HighlightTruth
from moment_retrieval.metrics import pool_rank, recall
from moment_retrieval.metrics.highlights import highlights
from moment_retrieval.metrics.matrix import MatrixScores, check_finite, check_owners, matrix_scores
from moment_retrieval.metrics.ndcg_iou import Convention, Gain
from moment_retrieval.metrics.report import all_warnings, check_videos
from moment_retrieval.metrics.scores import Scores
from moment_retrieval.tables import JudgedTable, RunTable

Labels = Relevance | JudgedTable
NAMES_NEEDED = "a video is an index; name the videos as the ground truth does"
MOST_CELLS = 40_000_000
"""Of an uploaded matrix: reading and scoring one of 37 million, the test set of EPIC-Kitchens-100, peaks at 1.14 GB,
and an upload has 2 GB (``UPLOADS_AT_ONCE``); the library itself takes more."""
NO_SALIENCY = "the run predicts no saliency (pred_saliency_scores), so it has no score of highlights"


class Form(StrEnum):
    """The forms of ground truth that have a leaderboard of their own."""

    TVR = "tvr"
    QVHIGHLIGHTS = "qvhighlights"
    MVMR = "mvmr"
    MATRIX = "matrix"


class MeasureFamily(StrEnum):
    """Measures that are chosen together."""

    VCMR = "vcmr"
    SVMR = "svmr"
    VR = "vr"
    RANK = "rank"
    WINDOWS = "windows"
    SALIENCY = "saliency"
    SEMANTIC = "semantic"
    INSTANCE = "instance"


FORM_LABELS: Mapping[Form, str] = {
    Form.TVR: "TVR: one moment a query (JSON lines)",
    Form.QVHIGHLIGHTS: "QVHighlights: windows and saliency (JSON lines)",
    Form.MVMR: "MVMR: several positives and a pool of videos a query (JSON)",
    Form.MATRIX: "Matrix of relevance, videos × captions (.npy, .npz)",
}
FAMILY_LABELS: Mapping[MeasureFamily, str] = {
    MeasureFamily.VCMR: "VCMR",
    MeasureFamily.SVMR: "SVMR",
    MeasureFamily.VR: "VR",
    MeasureFamily.RANK: "Rank n@m",
    MeasureFamily.WINDOWS: "QVHighlights moments",
    MeasureFamily.SALIENCY: "QVHighlights highlights",
    MeasureFamily.SEMANTIC: "Semantic nDCG",
    MeasureFamily.INSTANCE: "Instance metrics",
}
ABOUT: Mapping[MeasureFamily, str] = {
    MeasureFamily.VCMR: "the share of queries with their moment of the corpus among the first K.",
    MeasureFamily.SVMR: "the share of queries with their moment among the first K of the right video.",
    MeasureFamily.VR: "the share of queries with their video among the first K.",
    MeasureFamily.RANK: "the share of queries with a positive moment of IoU m or more among the first n of their pool.",
    MeasureFamily.WINDOWS: "mAP and R1 of the predicted windows, for all, short, middle and long ones.",
    MeasureFamily.SALIENCY: "mAP and HIT@1 of the predicted saliency, for clips from fair to very good.",
    MeasureFamily.SEMANTIC: "nDCG by the relevance of every video and caption, in both directions and as their mean.",
    MeasureFamily.INSTANCE: "R@K, median, mean and geometric mean by the rank of the item that belongs to the query.",
}
FAMILIES_BY_FORM: Mapping[Form, tuple[MeasureFamily, ...]] = {
    Form.TVR: (MeasureFamily.VCMR, MeasureFamily.SVMR, MeasureFamily.VR),
    Form.QVHIGHLIGHTS: (MeasureFamily.WINDOWS, MeasureFamily.SALIENCY),
    Form.MVMR: (MeasureFamily.RANK,),
    Form.MATRIX: (MeasureFamily.SEMANTIC, MeasureFamily.INSTANCE),
}
OPTIONS_BY_FORM: Mapping[Form, tuple[str, ...]] = {
    Form.TVR: ("cutoffs", "thresholds", "nms", "convention"),
    Form.QVHIGHLIGHTS: (),
    Form.MVMR: ("cutoffs", "thresholds", "nms"),
    Form.MATRIX: ("gain", "directions"),
}
OPTION_NAMES = tuple(dict.fromkeys(chain.from_iterable(OPTIONS_BY_FORM.values())))
DIRECTIONS = ("v2t", "t2v")
QUERY_TYPES = ("v", "t", "vt")  # of TVR: answered by the pictures, the subtitles, both
BY_TYPE = "type "  # begins the part of a setting that says which queries a mean is over
MAIN_MEASURES: Mapping[MeasureFamily, tuple[str, ...]] = {
    MeasureFamily.WINDOWS: ("MR-full-mAP", "MR-full-mAP@0.5", "MR-full-mAP@0.75", "MR-full-R1@0.5", "MR-full-R1@0.7"),
    MeasureFamily.SALIENCY: ("HL-min-VeryGood-mAP", "HL-min-VeryGood-Hit1"),
}
"""The first columns of a family of many measures; it is ranked by the first. Of QVHighlights they are those by which
its paper compares methods (Lei et al., NeurIPS 2021)."""
LOW_IS_BEST = ("MedR", "MeanR")  # ranks


@dataclass(frozen=True)
class Options:
    """How the measures of one run are computed.

    Attributes:
        cutoffs: K of recall, n of Rank n@m.
        thresholds: IoU of recall, m of Rank n@m; each in (0, 1].
        nms: suppress moments that overlap a better one more; None: off for recall, 0.5 for Rank n@m.
        convention: of recall after a suppression: how moments of equal score stand.
        gain: of the semantic nDCG.
        directions: of the measures of a matrix: from videos to captions, from captions to videos.
    """

    cutoffs: tuple[int, ...] = recall.KS
    thresholds: tuple[float, ...] = recall.MUS
    nms: float | None = None
    convention: Convention = Convention.PAPER
    gain: Gain = Gain.EXPONENTIAL
    directions: tuple[str, ...] = DIRECTIONS

    @classmethod
    def of(cls, form: Form, values: Mapping[str, Any]) -> "Options":
        """Return the options that a run keeps as JSON; where one is missing, that of its form."""
        first = DEFAULTS.get(form, cls())
        return cls(
            cutoffs=tuple(values.get("cutoffs", first.cutoffs)),
            thresholds=tuple(values.get("thresholds", first.thresholds)),
            nms=values.get("nms", first.nms),
            convention=Convention(values.get("convention", first.convention)),
            gain=Gain(values.get("gain", first.gain)),
            directions=tuple(values.get("directions", first.directions)),
        )


DEFAULTS: Mapping[Form, Options] = {
    Form.TVR: Options(),
    Form.MVMR: Options(pool_rank.NS, pool_rank.MS, pool_rank.NMS),
}


class Value(NamedTuple):
    """A run's mean by one measure; ``setting`` says what else it depends on, and is empty where that is nothing: gain,
    suppression, and of which type the queries are where it is over those alone."""

    family: MeasureFamily
    metric: str
    setting: str
    value: float


@dataclass(frozen=True)
class Result:
    values: list[Value]
    n_queries: int  # that enter the means; of a matrix videos and captions
    n_missing: int  # that the run does not answer
    warnings: list[str] = field(default_factory=list)


def read_labels(source: SourceFile, form: Form | None = None) -> tuple[Form, Labels]:
    """Return ground truth and its form, which is seen from the content unless it is named. Raises ScoringError, with
    the line where the file has lines."""
    form = form or form_of(source)
    if form is Form.MATRIX:
        relevance = parse_relevance(source.data, most=MOST_CELLS)
        check_finite("relevance", relevance.matrix)
        if not (relevance.matrix > 0).any():
            raise EmptyFile("nothing is relevant")
        if relevance.owners is not None:
            check_owners(relevance.owners, relevance.matrix.shape)
        return form, relevance
    judged = CODECS[FileFormat(form.value)].read_ground_truth(source)
    if not judged.query_ids:
        raise EmptyFile("no query")
    return form, judged


def form_of(source: SourceFile) -> Form:
    """Return the form of a file of ground truth, by its content. Raises WrongFormat, EmptyFile."""
    if is_matrix(source.data):
        return Form.MATRIX
    file_format, is_truth = formats.detect_format(source)
    if is_truth is False:
        raise WrongFormat(f"this looks like a run in the form {file_format.value}; ground truth is needed")
    if file_format.value not in set(Form):
        raise WrongFormat(
            f"this looks like the form {file_format.value}; ground truth is taken here in the forms {', '.join(Form)}. "
            "What this project judged is scored by its releases"
        )
    return Form(file_format.value)


def query_count(labels: Labels) -> int:
    """Return how many queries there are; of a matrix, its videos and captions."""
    return sum(labels.matrix.shape) if isinstance(labels, Relevance) else len(labels)


def video_count(labels: Labels) -> int | None:
    """Return how many of the items of a matrix are videos; None for other forms."""
    return labels.matrix.shape[0] if isinstance(labels, Relevance) else None


def families_of(form: Form, labels: Labels) -> list[MeasureFamily]:
    """Return the families that the ground truth has what it takes for: instance metrics need to know whose each caption
    is, highlights need saliency."""
    missing = set()
    if isinstance(labels, Relevance):
        videos, captions = labels.matrix.shape
        missing = set() if labels.owners is not None or videos == captions else {MeasureFamily.INSTANCE}
    elif isinstance(labels, HighlightTruth) and not any(saliency.size for saliency in labels.saliency):
        missing = {MeasureFamily.SALIENCY}
    return [family for family in FAMILIES_BY_FORM[form] if family not in missing]


def run_scored(labels: Labels, source: SourceFile, families: Sequence[MeasureFamily], options: Options) -> Result:
    """Score a run by the families of measures.

    Raises:
        ScoringError: the file cannot be used, it answers queries that the ground truth does not have, or it holds
            nothing that one of the families scores.
    """
    try:
        if isinstance(labels, Relevance):
            result = _matrix_scored(labels, source, families, options)
        else:
            lists = lists_of(source, families)
            result = _lists_scored(labels, lists, options)
            missing = [family.value.upper() for family in families if family not in lists]
            result.warnings.extend(f"the submission has no list of the task {task}" for task in missing)
    except CorpusNeeded as error:
        error.problem = NAMES_NEEDED  # the library's names an option of its command
        raise
    if not result.values:
        raise EmptyFile(". ".join(["the run has no score by the chosen measures", *result.warnings]))
    return result


def _matrix_scored(
    labels: Relevance, source: SourceFile, families: Sequence[MeasureFamily], options: Options
) -> Result:
    similarity = parse_similarity(source.data, shape=labels.matrix.shape, most=MOST_CELLS)
    scores = matrix_scores(similarity, labels.matrix, labels.owners, gain=options.gain)
    values = []
    for name, value in scores.mean.items():
        measure, _, direction = name.partition("-")
        family = MeasureFamily.SEMANTIC if measure == "nDCG" else MeasureFamily.INSTANCE
        is_requested = direction in options.directions if direction else set(options.directions) == set(DIRECTIONS)
        if family in families and is_requested:
            setting = f"gain {options.gain.value}" if family is MeasureFamily.SEMANTIC else ""
            values.append(Value(family, name, setting, value))
    n_queries, warnings = _matrix_counts(labels, scores, families, options)
    return Result(_numbers(values), n_queries, 0, warnings)


def _matrix_counts(
    labels: Relevance, scores: MatrixScores, families: Sequence[MeasureFamily], options: Options
) -> tuple[int, list[str]]:
    """Return how many videos and captions enter a mean of the run, and a sentence on those that nothing is relevant to:
    the semantic nDCG has no part in them, the instance metrics leave out captions without a video."""
    n_videos, n_captions = labels.matrix.shape
    has_owner = np.full(n_captions, True) if labels.owners is None else labels.owners >= 0
    masks = {"v2t": np.full(n_videos, True), "t2v": has_owner}
    values = {"v2t": scores.values[:n_videos, 0], "t2v": scores.values[n_videos:, 1]}
    n_queries, items = 0, []
    for direction, item in (("v2t", "video"), ("t2v", "caption")):
        if direction not in options.directions:
            continue
        is_relevant = ~np.isnan(values[direction])
        mask = masks[direction] if MeasureFamily.INSTANCE in families else np.zeros_like(is_relevant)
        if MeasureFamily.SEMANTIC in families:
            mask = mask | is_relevant
            if n_skipped := int((~is_relevant).sum()):
                items.append(f"{n_skipped} {item}{'' if n_skipped == 1 else 's'}")
        n_queries += int(mask.sum())
    sentence = f"the semantic nDCG leaves out {' and '.join(items)}, to which nothing is relevant"
    return n_queries, [sentence] if items else []


def lists_of(source: SourceFile, families: Sequence[MeasureFamily]) -> dict[MeasureFamily, RunTable]:
    """Return the ranked lists that each family scores: of a TVR submission those of its task, where it has that task;
    else the same for all. Raises ScoringError."""
    file_format, is_truth = formats.detect_format(source)
    is_submission = file_format is FileFormat.TVR and not is_truth
    if not is_submission or not set(families) & set(FAMILIES_BY_FORM[Form.TVR]):
        _, table = formats.parse_with_format(source)
        return dict.fromkeys(families, table)
    tasks = value_positions(source.text, "submission")
    lists = {}
    for family in families:
        if (task := family.value.upper()) in tasks:
            _, lists[family] = formats.parse_with_format(replace(source, task=task), file_format)
    if not lists:
        requested = ", ".join(family.value.upper() for family in families)
        raise WrongFormat(f"the submission has no list of the task {requested}")
    return lists


def _lists_scored(labels: JudgedTable, lists: Mapping[MeasureFamily, RunTable], options: Options) -> Result:
    values: list[Value] = []
    warnings: dict[str, None] = {}
    n_queries = n_missing = 0
    for family, run in lists.items():
        check_videos(run, labels)
        scores = _scores(family, run, labels, options)
        names = _names(family, scores)
        setting = _setting(family, scores)
        values += [Value(family, name, setting, scores.mean[measure]) for name, measure in names]
        for query_type in types_of(scores.kinds):
            means = scores.by_kind[query_type]
            setting_of_type = ", ".join(filter(None, (setting, f"{BY_TYPE}{query_type}")))
            values += [Value(family, name, setting_of_type, means[measure]) for name, measure in names]
        n_queries, n_missing = len(scores.query_ids), max(n_missing, len(scores.missing))
        warnings |= dict.fromkeys(all_warnings(run, labels, has_times=family is not MeasureFamily.VR))
        if family is MeasureFamily.SALIENCY and not names:
            warnings[NO_SALIENCY] = None
    return Result(_numbers(values), n_queries, n_missing, list(warnings))


def _scores(family: MeasureFamily, run: RunTable, labels: JudgedTable, options: Options) -> Scores:
    ks, mus = options.cutoffs, options.thresholds
    if family is MeasureFamily.RANK:
        return pool_rank.rank_in_pool(run, labels, ns=ks, ms=mus, nms=options.nms or pool_rank.NMS)
    if family in (MeasureFamily.WINDOWS, MeasureFamily.SALIENCY):
        return highlights(run, labels)
    task, convention = recall.Task(family.value.upper()), options.convention
    return recall.recall(run, labels, task=task, ks=ks, mus=mus, nms=options.nms, convention=convention)


def _names(family: MeasureFamily, scores: Scores) -> list[tuple[str, Any]]:
    """Return the measures of a family by name; those of QVHighlights are computed together and selected by it."""
    prefix = {MeasureFamily.WINDOWS: "MR-", MeasureFamily.SALIENCY: "HL-"}.get(family, "")
    return [(str(measure), measure) for measure in scores.measures if str(measure).startswith(prefix)]


def _setting(family: MeasureFamily, scores: Scores) -> str:
    nms = scores.facts.get("nms", "off")
    if nms == "off" or family is MeasureFamily.VR:
        return ""
    ties = ", ties released" if scores.facts.get("convention") == Convention.RELEASED.value else ""
    return f"nms {nms}{ties}"


def types_of(kinds: Sequence[str]) -> list[str]:
    """Return the types of TVR's queries that there are, none where all queries are of one."""
    types = [query_type for query_type in QUERY_TYPES if query_type in kinds]
    return types if len(set(kinds)) > 1 else []


def setting_parts(setting: str) -> tuple[str, str]:
    """Return what a value depends on, and the type of the queries that it is over; empty where it is over all."""
    base, _, query_type = setting.rpartition(BY_TYPE)
    return (base.removesuffix(", "), query_type) if query_type in QUERY_TYPES else (setting, "")


def _numbers(values: Iterable[Value]) -> list[Value]:
    """Return the values but those that no query has a part in."""
    return [value for value in values if not math.isnan(value.value)]


def measure_position(family: str, metric: str) -> int:
    """Return where a measure is listed: the main ones of its family in their order, and all others behind them."""
    main = MAIN_MEASURES.get(MeasureFamily(family), ())
    return main.index(metric) if metric in main else len(main)


def is_low_best(metric: str) -> bool:
    """Whether the least value is the best: a rank."""
    return metric.startswith(LOW_IS_BEST)


def about_families(families: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each family with its label and sentence, for a form."""
    for family in map(MeasureFamily, families):
        yield family.value, f"{FAMILY_LABELS[family]}: {ABOUT[family]}"
