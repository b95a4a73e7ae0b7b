"""Every published file through the whole import, by its command: what the database holds then.

The counts are those of ``../shared/data/README.md``: its first table, column "records", and "Checks made" for windows
past the end of their video.
"""

import json
from io import StringIO
from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Caption, Corpus, Description, Moment, Video
from tests.annotation.corpora.importers.shared import DATA, needs_shared

pytestmark = [needs_shared, pytest.mark.slow, pytest.mark.django_db]
TABLE = ["--durations", str(DATA / "tvr" / "tvr_video2dur_idx.json")]
UNSTATED = None  # the README says nothing about it


class PublishedFile(NamedTuple):
    """The README's facts on a file."""

    form: str
    path: str
    videos: int | None
    queries: int | None = UNSTATED  # sentences or captions, however many windows each has
    moments: int | None = UNSTATED
    past_end: int = 0
    more: tuple[str, ...] = ()


PUBLISHED = [
    PublishedFile("charades-sta", "mvmr/charades_test_mvmr.json", 1_334, 3_720),
    PublishedFile("tacos", "mvmr/tacos_test_mvmr.json", 25, 4_001, past_end=5),
    PublishedFile("charades-sta", "charades_sta/charades_train.json", 5_336, 12_404),
    PublishedFile("charades-sta", "charades_sta/charades_test.json", 1_334, 3_720),
    PublishedFile("tacos", "tacos/train.json", 75, 9_790, past_end=43),
    PublishedFile("tacos", "tacos/val.json", 27, 4_436),
    PublishedFile("tacos", "tacos/test.json", 25, 4_001, past_end=5),
    PublishedFile("activitynet", "activitynet/test.json", 4_885, 17_031, past_end=1),
    PublishedFile("tvr", "tvr/tvr_val_release.jsonl", 2_179, 10_895, more=tuple(TABLE)),
    PublishedFile("tvc", "tvc/tvc_test_public_release.jsonl", UNSTATED, 0, moments=5_420),
    PublishedFile("tvc", "tvc/sample_val_predictions.jsonl", UNSTATED, 10_841, more=tuple(TABLE)),
    PublishedFile("qvhighlights", "qvhighlights/highlight_val_release.jsonl", 1_519, 1_550),
    PublishedFile("qvhighlights", "qvhighlights/highlight_test_with_gt.jsonl", UNSTATED, 1_542),
]


def imported(published: PublishedFile, *more: str) -> dict[str, int]:
    out = StringIO()
    words = [published.form, str(DATA / published.path), "--corpus", "whole", *published.more, *more]
    call_command("import_corpus", *words, stdout=out)
    counts: dict[str, int] = json.loads(out.getvalue().splitlines()[-1])
    return counts


@pytest.mark.parametrize("published_file", PUBLISHED, ids=[published_file.path for published_file in PUBLISHED])
def test_database_holds_what_the_readme_counts(published_file: PublishedFile) -> None:
    report = imported(published_file, *(["--clip"] if published_file.past_end else []))
    assert (report["clipped"], report["bad_lines"]) == (published_file.past_end, 0)
    if published_file.videos is not UNSTATED:
        assert Video.objects.count() == published_file.videos
    if published_file.moments is not UNSTATED:
        assert Moment.objects.count() == published_file.moments
    sentences = Description.objects.values_list("moment__video", "text")
    n_queries = sentences.distinct().count() if published_file.form == "qvhighlights" else Description.objects.count()
    assert n_queries == published_file.queries  # a query of QVHighlights is a description of each of its windows
    assert Caption.objects.count() == Description.objects.count() == report["descriptions"] == report["added"]
    assert (report["videos"], report["moments"]) == (Video.objects.count(), Moment.objects.count())
    assert imported(published_file, *(["--clip"] if published_file.past_end else []))["added"] == 0


def test_test_release_of_tvr_without_moments_is_refused_line_by_line() -> None:
    with pytest.raises(CommandError, match="5445 bad lines; nothing was imported"):
        imported(PublishedFile("tvr", "tvr/tvr_test_public_release.jsonl", 0))
    assert not Corpus.objects.exists()
