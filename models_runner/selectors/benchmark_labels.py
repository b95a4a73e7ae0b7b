"""What keeps numbers of ours from being compared with published ones, in words."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from judging.models import Release
from models_runner.experiment_settings import END_OFFSET_S, changed
from models_runner.models import Experiment, Run
from models_runner.published_values import SPLITS, TVR_RANKING

CANDIDATES = 10  # videos that CONQUER looks at, as released
HERO = "the released CONQUER took its candidates from HERO"
TEXTS = ("subtitle", "query")
SEEN_AND_HEARD = ("video", "subtitle")  # made here, they cannot be the published ones; queries' model is public
CAPTIONS = (
    "Training sets of release {} are made of captions and queries drawn from them, never of descriptions with names."
)
NAMES = (
    "Training sets of release {} hold descriptions as they were brought, never rewritten: {} captions and {} "
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


class Standing(NamedTuple):
    """How a release stands to the published values.

    Attributes:
        differs: what is other for certain.
        words: the same in a sentence.
        trained_on: of which texts training sets are made, in a sentence.
    """

    differs: tuple[str, ...]
    words: str
    trained_on: str

    @property
    def verdict(self) -> str:
        """For a cell."""
        return "not comparable" if self.differs else "not checked"


def standing_of(release: Release, experiments: Iterable[Experiment]) -> Standing:
    videos = release.manifest["counts"].get("videos", 0)
    queries = dict(release.truths.values_list("split", "n_queries"))
    differs = [] if videos == TVR_RANKING.videos else [f"other videos ({videos:,} instead of {TVR_RANKING.videos:,})"]
    others = [
        f"{queries.get(split, 0):,} of {split} instead of {TVR_RANKING.queries[split]:,}"
        for split in SPLITS
        if queries.get(split, 0) != TVR_RANKING.queries[split]
    ]
    differs += [f"other queries ({', '.join(others)})"] if others else []
    if any(_features(one)[0] for one in experiments):
        differs.append("other features")
    words = f"Not comparable with the published values: {'; '.join(differs)}." if differs else SAME_COUNTS
    return Standing(tuple(differs), words, trained_on(release))


def trained_on(release: Release) -> str:
    """Captions; or descriptions that were not rewritten when the release was made, which must be said."""
    counts = release.manifest["counts"]
    if "captions_as_described" not in counts:
        return NOT_COUNTED.format(release.version)
    captions, queries = counts["captions_as_described"], counts["train_queries_as_described"]
    words = NAMES if captions or queries else CAPTIONS
    return words.format(release.version, f"{captions:,}", f"{queries:,}")


def notes_of(experiment: Experiment, release: Release) -> tuple[str, ...]:
    """What sets an experiment apart from the published setting, the ends and candidates always."""
    notes = [_features(experiment)[1]]
    if experiment.baseline != Experiment.Baseline.RELOCLNET:
        notes.append(_ends(experiment))
    if experiment.candidates is not None:
        videos = experiment.options.get("decoding", {}).get("videos", CANDIDATES)
        notes.append(f"(candidates: {experiment.candidates.system}, top {videos}); {HERO}")
    if settings := changed(experiment.options, experiment.baseline, experiment.top_n):
        notes.append("settings: " + ", ".join(f"{name} {value}" for name, value in settings))
    if experiment.release_id != release.pk:
        notes += [f"trained on release {experiment.release.version}", trained_on(experiment.release)]
    if experiment.labels == Run.Labels.SIMILARITY:
        notes.append("labels by similarity for training and evaluation")
    return tuple(notes)


def _ends(experiment: Experiment) -> str:
    released = END_OFFSET_S[experiment.baseline]
    offset = experiment.options.get("decoding", {}).get("end_offset_s", released)
    return f"ends + {offset:g} s, " + ("as published" if offset == released else f"published + {released:g} s")


def _features(experiment: Experiment) -> tuple[bool, str]:
    """Whether they are other than the published ones for certain; and what they are called.

    Certain are other widths, and features of videos or subtitles that were made here.
    """
    published = {"video": TVR_RANKING.widths[experiment.baseline], **dict.fromkeys(TEXTS, TVR_RANKING.text_width)}
    held: dict[str, Mapping[str, object]] = experiment.features
    told = [f"{kind} {_told(held[kind])}" if kind in held else f"no {kind}" for kind in published]
    is_other = any(kind not in held or held[kind].get("width", width) != width for kind, width in published.items())
    is_other = is_other or any(held[kind].get("made_by") for kind in SEEN_AND_HEARD)
    return is_other, f"features: {', '.join(told)}"


def _told(features: Mapping[str, object]) -> str:
    width, checksum = features.get("width"), str(features.get("checksum", ""))
    more = ([f"{width:,} wide"] if isinstance(width, int) else []) + ([_short(checksum)] if checksum else [])
    more += [f"made here by {made_by}"] if (made_by := features.get("made_by")) else []
    return f"{features['name']}" + (f" ({', '.join(more)})" if more else "")


def _short(checksum: str) -> str:
    return checksum.rpartition(":")[2][:8]
