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


class Said(NamedTuple):
    """The README's facts on a file."""

    form: str
    path: str
    videos: int | None
    queries: int | None = UNSTATED  # sentences or captions, however many windows each has
    moments: int | None = UNSTATED
    past_end: int = 0
    more: tuple[str, ...] = ()


PUBLISHED = [
    Said("charades-sta", "mvmr/charades_test_mvmr.json", 1_334, 3_720),
    Said("tacos", "mvmr/tacos_test_mvmr.json", 25, 4_001, past_end=5),
    Said("charades-sta", "charades_sta/charades_train.json", 5_336, 12_404),
    Said("charades-sta", "charades_sta/charades_test.json", 1_334, 3_720),
    Said("tacos", "tacos/train.json", 75, 9_790, past_end=43),
    Said("tacos", "tacos/val.json", 27, 4_436),
    Said("tacos", "tacos/test.json", 25, 4_001, past_end=5),
    Said("activitynet", "activitynet/test.json", 4_885, 17_031, past_end=1),
    Said("tvr", "tvr/tvr_val_release.jsonl", 2_179, 10_895, more=tuple(TABLE)),
    Said("tvc", "tvc/tvc_test_public_release.jsonl", UNSTATED, 0, moments=5_420),
    Said("tvc", "tvc/sample_val_predictions.jsonl", UNSTATED, 10_841, more=tuple(TABLE)),
    Said("qvhighlights", "qvhighlights/highlight_val_release.jsonl", 1_519, 1_550),
    Said("qvhighlights", "qvhighlights/highlight_test_with_gt.jsonl", UNSTATED, 1_542),
]


def imported(published: Said, *more: str) -> dict[str, int]:
    out = StringIO()
    call_command(
        "import_corpus",
        published.form,
        str(DATA / published.path),
        "--corpus",
        "whole",
        *published.more,
        *more,
        stdout=out,
    )
    counts: dict[str, int] = json.loads(out.getvalue().splitlines()[-1])
    return counts


@pytest.mark.parametrize("said", PUBLISHED, ids=[said.path for said in PUBLISHED])
def test_database_holds_what_the_readme_counts(said: Said) -> None:
    report = imported(said, *(["--clip"] if said.past_end else []))
    assert (report["clipped"], report["bad_lines"]) == (said.past_end, 0)
    if said.videos is not UNSTATED:
        assert Video.objects.count() == said.videos
    if said.moments is not UNSTATED:
        assert Moment.objects.count() == said.moments
    sentences = Description.objects.values_list("moment__video", "text")
    n_queries = sentences.distinct().count() if said.form == "qvhighlights" else Description.objects.count()
    assert n_queries == said.queries  # a query of QVHighlights is a description of each of its windows
    assert Caption.objects.count() == Description.objects.count() == report["descriptions"] == report["added"]
    assert (report["videos"], report["moments"]) == (Video.objects.count(), Moment.objects.count())
    assert imported(said, *(["--clip"] if said.past_end else []))["added"] == 0


def test_test_release_of_tvr_without_moments_is_refused_line_by_line() -> None:
    with pytest.raises(CommandError, match="5445 bad lines; nothing was imported"):
        imported(Said("tvr", "tvr/tvr_test_public_release.jsonl", 0))
    assert not Corpus.objects.exists()
