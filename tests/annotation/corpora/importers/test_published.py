"""Published files give the counts that are known of them: read line by line, and by their command as database rows.

The counts are those of ``../shared/data/README.md``: its first table, column "records", and "Checks made" for windows
past the end of their video.
"""

import json
from collections import Counter
from io import StringIO
from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command

from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, Item, MomentRecord, VideoRecord
from annotation.corpora.importers.files import read_path
from annotation.corpora.importers.tvr import read_durations
from annotation.models import Caption, Corpus, Description, Moment, Video
from tests.annotation.corpora.importers.shared import DATA, needs_shared

pytestmark = needs_shared
LENGTHS = DATA / "tvr" / "tvr_video2dur_idx.json"


class PublishedFile(NamedTuple):
    form: str
    path: str
    videos: int
    queries: int  # sentences or captions, however many windows each has
    windows: int = 0  # where a query has several
    bare: int = 0  # moments without a description
    past_end: int = 0
    has_lengths: bool = True  # else they come from TVR's table


PUBLISHED = [
    PublishedFile("charades-sta", "charades_sta/charades_train.json", 5_336, 12_404),
    PublishedFile("charades-sta", "charades_sta/charades_test.json", 1_334, 3_720),
    PublishedFile("charades-sta", "mvmr/charades_test_mvmr.json", 1_334, 3_720),
    PublishedFile("activitynet", "activitynet/test.json", 4_885, 17_031, past_end=1),
    PublishedFile("tacos", "tacos/train.json", 75, 9_790, past_end=43),
    PublishedFile("tacos", "tacos/val.json", 27, 4_436),
    PublishedFile("tacos", "tacos/test.json", 25, 4_001, past_end=5),
    PublishedFile("tacos", "mvmr/tacos_test_mvmr.json", 25, 4_001, past_end=5),
    PublishedFile("qvhighlights", "qvhighlights/highlight_val_release.jsonl", 1_519, 1_550, windows=2_803),
    PublishedFile("qvhighlights", "qvhighlights/highlight_test_with_gt.jsonl", 1_529, 1_542, windows=2_761),
    PublishedFile("tvr", "tvr/tvr_val_release.jsonl", 2_179, 10_895),
    PublishedFile("tvr", "tvr/tvr_val_release.jsonl", 2_179, 10_895, has_lengths=False),
    PublishedFile("tvc", "tvc/tvc_test_public_release.jsonl", 1_089, 0, bare=5_420),
    PublishedFile("tvc", "tvc/sample_val_predictions.jsonl", 2_179, 10_841, has_lengths=False),
]
each_file = pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published.path)


def records_of(published: PublishedFile) -> list[Item]:
    lengths = {} if published.has_lengths else read_durations(LENGTHS)
    return list(read_path(FORMATS[published.form], DATA / published.path, Given(lengths, clip=True)))


@each_file
def test_its_lines_are_recognised_and_read(published: PublishedFile) -> None:
    with (DATA / published.path).open("rb") as source:
        assert form_of(source, published.path) == published.form
    items = records_of(published)
    kinds = Counter(type(item) for item in items)
    records = [item for item in items if isinstance(item, DescriptionRecord | MomentRecord)]
    assert len({record.video_name for record in records}) == published.videos
    counts = (kinds[DescriptionRecord], kinds[MomentRecord], sum(record.past_end for record in records), kinds[BadLine])
    assert counts == (published.windows or published.queries, published.bare, published.past_end, 0)
    if published.path.endswith(".jsonl"):
        assert len({record.line for record in records}) == published.queries + published.bare


@pytest.mark.slow
@pytest.mark.django_db
@each_file
def test_the_database_holds_it_after_the_import(published: PublishedFile) -> None:
    out, words = StringIO(), [published.form, str(DATA / published.path), "--corpus", "whole"]
    words += ["--clip"] if published.past_end else []
    words += [] if published.has_lengths else ["--durations", str(LENGTHS)]
    for _ in range(2):
        call_command("import_corpus", *words, stdout=out)
    report, again = (json.loads(line) for line in out.getvalue().splitlines() if line.startswith("{"))
    assert (report["clipped"], report["bad_lines"], again["added"]) == (published.past_end, 0, 0)
    assert (Video.objects.count(), Moment.objects.count()) == (report["videos"], report["moments"])
    assert report["videos"] == published.videos and (not published.bare or report["moments"] == published.bare)
    assert Caption.objects.count() == Description.objects.count() == report["descriptions"] == report["added"]
    sentences = Description.objects.values_list("moment__video", "text")
    n_queries = sentences.distinct().count() if published.windows else Description.objects.count()
    assert n_queries == published.queries  # a query of QVHighlights is a description of each of its windows


def test_kinds_of_tvr_seconds_of_tacos_and_a_release_without_moments() -> None:
    assert len(read_durations(LENGTHS)) == 21_793
    records = read_path(FORMATS["tvr"], DATA / "tvr" / "tvr_val_release.jsonl", Given())
    kinds = Counter(record.kind for record in records if isinstance(record, DescriptionRecord))
    assert kinds == {"video": 8_097, "both": 1_834, "subtitle": 964}
    first, second, *_ = read_path(FORMATS["tacos"], DATA / "tacos" / "test.json", Given())
    assert isinstance(first, VideoRecord) and first.name == "s30-d52.avi"
    assert isinstance(second, DescriptionRecord)  # whose seconds are frames by fps
    assert (second.start_s, second.end_s) == (pytest.approx(141 / 29.4), pytest.approx(354 / 29.4))
    items = list(read_path(FORMATS["tvr"], DATA / "tvr" / "tvr_test_public_release.jsonl", Given()))
    assert len(items) == 5445
    assert {item.reason for item in items if isinstance(item, BadLine)} == {"missing vid_name, duration, ts, type"}


@pytest.mark.slow
@pytest.mark.django_db
def test_a_release_without_moments_is_refused_line_by_line() -> None:
    path = str(DATA / "tvr" / "tvr_test_public_release.jsonl")
    with pytest.raises(CommandError, match="5445 bad lines; nothing was imported"):
        call_command("import_corpus", "tvr", path, "--durations", str(LENGTHS), stdout=StringIO())
    assert not Corpus.objects.exists()
