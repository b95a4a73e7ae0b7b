"""kill -9 while GIFs are cut: every moment has its GIF and its twin in the end, and none that is offered is half."""

import re
from pathlib import Path

import av
import pytest
from django.core.files.base import ContentFile

from annotation.models import Corpus, Moment
from tests.factories import MomentFactory, VideoFactory
from tests.media import names_in
from tests.production.faults.background.acts import KILLED, file_content, is_whole_gif, kill_at, lead_of, page_of, sweep
from tests.production.faults.latch import latch
from tests.production.topology import Person, Site
from tests.production.topology.project import Scenario
from tests.production.topology.site import eventually

SWEEP = "core.tasks.sweep"
VIDEOS, MOMENTS = 10, 10
ALL = VIDEOS * MOMENTS
PART = ALL // 6
CUT = "NEW.preview_state = 'ready' AND OLD.preview_state = 'missing'"
AT_WORK, FILES = 4, 3  # worker processes; each may leave the GIF, MP4 and poster it was storing, which no row names


def to_cut(corpus: Corpus, clip: bytes) -> None:
    """Videos with moments that nobody has cut."""
    for number in range(VIDEOS):
        video = VideoFactory(corpus=corpus, name=f"walk_{number:02}", index=number, duration_s=4.0)
        video.file.save("clip.mp4", ContentFile(clip))
        for index in range(MOMENTS):
            MomentFactory(video=video, start_s=index / 4, end_s=index / 4 + 1, uncut=True)


def ready(corpus: Corpus) -> list[Moment]:
    return list(Moment.objects.filter(video__corpus=corpus, preview_state=Moment.Preview.READY).order_by("pk"))


def names_of(moments: list[Moment]) -> list[str]:
    return [str(file.name) for moment in moments for file in (moment.preview, moment.preview_clip) if file]


def files_in_use(corpus: Corpus) -> set[str]:
    """Return the names of the files of its previews and posters."""
    posters = Moment.objects.filter(video__corpus=corpus, poster_state="ready").values_list("poster", flat=True)
    return {Path(name).name for name in (*names_of(ready(corpus)), *posters)}


def check_whole(moments: list[Moment], folder: Path) -> None:
    """Everything that is offered can be watched to its end; no file is of two moments."""
    names = names_of(moments)
    assert len(set(names)) == len(names)
    for name in names:
        content = file_content(name)
        if name.endswith(".gif"):
            assert is_whole_gif(content), name
        else:
            (folder / "twin.mp4").write_bytes(content)
            with av.open(str(folder / "twin.mp4")) as clip:
                assert clip.streams.video[0].codec_context.name == "h264"


def counts_shown(page: str) -> dict[str, int]:
    return {state: int(n) for state, n in re.findall(r"<dt>Moments, preview (\w+)</dt><dd>(\d+)</dd>", page)}


def check_all_cut(site: Site, scenario: Scenario, lead: Person, folder: Path) -> None:
    moments = ready(scenario.project.dataset.corpus)
    assert len(moments) == ALL
    check_whole(moments, folder)
    assert counts_shown(page_of(site, lead, "annotation:corpus", scenario.project.uuid)) == {"ready": ALL}


@pytest.mark.parametrize("killed", KILLED)
def test_all_gifs_are_cut_once_after_a_kill(killed: str, site: Site, clip: bytes, tmp_path: Path) -> None:
    scenario, before = Scenario.make(annotators=0), names_in("previews")
    corpus, lead = scenario.project.dataset.corpus, lead_of(site, scenario)
    to_cut(corpus, clip)
    with latch(site, "annotation_moment", when=CUT, passing=PART) as closed:
        sweep(SWEEP)
        kill_at(closed, site, killed)
        if killed != "postgres":
            half = ready(corpus)
            assert len(half) == PART
            check_whole(half, tmp_path)
            counts = counts_shown(page_of(site, lead, "annotation:corpus", scenario.project.uuid))
            assert counts == {"ready": PART, "missing": ALL - PART}
        closed.open()
        site.bring_back(killed)
    sweep(SWEEP)
    eventually(lambda: len(ready(corpus)) == ALL)
    check_all_cut(site, scenario, lead, tmp_path)
    leftovers = names_in("previews") - before - files_in_use(corpus)
    assert len(leftovers) <= FILES * AT_WORK


def test_all_gifs_are_cut_after_the_storage_was_unavailable(bucket: Site, clip: bytes, tmp_path: Path) -> None:
    scenario = Scenario.make(annotators=0)
    corpus, lead = scenario.project.dataset.corpus, lead_of(bucket, scenario)
    to_cut(corpus, clip)
    with latch(bucket, "annotation_moment", when=CUT, passing=PART) as closed:
        sweep(SWEEP)
        kill_at(closed, bucket, "storage")
        half = ready(corpus)
        assert len(half) == PART
    eventually(lambda: any("does not answer just now" in worker.log_output() for worker in bucket.workers))
    assert counts_shown(page_of(bucket, lead, "annotation:corpus", scenario.project.uuid)).get("failed", 0) == 0
    bucket.bring_back("storage")
    check_whole(half, tmp_path)
    sweep(SWEEP)
    eventually(lambda: len(ready(corpus)) == ALL)
    check_all_cut(bucket, scenario, lead, tmp_path)
