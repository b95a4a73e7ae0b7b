"""Operations of a collection: rounds of writing, checks, verification, proposed moments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moment_retrieval.api_requests import Json, Requests


class Collection(Requests):
    """Requests about moments that people mark or programs propose, and their queries."""

    def writing_rounds(self, project: str) -> Iterator[Json]:
        """Yield rounds of writing, newest first, with how far each is."""
        return self._pages(f"projects/{project}/writing-rounds/")

    def writing_round_create(self, project: str, *, name: str, **options: Any) -> Json:
        """Open a round over the videos that play in browsers.

        ``options``: ``kind`` of its queries (visual, textual, all), ``share_v``, ``share_t``, ``share_vt``,
        ``queries_per_clip``, ``queries_per_visit``, ``least_tokens``, ``most_overlap``.
        """
        return self._row("POST", f"projects/{project}/writing-rounds/", {"name": name, **options}, once=True)

    def writing_round(self, round: str) -> Json:
        """Return a round of writing with its counts."""
        return self._row("GET", f"writing-rounds/{round}/")

    def writing_round_change(self, round: str, *, change: str) -> Json:
        """Pause a round, resume it, or close it for good."""
        return self._row("PATCH", f"writing-rounds/{round}/", {"change": change})

    def written_queries(self, project: str) -> Iterator[Json]:
        """Yield what writers wrote, newest first, with the decisions of checkers."""
        return self._pages(f"projects/{project}/written-queries/")

    def written_query_check(self, query: str, **options: Any) -> Json:
        """Accept a query, correct its bounds, or reject it.

        ``options``: ``decision`` (accept, correct, reject), ``start_s``, ``end_s``, ``reason``, ``note``, ``active_ms``
        (how long the query was before you).
        """
        return self._row("POST", f"written-queries/{query}/check/", options)

    def clip(self, project: str) -> Json | None:
        """Return the clip that you have at hand, to write queries for; None if there is none."""
        row: Json | None = self._call("GET", f"projects/{project}/clip/")
        return row

    def clip_take(self, project: str, *, round: str) -> Json | None:
        """Take a clip of a round, or return the one you have; None if no clip is left for you."""
        row: Json | None = self._call("POST", f"projects/{project}/clip/", {"round": round})
        return row

    def clip_video(self, project: str, file: str | Path) -> Path:
        """Write the video of the clip at hand into ``file``."""
        return self._download(f"projects/{project}/clip/video", file)

    def query_submit(
        self, project: str, *, key: str, text: str, type: str, start_s: float, end_s: float, **more: Any
    ) -> Json:
        """Submit a query for a moment of the clip at hand; ``type`` is v, t or vt.

        It is refused where the video has another file than ``seen_file``, which the clip names, by now. ``active_ms``
        says how long the clip was before you.
        """
        body = {"key": key, "text": text, "type": type, "start_s": start_s, "end_s": end_s, **more}
        return self._row("POST", f"projects/{project}/clip/queries/", body)

    def clip_return(self, project: str) -> Json:
        """Give the clip at hand back to others."""
        return self._row("POST", f"projects/{project}/clip/return/")

    def clip_exhausted(self, project: str) -> None:
        """Say that the clip at hand has nothing more."""
        self._call("POST", f"projects/{project}/clip/exhausted/")

    def own_queries(self, project: str) -> Iterator[Json]:
        """Yield the queries you wrote, newest first."""
        return self._pages(f"projects/{project}/own-queries/")

    def query_to_check(self, project: str) -> Json | None:
        """Take the query that you have at hand to check, or the next one; None if none waits."""
        row: Json | None = self._call("POST", f"projects/{project}/query-to-check/")
        return row

    def written_query_video(self, query: str, file: str | Path) -> Path:
        """Write the video that a query is of into ``file``."""
        return self._download(f"written-queries/{query}/video", file)

    def check_undo(self, check: str) -> None:
        """Take a decision of your own about a query back."""
        self._call("POST", f"query-checks/{check}/undo/")

    def verification_studies(self, project: str) -> Iterator[Json]:
        """Yield verification studies, newest first, with how far each is."""
        return self._pages(f"projects/{project}/verification-studies/")

    def verification_study_create(self, project: str, *, name: str, **options: Any) -> Json:
        """Draw a sample of descriptions with their moments, and open it to the checkers of the project.

        ``options``: ``n_pairs``, ``answers_per_pair``, ``round`` of writing that it is drawn from, ``seed``,
        ``statements``.
        """
        return self._row("POST", f"projects/{project}/verification-studies/", {"name": name, **options}, once=True)

    def verification_study(self, study: str) -> Json:
        """Return a verification study with its counts and its report."""
        return self._row("GET", f"verification-studies/{study}/")

    def verification_study_change(self, study: str, *, change: str) -> Json:
        """Close a verification study, or open it again."""
        return self._row("PATCH", f"verification-studies/{study}/", {"change": change})

    def verification_answers_csv(self, study: str, file: str | Path) -> Path:
        """Write the answers of a verification study into ``file``, one a line."""
        return self._download(f"verification-studies/{study}/answers.csv", file)

    def verification_pair_inspect(self, pair: str) -> Json:
        """Send a pair of a verification study to a checker for another look."""
        return self._row("POST", f"verification-pairs/{pair}/inspection/")

    def shots(self, project: str) -> Iterator[Json]:
        """Yield the shots of each video in which they were detected."""
        return self._pages(f"projects/{project}/shots/")

    def proposals(self, project: str) -> Iterator[Json]:
        """Yield orders of proposed moments, newest first."""
        return self._pages(f"projects/{project}/proposals/")

    def proposal_start(self, project: str, *, method: str, **options: Any) -> Json:
        """Propose moments of all videos by a method: shots, windows or uniform; nothing is written yet.

        ``options``: ``threshold`` of shots, ``segment_s`` of segments, ``most`` windows of a video.
        """
        return self._row("POST", f"projects/{project}/proposals/", {"method": method, **options}, once=True)

    def proposal(self, proposal: str) -> Json:
        """Return how far an order of proposed moments is."""
        return self._row("GET", f"proposals/{proposal}/")

    def proposal_use(self, proposal: str) -> Json:
        """Have the proposed moments written."""
        return self._row("POST", f"proposals/{proposal}/use/", once=True)

    def proposal_cancel(self, proposal: str) -> Json:
        """Stop detecting shots or writing moments."""
        return self._row("POST", f"proposals/{proposal}/cancel/", once=True)

    def proposal_resume(self, proposal: str) -> Json:
        """Go on with an order that was cancelled or failed."""
        return self._row("POST", f"proposals/{proposal}/resume/", once=True)

    def proposal_undo(self, proposal: str) -> Json:
        """Have the moments that were written removed."""
        return self._row("POST", f"proposals/{proposal}/undo/", once=True)
