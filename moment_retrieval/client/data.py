"""Operations on what there is to judge: projects, corpora, videos, captions, queries, training sets, releases."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from moment_retrieval.api_requests import ApiError, Json, Requests

PIECE = 8 * 2**20  # bytes of a video in one request, the most that a site takes


class Data(Requests):
    """Requests about what there is to judge, and what comes of it."""

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


def _unfinished(uploads: Iterator[Json], path: Path, size: int) -> Json | None:
    """Return the upload of a file that has not ended, None where there is none; a site writes endings small."""
    name = f"{path.stem}{path.suffix.lower()}"
    rows = (row for row in uploads if row["state"] in ("uploading", "reading"))
    return next((row for row in rows if (row["file_name"], row["size"]) == (name, size)), None)
