"""A client of MomentJudge's API; needs nothing but Python.

>>> from moment_retrieval.client import Client
>>> client = Client("http://127.0.0.1:8000", "mj_...")
>>> [project["name"] for project in client.projects()]  # doctest: +SKIP

A method stands for each operation of the site's OpenAPI description, and has its name. Rows are named by their UUID;
answers are what JSON says. Long lists are iterators that ask for their pages as they go.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from moment_retrieval.api_requests import ApiError, Json, Requests

__all__ = ["ApiError", "Client", "Json"]
AT_WORK = frozenset(
    ("running", "waiting", "preparing", "checking", "importing", "uploading", "reading", "opening", "cancelling")
)
PIECE = 8 * 2**20  # bytes of a video in one request, the most that a site takes


class Client(Requests):
    """One site, with the token of one person.

    A connection that breaks is tried again where a repeated request is answered as the first one was. Another request
    is tried again only where it cannot have arrived.
    """

    # For everybody

    def projects(self) -> list[Json]:
        """Return the projects you take part in, with your roles."""
        rows: list[Json] = self._call("GET", "projects/")
        return rows

    # Judging

    def assignment(self, project: str) -> Json | None:
        """Return the batch that is assigned to you; None if none is."""
        batch: Json | None = self._call("GET", f"projects/{project}/assignment/")
        return batch

    def assignment_take(self, project: str) -> Json | None:
        """Take a batch, or return the one you have; None if nothing waits for you."""
        batch: Json | None = self._call("POST", f"projects/{project}/assignment/")
        return batch

    def assignment_heartbeat(self, project: str) -> Json:
        """Start the lease of your batch anew."""
        return self._row("POST", f"projects/{project}/assignment/heartbeat/")

    def assignment_finish(self, project: str) -> Json:
        """Make your grades final."""
        return self._row("POST", f"projects/{project}/assignment/finish/")

    def assignment_return(self, project: str) -> Json:
        """Give back what you did not grade."""
        return self._row("POST", f"projects/{project}/assignment/return/")

    def judgment(self, pair: str, *, grade: int, key: str, **more: Any) -> Json:
        """Grade a pair, with the key that it came with; ``comment`` and ``active_ms`` if you like."""
        return self._row("POST", f"pairs/{pair}/judgment/", {"grade": grade, "key": key, **more})

    def flag(self, pair: str, *, reason: str, **more: Any) -> Json:
        """Say why you cannot judge a pair: ``broken``, ``unreadable``, ``offensive``; with ``comment``, ``key``."""
        return self._row("POST", f"pairs/{pair}/flag/", {"reason": reason, **more})

    def flag_withdraw(self, pair: str) -> Json:
        """Take your flag back."""
        return self._row("DELETE", f"pairs/{pair}/flag/")

    def own_judgments(self, project: str) -> Iterator[Json]:
        """Yield your own final grades, newest first."""
        return self._pages(f"projects/{project}/judgments/")

    def preview_gif(self, preview: str, file: str | Path) -> Path:
        """Write the GIF of a moment into ``file``."""
        return self._download(f"previews/{preview}.gif", file)

    def preview_mp4(self, preview: str, file: str | Path) -> Path:
        """Write the MP4 of a moment into ``file``."""
        return self._download(f"previews/{preview}.mp4", file)

    # Building a collection

    def project_create(self, name: str, **options: Any) -> Json:
        """Begin a project with a corpus of its own, or over ``corpus``; with ``settings_of``, ``with_queries``.

        Its rules are TVR-Ranking's, but for ``top_grade``, ``judges``, ``max_spread``, ``max_rounds``, ``batch_size``,
        ``has_second_batch`` and ``strata``.
        """
        return self._row("POST", "projects/", {"name": name, **options}, once=True)

    def project(self, project: str) -> Json:
        """Return how far a project is."""
        return self._row("GET", f"projects/{project}/")

    def rules_change(self, project: str, **values: Any) -> Json:
        """Change rules of judging until somebody has begun to judge.

        Give what changes: ``top_grade``, ``judges``, ``max_spread``, ``max_rounds``, ``batch_size``,
        ``has_second_batch``, ``strata`` (of ranks that batches draw from, each with first, last and sample).
        """
        return self._row("PATCH", f"projects/{project}/rules/", values)

    def jobs(self, project: str) -> Iterator[Json]:
        """Yield the jobs of a project, newest first."""
        return self._pages(f"projects/{project}/jobs/")

    def job(self, job: str) -> Json:
        """Return how far one job is."""
        return self._row("GET", f"jobs/{job}/")

    def policy(self, project: str) -> Json:
        """Return the policy in force."""
        return self._row("GET", f"projects/{project}/policy/")

    def policy_publish(self, project: str, *, version: int, **values: Any) -> Json:
        """Change values of the policy; ``version`` is the one you looked at."""
        return self._row("POST", f"projects/{project}/policy/", {"version": version, **values}, once=True)

    def corpora(self) -> list[Json]:
        """Return the corpora of your projects and imports."""
        rows: list[Json] = self._call("GET", "corpora/")
        return rows

    def corpus_imports(self) -> Iterator[Json]:
        """Yield your imports, newest first."""
        return self._pages("corpora/imports/")

    def corpus_import_upload(
        self, file: str | Path, *, corpus_name: str, durations: str | Path | None = None, **fields: Any
    ) -> Json:
        """Send a file of annotations; with ``format``, ``source_split``, ``clip``. Wait until it is checked."""
        files = {"file": file} if durations is None else {"file": file, "durations": durations}
        return self._upload("corpora/imports/", files, {"corpus_name": corpus_name, **fields})

    def subtitles_set(self, project: str, file: str | Path) -> Json:
        """Give the video that a file, .srt or .vtt, is named after the subtitles in it; those it has are replaced."""
        return self._upload(f"projects/{project}/subtitles/", {"file": file}, {})

    def corpus_import(self, uuid: str) -> Json:
        """Return how far an import is, and what its check found."""
        return self._row("GET", f"corpora/imports/{uuid}/")

    def corpus_import_confirm(self, uuid: str, *, skip_bad: bool = False) -> Json:
        """Import a checked file; ``skip_bad`` leaves its bad lines out."""
        return self._row("POST", f"corpora/imports/{uuid}/confirm/", {"skip_bad": skip_bad}, once=True)

    def corpus_import_discard(self, uuid: str) -> Json:
        """Discard a checked file."""
        return self._row("POST", f"corpora/imports/{uuid}/discard/", once=True)

    def corpus_export(self, project: str, file: str | Path, *, form: str, split: str = "") -> Path:
        """Write the corpus into ``file``, as tvr, tvc, durations or subtitles; ``split`` is a source split."""
        return self._download(f"projects/{project}/corpus/export/", file, {"form": form, "split": split})

    def corpus_import_report(self, uuid: str, file: str | Path) -> Path:
        """Write the report of an import, as CSV, into ``file``."""
        return self._download(f"corpora/imports/{uuid}/report.csv", file)

    def video_uploads(self, project: str) -> Iterator[Json]:
        """Yield videos on their way into the corpus, and those that arrived or failed within a day."""
        return self._pages(f"projects/{project}/video-uploads/")

    def video_upload_begin(self, project: str, *, file_name: str, size: int, modified_ms: int = 0) -> Json:
        """Begin the upload of a video of ``size`` bytes. ``video_send`` does all of an upload.

        ``modified_ms``: when the file last changed, in milliseconds since 1970.
        """
        about = {"filename": file_name, "modified": str(modified_ms)}
        metadata = ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in about.items())
        headers = {"Upload-Length": str(size), "Upload-Metadata": metadata}
        return self._row("POST", f"projects/{project}/video-uploads/", headers=headers, once=True)

    def video_piece(self, upload: str, piece: bytes, *, offset: int) -> None:
        """Send the bytes of a video from ``offset`` on."""
        headers = {"Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
        self._call("PATCH", f"video-uploads/{upload}/", data=piece, headers=headers, once=True)

    def video_upload(self, upload: str) -> Json:
        """Return how far an upload is, and the video that it became."""
        return self._row("GET", f"video-uploads/{upload}/")

    def video_upload_discard(self, upload: str) -> None:
        """Discard what is here of a video."""
        self._call("DELETE", f"video-uploads/{upload}/", once=True)

    def video_send(self, project: str, file: str | Path) -> Json:
        """Upload a video piece by piece; return its upload, which a worker reads then.

        What broke off goes on: here, in another call, or on the page.

        Raises:
            ApiError: the file has changed since its upload began (its code is ``changed``), or a request was refused.
        """
        path = Path(file)
        about = path.stat()
        size, modified_ms = about.st_size, about.st_mtime_ns // 10**6
        upload = _unfinished(self.video_uploads(project), path, size)
        if upload is None:
            upload = self.video_upload_begin(project, file_name=path.name, size=size, modified_ms=modified_ms)
        elif upload["modified_ms"] != modified_ms:
            advice = f"Discard what is there of it first: video_upload_discard({upload['uuid']!r})."
            raise ApiError(0, "changed", f"{path.name} has changed since its upload began. {advice}")
        uuid, offset, failures = upload["uuid"], upload["offset"], 0
        with path.open("rb") as content:
            while offset < size:
                content.seek(offset)
                piece = content.read(PIECE)
                try:
                    self.video_piece(uuid, piece, offset=offset)
                except ApiError as error:  # of which piece the answer was lost, the site says
                    failures += 1
                    if failures == self.tries or error.code not in ("unreachable", "not_possible", "upload_busy"):
                        raise
                    time.sleep(0.5 * failures)
                    offset = self.video_upload(uuid)["offset"]
                else:
                    offset, failures = offset + len(piece), 0
        return self.video_upload(uuid)

    def captions(self, project: str) -> Json:
        """Return how far the captions of the corpus are."""
        return self._row("GET", f"projects/{project}/captions/")

    def captions_rewrite(self, project: str, *, provider: str = "rules") -> Json:
        """Have the descriptions rewritten that are not yet; wait for the state of ``rewriting``."""
        return self._row("POST", f"projects/{project}/captions/rewrite/", {"provider": provider})

    def queries_draft(self, project: str, *, val: int | str, test: int | str, seed: int = 1) -> Json:
        """Return what a draw would give."""
        return self._row("GET", f"projects/{project}/queries/draw/", query={"val": val, "test": test, "seed": seed})

    def queries_draw(self, project: str, *, val: int | str, test: int | str, seed: int = 1, **options: Any) -> Json:
        """Draw queries: so many, or a share of the texts such as ``5%``; all others train. ``again`` draws anew."""
        body = {"val": val, "test": test, "seed": seed, **options}
        return self._row("POST", f"projects/{project}/queries/draw/", body, once=True)

    def topics(self, project: str) -> Iterator[Json]:
        """Yield topics, the one changed last first."""
        return self._pages(f"projects/{project}/topics/")

    def topic_create(self, project: str, *, title: str, **options: Any) -> Json:
        """Write a topic, with ``description``, ``narrative``, ``number``, ``split`` and its ``query_set``."""
        return self._row("POST", f"projects/{project}/topics/", {"title": title, **options}, once=True)

    def topic(self, topic: str) -> Json:
        """Return a topic as its version in force says."""
        return self._row("GET", f"topics/{topic}/")

    def topic_change(self, topic: str, **options: Any) -> Json:
        """Put another ``title``, ``description`` or ``narrative`` in force, if ``seen_version`` still is."""
        return self._row("PATCH", f"topics/{topic}/", options)

    def candidates_rank(self, project: str, **options: Any) -> Json:
        """Rank candidates, by a ``similarity`` if you name one; return the job."""
        return self._row("POST", f"projects/{project}/candidates/rank/", options)

    def batches_open(self, project: str, **options: Any) -> Json:
        """Rank candidates, by a ``similarity`` if you name one, and open first batches; return the job."""
        return self._row("POST", f"projects/{project}/batches/open/", options)

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
        """Yield what writers wrote, newest first, with what checkers said about it."""
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

    def train_sets(self, project: str) -> Iterator[Json]:
        """Yield training sets, newest first."""
        return self._pages(f"projects/{project}/train-sets/")

    def train_set_start(self, project: str, *, depth: int) -> Json:
        """Have a training set of the ``depth`` most similar moments of each query written."""
        return self._row("POST", f"projects/{project}/train-sets/", {"depth": depth}, once=True)

    def train_set(self, train_set: str) -> Json:
        """Return how far a training set is."""
        return self._row("GET", f"train-sets/{train_set}/")

    def train_set_discard(self, train_set: str) -> None:
        """Discard a training set."""
        self._call("DELETE", f"train-sets/{train_set}/", once=True)

    def train_set_json(self, train_set: str, file: str | Path) -> Path:
        """Write a training set into ``file``, in the published layout."""
        return self._download(f"train-sets/{train_set}.json", file)

    def train_set_parquet(self, train_set: str, file: str | Path) -> Path:
        """Write a training set into ``file``, as Parquet."""
        return self._download(f"train-sets/{train_set}.parquet", file)

    # People and decisions of leads

    def invitations(self, project: str) -> Iterator[Json]:
        """Yield invitations that nobody has used, newest first."""
        return self._pages(f"projects/{project}/invitations/")

    def invitation_create(self, project: str, **options: Any) -> Json:
        """Invite one person; the answer holds the ``link``, once.

        ``options``: ``role``, ``qualifies``, ``name``, ``email`` to mail the link to, ``days`` that it opens.
        """
        return self._row("POST", f"projects/{project}/invitations/", options, once=True)

    def invitation_renew(self, invitation: str, *, mail: bool = False) -> Json:
        """Make a new link; the one before it opens nothing."""
        return self._row("POST", f"invitations/{invitation}/renew/", {"mail": mail}, once=True)

    def invitation_revoke(self, invitation: str) -> None:
        """Revoke an invitation."""
        self._call("DELETE", f"invitations/{invitation}/", once=True)

    def progress(self, project: str) -> Json:
        """Return how many batches, pairs and judgments there are."""
        return self._row("GET", f"projects/{project}/progress/")

    def batches(self, project: str, **query: Any) -> Iterator[Json]:
        """Yield batches, newest first; of one ``state`` if you name it."""
        return self._pages(f"projects/{project}/batches/", query)

    def batch(self, batch: str) -> Json:
        """Return a batch with its pairs."""
        return self._row("GET", f"batches/{batch}/")

    def batch_review(self, batch: str, *, decision: str, reason: str = "") -> Json:
        """Decide about a query: ``extend`` or ``close``."""
        return self._row("POST", f"batches/{batch}/review/", {"decision": decision, "reason": reason})

    def pair_withdraw(self, pair: str, *, reason: str) -> Json:
        """Take a pair out."""
        return self._row("POST", f"pairs/{pair}/withdraw/", {"reason": reason}, once=True)

    def pair_restore(self, pair: str, *, reason: str = "") -> Json:
        """Put a withdrawn pair back."""
        return self._row("POST", f"pairs/{pair}/restore/", {"reason": reason}, once=True)

    def query_sets(self, project: str) -> list[Json]:
        """Return the query sets of a project."""
        rows: list[Json] = self._call("GET", f"projects/{project}/query-sets/")
        return rows

    def query_set(self, query_set: str) -> Json:
        """Return one query set."""
        return self._row("GET", f"query-sets/{query_set}/")

    def query_set_change(self, query_set: str, **changes: Any) -> Json:
        """Change ``priority``, ``paused`` or ``pilot`` of a query set."""
        return self._row("PATCH", f"query-sets/{query_set}/", changes)

    # Webhooks

    def webhooks(self, project: str) -> list[Json]:
        """Return the webhooks of a project."""
        rows: list[Json] = self._call("GET", f"projects/{project}/webhooks/")
        return rows

    def webhook_create(self, project: str, *, url: str, events: list[str]) -> Json:
        """Add a webhook; the ``secret`` that signs its messages is in the answer, this once."""
        return self._row("POST", f"projects/{project}/webhooks/", {"url": url, "events": events}, once=True)

    def webhook_change(self, webhook: str, **changes: Any) -> Json:
        """Change the ``events`` of a webhook, or switch it by ``is_active``."""
        return self._row("PATCH", f"webhooks/{webhook}/", changes)

    def webhook_delete(self, webhook: str) -> None:
        """Delete a webhook."""
        self._call("DELETE", f"webhooks/{webhook}/", once=True)

    def webhook_ping(self, webhook: str) -> Json:
        """Send a test message; return its delivery."""
        return self._row("POST", f"webhooks/{webhook}/ping/", once=True)

    def webhook_deliveries(self, webhook: str) -> Iterator[Json]:
        """Yield messages to a webhook, newest first."""
        return self._pages(f"webhooks/{webhook}/deliveries/")

    def webhook_delivery_retry(self, delivery: str) -> Json:
        """Try a message again now."""
        return self._row("POST", f"webhook-deliveries/{delivery}/retry/", once=True)

    # Releases

    def releases(self, project: str) -> Iterator[Json]:
        """Yield releases, newest first."""
        return self._pages(f"projects/{project}/releases/")

    def release_create(self, project: str, *, key: str = "", **options: Any) -> Json:
        """Make a release, with ``includes_pilot``, ``is_anonymised``; one for each ``key``, a UUID."""
        return self._row("POST", f"projects/{project}/releases/", {"key": key or str(uuid4()), **options})

    def release(self, release: str) -> Json:
        """Return how far a release is, its counts and its archive."""
        return self._row("GET", f"releases/{release}/")

    def release_retry(self, release: str) -> Json:
        """Build a release again that failed."""
        return self._row("POST", f"releases/{release}/retry/", once=True)

    def release_zip(self, release: str, file: str | Path) -> Path:
        """Write the archive of a release into ``file``."""
        return self._download(f"releases/{release}.zip", file)

    def judgments_csv(self, project: str, file: str | Path) -> Path:
        """Write all final grades as they are now into ``file``."""
        return self._download(f"projects/{project}/judgments.csv", file)

    # Pools, runs, benchmarks

    def pools(self, project: str) -> Iterator[Json]:
        """Yield pools, newest first."""
        return self._pages(f"projects/{project}/pools/")

    def pool_plan(self, project: str, *, runs: Sequence[str] = (), **options: Any) -> Json:
        """Plan a pool from runs, or from ``features`` of videos, with ``depth``, ``iou_min``, and maybe which queries.

        A ``split`` or ``query_set`` says which queries; ``makes_moments`` makes moments of the spans that fit none;
        ``most`` new candidates a query gets at most, by ``mixing`` of runs: rank or turns.
        """
        return self._row("POST", f"projects/{project}/pools/", {"runs": list(runs), **options}, once=True)

    def pool(self, pool: str) -> Json:
        """Return what a pool would add, or how far it is."""
        return self._row("GET", f"pools/{pool}/")

    def pool_open(self, pool: str) -> Json:
        """Have the new pairs of a pool judged."""
        return self._row("POST", f"pools/{pool}/open/")

    def pool_discard(self, pool: str) -> Json:
        """Discard the plan of a pool."""
        return self._row("POST", f"pools/{pool}/discard/")

    def runs(self, project: str) -> Iterator[Json]:
        """Yield your runs, newest first; all of them to leads and admins."""
        return self._pages(f"projects/{project}/runs/")

    def run_upload(self, project: str, file: str | Path, *, system: str, split: str, **fields: Any) -> Json:
        """Send a run, with ``team`` and ``release`` if you like; wait until it is scored."""
        return self._upload(f"projects/{project}/runs/", {"file": file}, {"system": system, "split": split, **fields})

    def run(self, run: str) -> Json:
        """Return a run with its scores."""
        return self._row("GET", f"runs/{run}/")

    def run_withdraw(self, run: str, *, reason: str) -> Json:
        """Withdraw a run."""
        return self._row("DELETE", f"runs/{run}/", query={"reason": reason}, once=True)

    def leaderboard(self, project: str, **query: Any) -> Json:
        """Return every run of a ``release`` and ``split``, best first by the measure ``sort``.

        ``query``: also ``convention``, ``gain`` and ``empty`` of the measures, and the run to test against, ``base``.
        """
        return self._row("GET", f"projects/{project}/leaderboard/", query=query)

    def ground_truths(self, project: str) -> Iterator[Json]:
        """Yield ground truths of other forms, newest first; those with public labels to participants."""
        return self._pages(f"projects/{project}/ground-truths/")

    def ground_truth_upload(self, project: str, file: str | Path, *, name: str, **fields: Any) -> Json:
        """Send ground truth, with ``split``, ``form`` and ``is_public`` if you like; wait until it is read."""
        return self._upload(f"projects/{project}/ground-truths/", {"file": file}, {"name": name, **fields})

    def ground_truth(self, truth: str) -> Json:
        """Return how far a ground truth is, and what it can measure."""
        return self._row("GET", f"ground-truths/{truth}/")

    def ground_truth_delete(self, truth: str) -> None:
        """Delete a ground truth that no run stands on."""
        self._call("DELETE", f"ground-truths/{truth}/", once=True)

    def ground_truth_scores(self, truth: str) -> Json:
        """Return every scored run on a ground truth by every measure."""
        return self._row("GET", f"ground-truths/{truth}/scores/")

    def truth_runs(self, truth: str) -> Iterator[Json]:
        """Yield your runs on a ground truth with their scores; all of them to leads and admins."""
        return self._pages(f"ground-truths/{truth}/runs/")

    def truth_run_upload(self, truth: str, file: str | Path, *, system: str, **fields: Any) -> Json:
        """Send a run on a ground truth; wait until it is scored.

        ``fields``: ``team``, ``measures`` (families with commas; all if left out), and how they are computed:
        ``cutoffs``, ``thresholds``, ``nms``, ``convention``, ``gain``, ``directions``.
        """
        return self._upload(f"ground-truths/{truth}/runs/", {"file": file}, {"system": system, **fields})

    def truth_run(self, run: str) -> Json:
        """Return a run on a ground truth with its scores."""
        return self._row("GET", f"truth-runs/{run}/")

    def truth_run_withdraw(self, run: str, *, reason: str) -> Json:
        """Withdraw a run on a ground truth."""
        return self._row("DELETE", f"truth-runs/{run}/", query={"reason": reason}, once=True)

    def search(self, project: str, *, q: str, **query: Any) -> Json:
        """Return ``limit`` moments for typed words, ranked by a ``training``; with ``every``, overlapping ones too."""
        return self._row("GET", f"projects/{project}/search/", query={"q": q, **query})

    def features(self, project: str) -> Iterator[Json]:
        """Yield sets of features, newest first."""
        return self._pages(f"projects/{project}/features/")

    def features_start(self, project: str, *, kind: str, extractor: str, **options: Any) -> Json:
        """Make features, with ``model`` and ``name``; or check the official file at ``path`` (extractor ``file``)."""
        body = {"kind": kind, "extractor": extractor, **options}
        return self._row("POST", f"projects/{project}/features/", body, once=True)

    def feature_set(self, feature_set: str) -> Json:
        """Return how far a set of features is, and what is wrong with it."""
        return self._row("GET", f"features/{feature_set}/")

    def features_cancel(self, feature_set: str) -> Json:
        """Stop making features."""
        return self._row("POST", f"features/{feature_set}/cancel/", once=True)

    def features_resume(self, feature_set: str) -> Json:
        """Go on with features that were cancelled or failed."""
        return self._row("POST", f"features/{feature_set}/resume/", once=True)

    def features_delete(self, feature_set: str) -> None:
        """Delete features that no training needs."""
        self._call("DELETE", f"features/{feature_set}/", once=True)

    def experiments(self, project: str) -> Iterator[Json]:
        """Yield benchmark runs, newest first."""
        return self._pages(f"projects/{project}/experiments/")

    def experiment_start(self, project: str, *, baseline: str, key: str = "", **options: Any) -> Json:
        """Start a benchmark run, with the fields of its form; one for each ``key``, a UUID."""
        body = {"baseline": baseline, "key": key or str(uuid4()), **options}
        return self._row("POST", f"projects/{project}/experiments/", body)

    def experiment(self, experiment: str) -> Json:
        """Return a benchmark run with its seeds."""
        return self._row("GET", f"experiments/{experiment}/")

    def experiment_delete(self, experiment: str) -> None:
        """Delete a benchmark run that has ended."""
        self._call("DELETE", f"experiments/{experiment}/", once=True)

    def training_cancel(self, training: str) -> Json:
        """Cancel one seed."""
        return self._row("POST", f"trainings/{training}/cancel/", once=True)

    def training_resume(self, training: str) -> Json:
        """Go on with one seed."""
        return self._row("POST", f"trainings/{training}/resume/", once=True)

    def settings_searches(self, project: str) -> Iterator[Json]:
        """Yield searches over settings, newest first."""
        return self._pages(f"projects/{project}/settings-searches/")

    def settings_search_start(
        self, project: str, *, baseline: str, space: Mapping[str, str], key: str = "", **options: Any
    ) -> Json:
        """Start a search over settings, with the fields of its form; ``space`` is ``{"lr": "1e-5 to 1e-3"}``."""
        body = {"baseline": baseline, "space": space, "key": key or str(uuid4()), **options}
        return self._row("POST", f"projects/{project}/settings-searches/", body)

    def settings_search(self, search: str) -> Json:
        """Return a search over settings with its trials."""
        return self._row("GET", f"settings-searches/{search}/")

    def settings_search_delete(self, search: str) -> None:
        """Delete a search over settings that has ended."""
        self._call("DELETE", f"settings-searches/{search}/", once=True)

    def settings_search_cancel(self, search: str) -> Json:
        """Cancel a search over settings."""
        return self._row("POST", f"settings-searches/{search}/cancel/", once=True)

    def settings_search_resume(self, search: str) -> Json:
        """Go on with a search over settings."""
        return self._row("POST", f"settings-searches/{search}/resume/", once=True)

    # Waiting

    def wait_until_ready(self, read: Callable[[], Json], *, timeout_s: float = 3600.0, every_s: float = 2.0) -> Json:
        """Call ``read`` until the ``state`` of its row says that work on it has ended; return the row.

        >>> client.wait_until_ready(lambda: client.job(job["uuid"]))  # doctest: +SKIP

        Raises:
            ApiError: the work failed (its code is ``failed``), or a request was refused.
            TimeoutError: it has not ended within ``timeout_s``.
        """
        rows: list[Json] = []

        def is_over() -> bool:
            rows[:] = [read()]
            return rows[0]["state"] not in AT_WORK

        self.wait_until(is_over, timeout_s=timeout_s, every_s=every_s)
        [row] = rows
        if row["state"] == "failed":
            raise ApiError(0, "failed", str(row.get("error") or "The work failed, and the site does not say why."))
        return row

    def wait_until(self, is_over: Callable[[], bool], *, timeout_s: float = 3600.0, every_s: float = 2.0) -> None:
        """Ask until ``is_over()``; raise TimeoutError where that takes longer than ``timeout_s``."""
        ends_at = time.monotonic() + timeout_s
        while not is_over():
            if time.monotonic() >= ends_at:
                raise TimeoutError(f"The work has not ended within {timeout_s:g} s; it goes on.")
            time.sleep(every_s)


def _unfinished(uploads: Iterator[Json], path: Path, size: int) -> Json | None:
    """Return the upload of a file that has not ended, None where there is none; a site writes endings small."""
    name = f"{path.stem}{path.suffix.lower()}"
    rows = (row for row in uploads if row["state"] in ("uploading", "reading"))
    return next((row for row in rows if (row["file_name"], row["size"]) == (name, size)), None)
