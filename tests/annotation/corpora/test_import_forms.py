"""Database rows made by formats other than TVR's, statements counted."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.corpora.importers import FORMATS
from annotation.corpora.importers.base import (
    BadLine,
    DescriptionRecord,
    Given,
    Item,
    MomentRecord,
    SubtitleRecord,
    VideoRecord,
)
from annotation.corpora.importers.files import read_path
from annotation.corpora.services import corpora
from annotation.corpora.services.corpora import ImportReport, corpus_durations, corpus_import
from annotation.models import Caption, Corpus, Description, Moment, Subtitle, Video
from core.exceptions import NotPossible
from core.models import AuditEvent
from core.uploads import LineWarning
from tests.annotation.corpora.importers.shared import DATA, needs_shared
from tests.factories import CorpusFactory, VideoFactory

pytestmark = pytest.mark.django_db


def description_record(line: int, text: str, video: str = "v", **values: object) -> DescriptionRecord:
    fields = {"source_id": None, "start_s": 1.0, "end_s": 2.0, "kind": "video", **values}
    return DescriptionRecord(line=line, video_name=video, text=text, **fields)  # type: ignore[arg-type]


def subtitle_record(line: int, text: str, video: str = "v") -> SubtitleRecord:
    return SubtitleRecord(line, video, float(line), line + 0.5, text=text)


def load(records: Iterable[Item], **values: object) -> ImportReport:
    return corpus_import(**{"corpus_name": "c", "source_split": "", "records": records, **values})  # type: ignore[arg-type]


def numbered() -> list[tuple[int, str]]:
    return list(Description.objects.order_by("source_id").values_list("source_id", "text"))


VIDEO = VideoRecord("v", 60.0)


class TestDescriptionsWithoutNumbers:
    def test_a_second_file_goes_on_counting_in_the_order_of_the_file(self) -> None:
        load([VIDEO, description_record(1, "one", source_id=40)])
        records = [description_record(1, "two", "w"), description_record(1, "three", "w")]
        load([VideoRecord("w", 9.0), VideoRecord("without moments", 9.0), *records])
        assert numbered() == [(40, "one"), (41, "two"), (42, "three")]
        assert set(Video.objects.values_list("name", flat=True)) == {"v", "w"}

    @pytest.mark.parametrize("chunk", [2, 1000])
    def test_what_the_source_says_twice_is_there_twice_and_again_adds_nothing(
        self, monkeypatch: pytest.MonkeyPatch, chunk: int
    ) -> None:
        monkeypatch.setattr(corpora, "CHUNK", chunk)
        records = [VIDEO, description_record(1, "one"), description_record(2, "one"), description_record(3, "two")]
        assert (load(records).added, load(records).added) == (3, 0)
        assert load([*records, description_record(4, "one")]).added == 1
        assert numbered() == [(1, "one"), (2, "one"), (3, "two"), (4, "one")]


class TestVideos:
    def test_lengths_come_from_the_file_and_indexes_are_counted(self) -> None:
        VideoFactory(corpus=CorpusFactory(name="c"), index=4)
        load([VIDEO, VideoRecord("w", 5.0), description_record(1, "one"), description_record(2, "two", "w")])
        rows = Video.objects.filter(name__in="vw").order_by("name").values_list("name", "duration_s", "index")
        assert list(rows) == [("v", 60.0, 5), ("w", 5.0, 6)]

    def test_a_file_may_bear_the_whole_name(self, tmp_path: Path) -> None:
        (tmp_path / "s30-d52.avi").write_bytes(b"video")
        report = load([VideoRecord("s30-d52.avi", 60.0), description_record(1, "one", "s30-d52.avi")], videos=tmp_path)
        assert report.videos_with_file == 1


def test_moments_without_descriptions_are_made_once() -> None:
    records = [VIDEO, MomentRecord(1, "v", 1.0, 2.0), MomentRecord(2, "v", 3.0, 4.0)]
    assert load(records).moments == 2
    load(records)
    assert (Moment.objects.count(), Description.objects.count(), Caption.objects.count()) == (2, 0, 0)


def test_a_dry_run_counts_what_is_new_and_writes_nothing() -> None:
    report = load([VIDEO, description_record(1, "one")], dry_run=True)
    assert (report.added, report.moments, report.videos) == (1, 1, 1)
    assert not any(model.objects.exists() for model in (Corpus, Video, Moment, Description, AuditEvent))
    load([VIDEO, description_record(1, "one", source_id=1)])
    records = [description_record(1, "other", source_id=1), description_record(2, "two", source_id=2)]
    report = load([VIDEO, *records], dry_run=True, skip_bad=True)
    assert (report.added, report.bad_lines, Description.objects.count()) == (1, 1, 1)


def test_every_warning_is_reported() -> None:
    heard: list[LineWarning] = []
    records = [
        VIDEO,
        description_record(1, "Ross", notes=("is only a name or a word",)),
        description_record(2, "He sits.", past_end=True),
        BadLine(3, "not JSON", file="f"),
    ]
    report = load(records, skip_bad=True, on_warning=heard.append)
    assert heard == [
        LineWarning("", 1, "", "flagged", "is only a name or a word", "Ross"),
        LineWarning("", 2, "", "clipped", "ended after its video; it now ends at 2 s", "He sits."),
        LineWarning("f", 3, "", "refused", "not JSON"),
    ]
    assert (report.flagged, report.clipped, report.bad_lines) == (1, 1, 1)


def test_memory_holds_the_first_bad_lines_and_counts_all() -> None:
    report = load(BadLine(line, "not JSON") for line in range(1, 3000))
    assert (len(report.bad), report.bad_lines) == (1000, 2999)


class TestSubtitles:
    def test_they_are_added_to_known_videos_once(self) -> None:
        video = VideoFactory(corpus=CorpusFactory(name="c"), name="v")
        first = load([subtitle_record(1, "Hi."), subtitle_record(2, "You."), subtitle_record(1, "Hi.")])
        assert (first.added, first.subtitles, first.moments) == (2, 3, 0)
        assert load([subtitle_record(1, "Hi."), subtitle_record(3, "New.")]).added == 1
        assert list(video.subtitles.order_by("start_s").values_list("text", flat=True)) == ["Hi.", "You.", "New."]

    def test_their_videos_are_those_of_the_corpus(self) -> None:
        VideoFactory(corpus=CorpusFactory(name="c"), name="v", index=2, duration_s=9.0)
        assert corpus_durations(corpus_name="c") == {"v": (9.0, 2)}
        with pytest.raises(NotPossible, match="import its moments first"):
            corpus_durations(corpus_name="d")


def test_statements_grow_with_chunks_not_with_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def statements(chunks: int) -> int:
        lines = range(1, 100 * chunks)
        records = [description_record(line, f"text {line}", start_s=line / 100, end_s=50.0) for line in lines]
        with CaptureQueriesContext(connection) as queries:
            assert load([VIDEO, *records], corpus_name=f"c{chunks}").added == 100 * chunks - 1
        return len(queries)

    monkeypatch.setattr(corpora, "CHUNK", 100)
    one, six = statements(1), statements(6)
    assert one <= 20
    assert (six - one) / 5 <= 8


@pytest.mark.slow
@needs_shared
def test_charades_train_and_test_make_one_corpus() -> None:
    for split, added in (("train", 12404), ("test", 3720)):
        items = read_path(FORMATS["charades-sta"], DATA / "charades_sta" / f"charades_{split}.json", Given())
        assert load(items, source_split=split).added == added
    assert (Video.objects.count(), Description.objects.count(), Subtitle.objects.count()) == (6670, 16124, 0)
    assert numbered()[-1][0] == 16124
