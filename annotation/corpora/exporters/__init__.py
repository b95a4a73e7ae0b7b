"""Writes a corpus in the forms of TVR and TVC that the importers read; ``EXPORTS`` lists them."""

from collections.abc import Mapping

from django.db.models import Count

from annotation.corpora.exporters import tvr
from annotation.corpora.exporters.base import ExportFormat, Selection
from annotation.models import Corpus
from core.exceptions import NotPossible

EXPORTS: Mapping[str, ExportFormat] = {
    form.name: form
    for form in (
        ExportFormat(
            name="tvr",
            noun="descriptions",
            label="TVR: descriptions, one JSON object a line",
            rows=tvr.descriptions,
            lines=tvr.description_lines,
            omitted=tvr.bare_moments,
            omission="without a description",
        ),
        ExportFormat(
            name="tvc",
            noun="moments",
            label="TVC: moments with their captions, one JSON object a line",
            rows=tvr.moments,
            lines=tvr.moment_lines,
            omitted=tvr.unmarked_moments,
            omission="of proposals and pools that nobody has described",
        ),
        ExportFormat(
            name="durations",
            noun="videos",
            label="TVR: lengths of the videos, JSON",
            rows=tvr.videos,
            lines=tvr.duration_lines,
            suffix=".json",
        ),
        ExportFormat(
            name="subtitles",
            noun="subtitles",
            label="TVQA: subtitles, one JSON object a line",
            rows=tvr.subtitles,
            lines=tvr.subtitle_lines,
        ),
    )
}


def splits_of(corpus: Corpus) -> dict[str, int]:
    """Return the source splits of the corpus's videos by name, each with its number of videos; "" for none."""
    counts = corpus.videos.order_by("source_split").values_list("source_split").annotate(n=Count("pk"))
    return dict(counts)


def check_export(form: ExportFormat, selection: Selection) -> None:
    """Raise NotPossible where the selection holds nothing that the form writes; the message says what there is."""
    corpus, split = selection.corpus, selection.split
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus.name!r} stands for historic judgments and holds no moments of videos.")
    splits = splits_of(corpus)
    if split and split not in splits:
        names = [f"{name!r} ({n:,})" if name else f"none ({n:,})" for name, n in splits.items()]
        problem = f"No video of the corpus {corpus.name!r} is of the source split {split!r}"
        raise NotPossible(
            f"{problem}. Splits, and how many videos are of each: {', '.join(names) or 'it has no video'}."
        )
    if not form.rows(selection).exists():
        part = f" of the source split {split!r}" if split else ""
        raise NotPossible(f"The corpus {corpus.name!r} has no {form.noun}{part} to write.")
