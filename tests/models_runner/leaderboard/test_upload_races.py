"""Two uploads of one person at the same instant."""

from functools import partial

import pytest
from django.core.files.storage import default_storage

from core.exceptions import NotPossible
from judging.models import Release
from models_runner.leaderboard.services import runs
from models_runner.leaderboard.services.runs import AT_WORK
from models_runner.models import Leaderboard, Run
from tests.factories import ProjectFactory
from tests.judging.concurrency.meeting import overlap
from tests.models_runner.acts import GOOD, bring, participant, run_json

UNCOMMITTED = (runs, "audit_record")  # the row is written, nothing is committed


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("per_day", "refused"), [(1, "You have uploaded 1 run within a day"), (5, AT_WORK)])
def test_two_uploads_count_each_other(monkeypatch: pytest.MonkeyPatch, per_day: int, refused: str) -> None:
    """Both passed the look before their file is stored; the second waits for the first's lock, then looks again."""
    release = Release.objects.create(project=ProjectFactory(), version=1, state="ready", archive="1.zip")
    member = participant(release.project)
    Leaderboard.objects.create(project=release.project, uploads_per_day=per_day)
    deleted: list[str] = []
    monkeypatch.setattr(default_storage, "delete", deleted.append)
    monkeypatch.setattr(runs.UPLOADS, "send", lambda key: None)  # nobody reads the first meanwhile
    upload = [partial(bring, member, release, run_json({10: GOOD}), system=name, work=False) for name in "ab"]
    first, second = overlap(monkeypatch, UNCOMMITTED, *upload)
    assert isinstance(second, NotPossible)
    assert str(second).startswith(refused)
    assert Run.objects.filter(owner=member.user).get() == first
    assert len(deleted) == 1
    assert first.file.name not in deleted
