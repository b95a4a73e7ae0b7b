"""Reads of shots and proposals: what a video has, what would be written, what could not be read, what is in use."""

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Membership, Project, User
from annotation.corpora.selectors import moments_referred_to
from annotation.models import Corpus, Moment, Proposal, ShotCut, ShotDetection, Video
from annotation.proposals.detecting import DETECTOR
from annotation.proposals.rules import SHOTS, shots_between, spans_of

FAILURES_SHOWN = 50


@dataclass(frozen=True)
class Shot:
    """One shot of a video: its number from 1, its first frame counted from 0, and its bounds in seconds."""

    number: int
    first_frame: int
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


def shots_of(video: Video) -> list[Shot]:
    """Return the shots of the video's file in the order of time; none where they were not detected."""
    detection = ShotDetection.objects.filter(video=video, state=ShotDetection.State.DONE, file=video.file.name).first()
    return shots_of_detection(detection) if detection and video.file else []


def shots_of_detection(detection: ShotDetection) -> list[Shot]:
    """Return the shots between the cuts of one video; none where it could not be read."""
    if detection.state != ShotDetection.State.DONE:
        return []
    cuts = sorted(detection.cuts.all(), key=attrgetter("at_s"))
    frames = {0.0: 0} | {row.at_s: row.frame for row in cuts}
    spans = shots_between([row.at_s for row in cuts], detection.video.duration_s)
    return [Shot(number, frames[start_s], start_s, end_s) for number, (start_s, end_s) in enumerate(spans, start=1)]


def project_over(corpus: Corpus, person: User) -> Project | None:
    """Return a project over the corpus that the person belongs to, one that they lead or administer where there is."""
    own = Membership.objects.filter(user=person, project__dataset__corpus=corpus).select_related("project")
    membership = own.filter(roles__overlap=Membership.STAFF).first() or own.first()
    return membership.project if membership else None


def detections_of(corpus: Corpus) -> QuerySet[ShotDetection]:
    """Return what is known of the shots of each video, by the video's name."""
    rows = ShotDetection.objects.filter(video__corpus=corpus).select_related("video").prefetch_related("cuts")
    return rows.order_by("video__name", "pk")


def detections_usable(proposal: Proposal) -> QuerySet[ShotDetection]:
    """Return those of the proposal's corpus that were made with its threshold, of the files that are there now."""
    rows = ShotDetection.objects.filter(video__corpus=proposal.corpus_id, state=ShotDetection.State.DONE)
    current = Exists(Video.objects.filter(pk=OuterRef("video"), file=OuterRef("file")))
    return rows.filter(current, detector=DETECTOR, threshold=proposal.threshold or 0.0)


def cuts_by_video(detections: QuerySet[ShotDetection]) -> dict[int, tuple[float, list[float]]]:
    """Return the duration of each video and its cuts in order, in seconds, by the video's key."""
    lengths = dict(detections.order_by().values_list("video", "video__duration_s"))
    cuts: dict[int, list[float]] = defaultdict(list)
    rows = ShotCut.objects.filter(detection__in=detections.order_by().values("pk")).order_by("at_s")
    for video, at_s in rows.values_list("detection__video", "at_s"):
        cuts[video].append(at_s)
    return {video: (length, cuts[video]) for video, length in lengths.items()}


def failures_of(proposal: Proposal) -> QuerySet[ShotDetection]:
    """Return the videos whose shots could not be detected for this proposal, by name."""
    rows = ShotDetection.objects.filter(video__corpus=proposal.corpus_id, state=ShotDetection.State.FAILED)
    return rows.filter(threshold=proposal.threshold or 0.0).select_related("video").order_by("video__name")


def counts_shown(proposal: Proposal, videos: list[Video]) -> list[tuple[Video, int | None]]:
    """Return how many moments the proposal makes of each of these videos; None where that is not known."""
    if proposal.method != SHOTS:
        return [(video, len(spans_of(proposal.options, duration_s=video.duration_s))) for video in videos]
    cuts = cuts_by_video(detections_usable(proposal).filter(video__in=videos))
    return [
        (video, len(shots_between(cuts[video.pk][1], video.duration_s)) if video.pk in cuts else None)
        for video in videos
    ]


def moments_in_use(proposal: Proposal) -> QuerySet[Moment]:
    """Return the moments that the proposal wrote and that some other row refers to: a description, a candidate."""
    return moments_referred_to(proposal.moments.all())
