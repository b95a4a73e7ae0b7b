"""Operations of those who judge and of leads: batches, grades, people, decisions, webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moment_retrieval.api_requests import Json, Requests


class Judging(Requests):
    """Requests of judges, and of leads who decide."""

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
