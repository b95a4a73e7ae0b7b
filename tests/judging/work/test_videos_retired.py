"""A lead retires a video: its files go, its pairs are withdrawn in every project, and nothing brings it back."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from annotation.corpora.services.video_uploads import video_upload_create
from annotation.corpora.services.videos import VideoRefused, video_check
from annotation.models import Moment, Video
from annotation.pools.services.candidates import pool_of
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.exceptions import NotPossibleNow
from judging.models import Judgment, Pair, WritingClip
from judging.work.services.pairs import pair_restore
from judging.work.services.videos import retired_pairs_withdraw, retired_videos_sweep, video_retire
from tests.conftest import Messages
from tests.factories import (
    ClipAssignmentFactory,
    KnownPairFactory,
    MembershipFactory,
    ProjectFactory,
    VideoUploadFactory,
    WritingClipFactory,
    WritingRoundFactory,
)
from tests.judging.scenario import HandMade

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> HandMade:
    """Its video alpha has a file, and is shown in an exam and to a writer."""
    site = HandMade()
    video = Video.objects.get(name="alpha")
    video.file.save("alpha.mp4", ContentFile(b"film"))
    return site


def alpha() -> Video:
    return Video.objects.get(name="alpha")


def page(client: Client, site: HandMade, **values: str) -> Any:
    client.force_login(site.lead)
    url = reverse("judging:video-retire", args=[site.project.uuid, alpha().uuid])
    return client.post(url, values) if values else client.get(url)


def test_files_go_and_pairs_stay_withdrawn_with_the_reason(client: Client, site: HandMade, messages: Messages) -> None:
    video, moment = alpha(), site.moments[0]
    exam_pair = KnownPairFactory(project=site.project, exam__project=site.project, moment=moment)
    clip = WritingClipFactory(round=WritingRoundFactory(project=site.project), video=video)
    assignment = ClipAssignmentFactory(clip=clip)
    n_judgments = Judgment.objects.count()
    pairs = Pair.objects.filter(candidate__moment__video=video)
    assert f"{pairs.count()} pairs are withdrawn" in page(client, site).content.decode()
    with messages():
        answer = page(client, site, reason=" The owner  asked. ", name="alpha")
    assert answer["Location"] == reverse("annotation:video", args=[site.project.uuid, video.uuid])
    assert "Retired on" in client.get(answer["Location"]).content.decode()
    row = alpha()
    assert (row.file.name, row.poster.name, row.playback.name, row.retired_because) == ("", "", "", "The owner asked.")
    names = [video.file.name, *(one.preview.name for one in site.moments[:2])]
    assert not any(default_storage.exists(name) for name in names)
    states = Moment.objects.order_by("pk").values_list("preview_state", flat=True)
    assert list(states) == ["retired", "retired", "ready", "ready"]
    assert {(pair.state, pair.reason, pair.relevance) for pair in pairs} == {("withdrawn", "withdrawn_by_lead", None)}
    assert Pair.objects.exclude(pk__in=pairs).exclude(state="withdrawn").exists()
    assert Judgment.objects.count() == n_judgments
    reasons = AuditEvent.objects.filter(action="pair.withdraw").values_list("data__reason", flat=True)
    assert list(reasons) == ["The video alpha is retired: The owner asked."] * pairs.count()
    assert AuditEvent.objects.get(action="video.retire").project_id == site.project.pk
    for one in (exam_pair, clip, assignment):
        one.refresh_from_db()
    assert (exam_pair.is_retired, clip.state, assignment.state) == (True, "retired", "returned")
    assert retired_pairs_withdraw(video_id=video.pk) == 0


def test_nothing_brings_it_back(site: HandMade, messages: Messages) -> None:
    VideoUploadFactory(project=site.project, name="alpha")
    with messages():
        video_retire(project=site.project, video=alpha(), lead=site.lead, reason="Rights.")
    video = alpha()
    assert not video.corpus.video_uploads.exists()
    with pytest.raises(VideoRefused, match="was retired on"):
        video_check(corpus=video.corpus, name="alpha")
    with pytest.raises(VideoRefused, match="was retired on"):
        video_upload_create(project=site.project, actor=site.lead, file_name="a.mp4", size=9, replaces=video)
    pair = Pair.objects.filter(candidate__moment__video=video).first()
    assert pair is not None
    with pytest.raises(NotPossibleNow, match="video of this pair is retired"):
        pair_restore(pair=pair, lead=site.lead)
    with pytest.raises(NotPossible, match="retired already"):
        video_retire(project=site.project, video=video, lead=site.lead, reason="Again.")
    assert pool_of(project=site.project).moment_ids.tolist() == [one.pk for one in site.moments[2:]]


def test_a_pair_that_comes_later_is_withdrawn_by_the_sweep(site: HandMade, messages: Messages) -> None:
    with messages():
        video_retire(project=site.project, video=alpha(), lead=site.lead, reason="Rights.")
    later = Pair.objects.filter(candidate__moment=site.moments[1], batch__query__number=31)
    assert later.update(state="open", reason="") == 1
    with messages():
        retired_videos_sweep()
    assert not later.exclude(state="withdrawn").exists()


def test_a_name_is_typed_and_only_whoever_leads_all_projects_may(client: Client, site: HandMade) -> None:
    assert page(client, site, reason="Rights.", name="beta").status_code == 422
    assert page(client, site, reason=" ", name="alpha").status_code == 422
    other = ProjectFactory(corpus=site.corpus)
    answer = page(client, site, reason="Rights.", name="alpha")
    assert answer.status_code == 409 and "1 other project is over this corpus" in answer.content.decode()
    assert alpha().retired_at is None and default_storage.exists(alpha().file.name)
    MembershipFactory(project=other, user=site.lead, role=Membership.Role.LEAD)
    assert page(client, site, reason="Rights.", name="alpha").status_code == 302
    assert AuditEvent.objects.filter(action="video.retire").count() == 2
    assert WritingClip.objects.count() == 0
