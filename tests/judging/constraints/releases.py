"""Releases and their words."""

from judging.models import Release
from tests.factories import ProjectFactory
from tests.judging.constraints.writes import More, Refused, Write, change


def release(state: str = "preparing") -> Release:
    files = {"archive": "releases/a.zip", "archive_sha256": "0" * 64}
    return Release.objects.create(project=ProjectFactory(), version=1, state=state, **files)


def ready() -> Release:
    return release("ready")


def ready_deleted() -> Write:
    made = ready()
    return made.delete


KEPT = {"archive": "releases/b.zip", "archive_sha256": "1" * 64, "manifest": {"counts": {}}, "state": "preparing"}
WORDS = "rows of judging_release are kept"
REFUSED: Refused = {
    "release_failed_says_why": change(release, state="failed"),
    "release_done_within_total": change(release, done=1),
}
MORE: More = {
    **{f"a ready release keeps its {field}": (WORDS, change(ready, **{field: KEPT[field]})) for field in KEPT},
    "a ready release is not deleted": (WORDS, ready_deleted),
}
TRIGGERS: set[str] = {"release_ready_is_kept"}
