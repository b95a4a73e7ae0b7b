"""Shots, and proposed moments."""

from annotation.models import Proposal, ShotCut, ShotDetection
from tests.factories import NOW, CorpusFactory, VideoFactory
from tests.judging.constraints.writes import More, Refused, again, change, maker, twice

shots = maker(Proposal, corpus=CorpusFactory, method="shots", threshold=3.0)
windows = maker(Proposal, corpus=CorpusFactory, method="windows", step="writing", state="ready", n_moments=0)
segments = maker(
    Proposal, corpus=CorpusFactory, method="uniform", segment_s=5, step="writing", state="ready", n_moments=0
)
detection = maker(
    ShotDetection, video=VideoFactory, detector="adaptive", threshold=3.0, version="1", file="a.mp4", moved_at=NOW
)
boundary = maker(ShotCut, detection=detection, frame=1, at_s=0.5)
REFUSED: Refused = {
    "proposal_open_once_per_corpus": again(shots, corpus=CorpusFactory),
    "proposal_options_suit_its_method": change(shots, threshold=None),
    "proposal_state_is_known": change(shots, state="lost"),
    "proposal_step_suits_its_method": change(windows, step="detecting"),
    "proposal_done_within_total": change(shots, done=1),
    "proposal_failed_says_why": change(shots, state="failed"),
    "proposal_ready_is_counted": change(shots, state="ready"),
    "proposal_done_is_counted": change(windows, state="done"),
    "shot_detection_names_its_detector": change(detection, version=""),
    "shot_detection_threshold_above_0": change(detection, threshold=0),
    "shot_detection_state_is_known": change(detection, state="lost"),
    "shot_detection_failed_says_why": change(detection, state="failed"),
    "shot_detection_done_is_of_a_file": change(detection, state="done", file=""),
    "shot_cut_once_per_frame": twice(boundary, "detection", frame=1, at_s=0.9),
    "shot_cut_once_per_second": twice(boundary, "detection", frame=2, at_s=0.5),
    "shot_cut_is_after_the_first_frame": change(boundary, frame=0),
}
MORE: More = {
    "proposal_options_suit_its_method": {
        "shots have no windows": change(shots, most=90),
        "windows have no segments": change(windows, segment_s=5),
        "a video keeps a window": change(windows, most=0),
        "segments are not of a moment's length": change(segments, segment_s=0.1),
    },
}
