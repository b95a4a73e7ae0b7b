"""Releases and their words."""

from judging.models import Release, ReleaseChange, ReleaseComparison
from tests.factories import ProjectFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, again, change


def release(state: str = "preparing") -> Release:
    files = {"archive": "releases/a.zip", "archive_sha256": "0" * 64}
    return Release.objects.create(project=ProjectFactory(), version=1, state=state, **files)


def ready() -> Release:
    return release("ready")


def ready_deleted() -> Write:
    ready_release = ready()
    return ready_release.delete


def comparison(**values: object) -> ReleaseComparison:
    return ReleaseComparison.objects.create(**{"before": release(), "after": release(), **values})


def changed(**values: object) -> ReleaseChange:
    defaults = {"query_id": 1, "query": "q", "pair_id": 1, "moment": "", "rank": 1, "before": "1", "after": "2"}
    numbers = {"number": 1, "number_of_kind": 1, "kind": "changed"}
    return ReleaseChange.objects.create(**{**defaults, **numbers, **values})


def change_again(**values: object) -> Prepare:
    def prepare() -> Write:
        row = changed(comparison=comparison())
        return lambda: changed(comparison=row.comparison, **values)

    return prepare


def compared_with_itself() -> Write:
    row = release()
    return lambda: comparison(before=row, after=row)


OTHER_VALUES = {
    "archive": "releases/b.zip",
    "archive_sha256": "1" * 64,
    "manifest": {"counts": {}},
    "state": "preparing",
}
WORDS = "rows of judging_release are kept"
REFUSED: Refused = {
    "release_failed_says_why": change(release, state="failed"),
    "release_done_within_total": change(release, done=1),
    "comparison_once_per_two_releases": again(comparison, before=release, after=release),
    "comparison_of_two_releases": compared_with_itself,
    "comparison_failed_says_why": change(comparison, state="failed"),
    "change_number_once_per_comparison": change_again(number_of_kind=2),
    "change_number_of_kind_once_per_comparison": change_again(number=2),
}
MORE: More = {
    **{
        f"a ready release keeps its {field}": (WORDS, change(ready, **{field: OTHER_VALUES[field]}))
        for field in OTHER_VALUES
    },
    "a ready release is not deleted": (WORDS, ready_deleted),
}
TRIGGERS: set[str] = {"release_ready_is_kept"}
