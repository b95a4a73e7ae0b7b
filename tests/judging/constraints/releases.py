"""Releases and their words."""

from functools import partial

from judging.models import Release, ReleaseChange, ReleaseComparison
from tests.factories import ProjectFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, again, change, deletion, maker, twice

FILES = {"archive": "releases/a.zip", "archive_sha256": "0" * 64}
release = maker(Release, project=ProjectFactory, version=1, state="preparing", **FILES)
ready = partial(release, state="ready")
comparison = maker(ReleaseComparison, before=release, after=release)
changed = maker(
    ReleaseChange,
    **{"comparison": comparison, "query_id": 1, "query": "q", "pair_id": 1, "moment": "", "rank": 1},
    **{"before": "1", "after": "2", "number": 1, "number_of_kind": 1, "kind": "changed"},
)


def compared_with_itself() -> Write:
    row = release()
    return lambda: comparison(before=row, after=row)


OTHER_VALUES = {"archive": "releases/b.zip", "archive_sha256": "1" * 64, "manifest": {"counts": {}}}
REFUSED: Refused = {
    "release_failed_says_why": change(release, state="failed"),
    "release_done_within_total": change(release, done=1),
    "comparison_once_per_two_releases": again(comparison, before=release, after=release),
    "comparison_of_two_releases": compared_with_itself,
    "comparison_failed_says_why": change(comparison, state="failed"),
    "change_number_once_per_comparison": twice(changed, "comparison", number_of_kind=2),
    "change_number_of_kind_once_per_comparison": twice(changed, "comparison", number=2),
}
CHANGES: dict[str, Prepare] = {
    f"a ready release keeps its {field}": change(ready, **{field: value})
    for field, value in {**OTHER_VALUES, "state": "preparing"}.items()
}
MORE: More = {"rows of judging_release are kept": {**CHANGES, "a ready release is not deleted": deletion(ready)}}
TRIGGERS = {"release_ready_is_kept"}
