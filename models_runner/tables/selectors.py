"""The tables of the papers over a release: baselines by N, K, mu and split, beside what is published of them. What
keeps ours from being compared with the published ones is said in words."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import QuerySet

from accounts.models import Project
from judging.models import Release
from models_runner.experiments.settings import settings_changed
from models_runner.leaderboard.selectors.leaderboard import known_or_first, release_of_query
from models_runner.models import Experiment, Run, Score, Scoring, Training
from models_runner.tables import published_values as published
from models_runner.tables.published_values import SPLITS
from moment_retrieval.metrics.ndcg_iou import Convention, Gain
from moment_retrieval.metrics.recall import RecallMeasure, Task, recall_name
from moment_retrieval.settings import RELEASED

HERO = "the released CONQUER took its candidates from HERO"
TEXTS = ("subtitle", "query")
SEEN_AND_HEARD = ("video", "subtitle")  # made here, they cannot be the published ones; queries' model is public
CAPTIONS = (
    "Training sets of release {} are made of captions and queries drawn from them, never of descriptions with names."
)
NAMES = (
    "Training sets of release {} hold descriptions as they were imported, never rewritten: {} captions and {} "
    "queries. Names in them are trained on."
)
NOT_COUNTED = (
    "Whether training sets of release {} hold descriptions with names is not known: it was made before they were "
    "counted."
)
SAME_COUNTS = (
    "As many videos and queries as TVR-Ranking. Whether moments, grades and features are the published ones is not "
    "checked: no checksum of those is known."
)
CONVENTIONS = (Convention.RELEASED.value, Convention.PAPER.value)
SETTING = ("experiment__baseline", "experiment__top_n")
SETTINGS = tuple((baseline, n) for baseline in published.BASELINES for n in published.NS)


class TableStatus(NamedTuple):
    """How a release stands to the published values."""

    words: str  # what is other for certain, in a sentence
    trained_on: str  # of which texts training sets are made, in a sentence


def status_of(release: Release, experiments: Iterable[Experiment]) -> TableStatus:
    videos = release.manifest["counts"].get("videos", 0)
    queries = dict(release.truths.values_list("split", "n_queries"))
    differs = [] if videos == published.VIDEOS else [f"other videos ({videos:,} instead of {published.VIDEOS:,})"]
    others = [
        f"{queries.get(split, 0):,} of {split} instead of {published.QUERIES[split]:,}"
        for split in SPLITS
        if queries.get(split, 0) != published.QUERIES[split]
    ]
    differs += [f"other queries ({', '.join(others)})"] if others else []
    if any(_features(one)[0] for one in experiments):
        differs.append("other features")
    words = f"Not comparable with the published values: {'; '.join(differs)}." if differs else SAME_COUNTS
    return TableStatus(words, trained_on(release))


def trained_on(release: Release) -> str:
    """Captions; or descriptions that were not rewritten when the release was made, which must be said."""
    counts = release.manifest["counts"]
    if "captions_as_described" not in counts:
        return NOT_COUNTED.format(release.version)
    captions, queries = counts["captions_as_described"], counts["train_queries_as_described"]
    words = NAMES if captions or queries else CAPTIONS
    return words.format(release.version, f"{captions:,}", f"{queries:,}")


def notes_of(experiment: Experiment, release: Release) -> tuple[str, ...]:
    """List differences from the published setting, the ends and candidates always."""
    notes = [_features(experiment)[1]]
    if experiment.baseline != Experiment.Baseline.RELOCLNET:
        notes.append(_ends(experiment))
    if experiment.candidates is not None:
        videos = experiment.options.get("decoding", {}).get("videos", RELEASED[experiment.baseline].decoding.videos)
        notes.append(f"(candidates: {experiment.candidates.system}, top {videos}); {HERO}")
    if settings := settings_changed(experiment.options, experiment.baseline, experiment.top_n):
        notes.append("settings: " + ", ".join(f"{name} {value}" for name, value in settings.items()))
    if experiment.release_id != release.pk:
        notes += [f"trained on release {experiment.release.version}", trained_on(experiment.release)]
    if experiment.labels == Run.Labels.SIMILARITY:
        notes.append("labels by similarity for training and evaluation")
    return tuple(notes)


def _ends(experiment: Experiment) -> str:
    released = RELEASED[experiment.baseline].decoding.end_offset_s
    offset = experiment.options.get("decoding", {}).get("end_offset_s", released)
    return f"ends + {offset:g} s, " + ("as published" if offset == released else f"published + {released:g} s")


def _features(experiment: Experiment) -> tuple[bool, str]:
    """Whether they are other than the published ones for certain; and what they are called. Certain are other widths,
    and features of videos or subtitles that were made here."""
    widths = {"video": published.VIDEO_WIDTHS[experiment.baseline], **dict.fromkeys(TEXTS, published.TEXT_WIDTH)}
    features: dict[str, Mapping[str, object]] = experiment.features
    descriptions = [f"{kind} {_features_text(features[kind])}" if kind in features else f"no {kind}" for kind in widths]
    is_other = any(
        kind not in features or features[kind].get("width", width) != width for kind, width in widths.items()
    )
    is_other = is_other or any(features[kind].get("made_by") for kind in SEEN_AND_HEARD)
    return is_other, f"features: {', '.join(descriptions)}"


def _features_text(features: Mapping[str, object]) -> str:
    width, checksum = features.get("width"), str(features.get("checksum", ""))
    more = [f"{width:,} wide"] if isinstance(width, int) else []
    more += [checksum.rpartition(":")[2][:8]] if checksum else []
    more += [f"made here by {made_by}"] if (made_by := features.get("made_by")) else []
    return f"{features['name']}" + (f" ({', '.join(more)})" if more else "")


ScoreKey = tuple[str, int, float]  # split, K, mu
Values = Mapping[ScoreKey, float]
ByRun = dict[int | None, dict[ScoreKey, float]]  # a seed has no run on a split without judged queries


@dataclass(frozen=True)
class TablesFilters:
    """Filters; unknown ones become the newest release, test, K = 10, released, and a setting of which seeds have
    finished: that of Table 7 if it can be."""

    release: Release
    split: str
    k: int
    convention: str
    of: str  # key of the setting whose seeds are shown

    @property
    def shows_published(self) -> bool:
        """Published values are those of one convention."""
        return self.convention == Convention.RELEASED.value

    def query(self, **changes: object) -> str:
        parameters = {name: getattr(self, name) for name in ("split", "k", "convention", "of")}
        return urlencode({"release": self.release.version, **parameters, **changes})


def setting_key(baseline: str, top_n: int) -> str:
    return f"{baseline}-{top_n}"


def tables_filters(project: Project, query: Mapping[str, str]) -> TablesFilters | None:
    """The tables that ``query`` names; None where no release is ready."""
    release = release_of_query(project, query)
    if release is None:
        return None
    pairs = set(_finished(release).filter(experiment__labels=Run.Labels.JUDGED).values_list(*SETTING).distinct())
    settings = sorted((published.SPREAD_OF, *SETTINGS, *sorted(pairs)), key=lambda setting: setting not in pairs)
    keys = tuple(setting_key(*setting) for setting in settings)
    return TablesFilters(
        release=release,
        split=known_or_first(query.get("split"), ("test", "val")),
        k=int(known_or_first(query.get("k"), tuple(map(str, published.KS)))),
        convention=known_or_first(query.get("convention"), CONVENTIONS),
        of=known_or_first(query.get("of"), keys),
    )


class Cell(NamedTuple):
    """One measure of an experiment: of its best seed, and over its seeds; None where there is no score."""

    best: float | None = None
    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class Line:
    """An experiment in a table."""

    experiment: Experiment
    seeds: dict[int, Values]  # of each finished one; the best on validation comes first
    notes: tuple[str, ...]  # what sets it apart from the published setting
    metrics: tuple[Mapping[str, Mapping[str, float]], ...] = ()  # that each seed reported: by split and name

    @property
    def best_seed(self) -> int:
        return next(iter(self.seeds))

    def cell(self, split: str, k: int, mu: float) -> Cell:
        values = [
            values_by_key[split, k, mu] for values_by_key in self.seeds.values() if (split, k, mu) in values_by_key
        ]
        if not values:
            return Cell()
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return Cell(self.seeds[self.best_seed].get((split, k, mu)), statistics.fmean(values), deviation)

    def recall(self, split: str) -> list[float | None]:
        """Return the mean over seeds of VCMR, in per cent: each of VCMR_KS at each of VCMR_MUS."""
        names = [recall_name(Task.VCMR, RecallMeasure(k, mu)) for mu in published.VCMR_MUS for k in published.VCMR_KS]
        seeds = [metrics[split] for metrics in self.metrics if split in metrics]
        by_name = [[metrics[name] for metrics in seeds if name in metrics] for name in names]
        return [100 * statistics.fmean(values) if values else None for values in by_name]


@dataclass(frozen=True)
class Setting:
    """A baseline trained with N moments of each query: what is published, and the experiments that did so."""

    baseline: str
    top_n: int
    lines: list[Line]

    @property
    def name(self) -> str:
        return f"{Experiment.Baseline(self.baseline).label}, N = {self.top_n}"

    @property
    def key(self) -> str:
        return setting_key(self.baseline, self.top_n)

    @property
    def shown(self) -> list[Line | None]:
        """Its lines; None alone where nothing was trained, as tables have a line then, too."""
        return [*self.lines] or [None]

    def published(self, split: str, k: int, mu: float) -> float | None:
        return published.score_of(self.baseline, self.top_n, k, mu, split)


class Row(NamedTuple):
    """One line of a table at one K."""

    setting: Setting | None
    line: Line | None
    span: int  # so many lines share the setting, which the first of them names
    cells: list[tuple[Cell, float | None]]  # ours and the published value at each mu


@dataclass(frozen=True)
class Tables:
    filters: TablesFilters
    settings: list[Setting]  # those of the papers, in their order, then others; with experiments measured by judgments
    by_similarity: list[Line]  # experiments whose validation and test have labels by similarity
    similarity: Values  # of the site's own run, which ranks by similarity, measured by judgments
    status: TableStatus

    @cached_property
    def chosen(self) -> Setting:
        """The setting whose seeds are shown."""
        return next(setting for setting in self.settings if setting.key == self.filters.of)

    @property
    def lines(self) -> list[Line]:
        return [line for setting in self.settings for line in setting.lines]

    def rows(self, k: int) -> list[Row]:
        """Return the lines of the main table: every setting, with its experiments or alone."""
        rows = []
        for setting in self.settings:
            for index, line in enumerate(setting.shown):
                rows.append(self._row(setting, line, 0 if index else len(setting.shown), k))
        return rows

    def rows_by_similarity(self, k: int) -> list[Row]:
        return [self._row(None, line, 1, k) for line in self.by_similarity]

    def _row(self, setting: Setting | None, line: Line | None, span: int, k: int) -> Row:
        keys = [(self.filters.split, k, mu) for mu in published.MUS]
        ours = [line.cell(*key) if line else Cell() for key in keys]
        theirs = [setting.published(*key) if setting else None for key in keys]
        return Row(setting, line, span, list(zip(ours, theirs, strict=True)))

    def recall_rows(self) -> list[tuple[str, Line | None, list[tuple[float | None, float | None]]]]:
        """Return name, experiment and recall in per cent, ours and published; each baseline has a row at least."""
        rows = []
        for baseline, theirs in published.VCMR.items():
            own: list[Line | None] = [
                line for line in self.lines if line.experiment.baseline == baseline and any(line.metrics)
            ]
            for line in own or [None]:
                ours = line.recall(self.filters.split) if line else [None] * len(theirs)
                rows.append((published.LABELS[baseline], line, list(zip(ours, theirs, strict=True))))
        return rows

    def bounds(self, k: int) -> list[tuple[float | None, float | None]]:
        """Return, at each mu, the score of the site's own run by similarity and the published one, of test alone."""
        ours = [self.similarity.get((self.filters.split, k, mu)) for mu in published.MUS]
        is_published = self.filters.split == published.SIMILARITY_SPLIT
        theirs = published.SIMILARITY[k] if is_published else (None,) * len(published.MUS)
        return list(zip(ours, theirs, strict=True))


def tables(filters: TablesFilters) -> Tables:
    """Return the tables, of finished trainings with a run that is scored on the release, as they were ordered."""
    trainings = _finished(filters.release).select_related("experiment__release", "experiment__candidates__experiment")
    best_first = sorted(trainings, key=lambda one: (one.experiment_id, -(one.best or 0.0), one.seed))
    values = _values(filters, best_first)
    grouped = groupby(best_first, key=lambda training: training.experiment)
    lines = [_line(filters, experiment, own, values) for experiment, own in grouped]
    by_setting: dict[tuple[str, int], list[Line]] = {setting: [] for setting in SETTINGS}
    for line in lines:
        if line.experiment.labels == Run.Labels.JUDGED:
            by_setting.setdefault((line.experiment.baseline, line.experiment.top_n), []).append(line)
    return Tables(
        filters=filters,
        settings=[Setting(*setting, own) for setting, own in by_setting.items()],
        by_similarity=[line for line in lines if line.experiment.labels == Run.Labels.SIMILARITY],
        similarity={key: value for _, key, value in _scores(filters, run__source=Run.Source.SIMILARITY)},
        status=status_of(filters.release, [line.experiment for line in lines]),
    )


def _finished(release: Release) -> QuerySet[Training]:
    return Training.objects.filter(
        experiment__project=release.project_id,
        state=Training.State.DONE,
        val_run__scorings__release=release,
        val_run__scorings__state=Scoring.State.SCORED,
    )


def _line(filters: TablesFilters, experiment: Experiment, trainings: Iterable[Training], values: ByRun) -> Line:
    seeds: dict[int, Values] = {}
    metrics = []
    for training in trainings:
        seeds[training.seed] = {**values.get(training.val_run_id, {}), **values.get(training.test_run_id, {})}
        metrics.append(training.metrics)
    return Line(experiment, seeds, notes_of(experiment, filters.release), tuple(metrics))


def _values(filters: TablesFilters, trainings: Iterable[Training]) -> ByRun:
    """Return the scores of each run on the release."""
    runs = [pk for one in trainings for pk in (one.val_run_id, one.test_run_id)]
    values: ByRun = {}
    for run, key, value in _scores(filters, run__in=runs):
        values.setdefault(run, {})[key] = value
    return values


def _scores(filters: TablesFilters, **which: object) -> list[tuple[int, ScoreKey, float]]:
    scorings = Scoring.objects.filter(
        release=filters.release, state=Scoring.State.SCORED, run__state=Run.State.SCORED, **which
    )
    rows = Score.objects.filter(
        scoring__in=scorings, convention=filters.convention, gain=Gain.EXPONENTIAL.value, k__in=published.KS
    )
    scores = rows.values_list("scoring__run", "scoring__run__split", "k", "mu", "value")
    return [(run, (split, k, mu), value) for run, split, k, mu, value in scores if mu is not None]
