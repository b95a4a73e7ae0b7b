"""Which leaderboard somebody asks for: release, split, measures, and the run that others are tested against."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from accounts.models import Membership, Project
from judging.models import Release
from models_runner.leaderboard.selectors.shown_scores import BLIND_COLUMNS, BLIND_CONVENTION, BLIND_GAIN, is_blind
from models_runner.models import Truth
from moment_retrieval.metrics.board import COLUMNS, Column
from moment_retrieval.metrics.ndcg_iou import Convention, Gain
from moment_retrieval.metrics.report import KS

SPLITS = ("test", "val")
RECALL = "recall"
GROUPS = {**{f"k{k}": f"K = {k}" for k in KS}, RECALL: "R@K"}
FIRST = f"k{KS[0]}"


@dataclass(frozen=True)
class Asked:
    """A leaderboard: what is not known falls back to the newest release, test, K = 10, paper, exponential.

    Attributes:
        is_blind: whether the viewer must not learn the labels, and sees the measures of ``BLIND_COLUMNS`` alone.
    """

    release: Release
    split: str
    group: str
    convention: str
    gain: str
    sort: str
    base: str
    is_blind: bool = False

    @property
    def is_recall(self) -> bool:
        return self.group == RECALL

    @property
    def columns(self) -> list[Column]:
        """The measures shown."""
        return [column for column in self.all_columns if self._is_shown(column)]

    @property
    def all_columns(self) -> list[Column]:
        """The measures under the convention and the gain, whether shown or not."""
        if self.is_blind:
            return list(BLIND_COLUMNS)
        return [c for c in COLUMNS if c.convention in ("", self.convention) and c.gain in ("", self.gain)]

    def _is_shown(self, column: Column) -> bool:
        if self.is_recall:
            return not column.convention
        return bool(column.convention) and self.group == f"k{column.k}"

    @property
    def sorted_by(self) -> Column:
        """The measure by which runs are ranked and tested."""
        return next((column for column in self.columns if column.metric == self.sort), self.columns[0])

    @property
    def place(self) -> int:
        """The number of ``sorted_by`` among the columns of the values that are kept."""
        return COLUMNS.index(self.sorted_by)

    def query(self, **changes: object) -> str:
        """The query string of this leaderboard, changed."""
        held: dict[str, object] = {
            "release": self.release.version,
            "split": self.split,
            "show": self.group,
            "convention": self.convention,
            "gain": self.gain,
            "sort": self.sorted_by.metric,
        }
        return urlencode({**held, **({"base": self.base} if self.base else {}), **changes})


def asked_for(project: Project, given: Mapping[str, str]) -> Asked | None:
    """The leaderboard that ``given`` names; None where no release is ready."""
    release = release_asked(project, given)
    if release is None:
        return None
    splits = splits_of(release)
    return Asked(
        release=release,
        split=known_or_first(given.get("split"), splits or SPLITS),
        group=known_or_first(given.get("show"), tuple(GROUPS)),
        convention=known_or_first(given.get("convention"), tuple(each.value for each in Convention)),
        gain=known_or_first(given.get("gain"), tuple(each.value for each in Gain)),
        sort=given.get("sort", ""),
        base=given.get("base", ""),
    )


def asked_by(membership: Membership, given: Mapping[str, str]) -> Asked | None:
    """The leaderboard that ``given`` names, as far as this person may see it; None where no release is ready."""
    asked = asked_for(membership.project, given)
    if asked is None or not is_blind(membership, asked.split):
        return asked
    group = FIRST if asked.is_recall else asked.group
    return replace(asked, group=group, convention=BLIND_CONVENTION, gain=BLIND_GAIN, base="", is_blind=True)


def release_asked(project: Project, given: Mapping[str, str]) -> Release | None:
    """The release of the version given, else the newest that is ready."""
    ready = project.releases.filter(state=Release.State.READY)
    version = given.get("release", "")
    release = ready.filter(version=int(version)).first() if version.isdecimal() and len(version) < 9 else None
    return release or ready.first()


def splits_of(release: Release) -> tuple[str, ...]:
    """The splits of which the release has judged queries, test first."""
    return tuple(Truth.objects.filter(release=release).order_by("split").values_list("split", flat=True))


def known_or_first(word: str | None, known: tuple[str, ...]) -> str:
    return word if word in known else known[0]
