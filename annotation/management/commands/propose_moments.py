"""manage.py propose_moments CORPUS: shots, windows or segments of all videos of a corpus, and moments made of them."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from annotation.models import Corpus, Proposal
from annotation.proposals.detecting import THRESHOLD
from annotation.proposals.rules import CAP
from annotation.proposals.selectors import failures_of
from annotation.proposals.services import (
    options_checked,
    proposal_resume,
    proposal_start,
    proposal_undo,
    proposal_use,
    proposal_work,
)

State = Proposal.State


class Command(MomentJudgeCommand):
    help = (
        "Propose moments for all videos of a corpus, and with --use write them, without descriptions. Stopped by "
        "Ctrl-C or killed, the same command goes on where it was. The last line of output is JSON with the counts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", help="name of the corpus")
        parser.add_argument("--method", choices=Proposal.Method.values, help="how; needed but with --undo")
        parser.add_argument(
            "--threshold", type=float, help=f"of shots: the lower, the more cuts (default: {THRESHOLD:g})"
        )
        parser.add_argument("--segment", type=float, metavar="SECONDS", help="of uniform: the length of a segment")
        parser.add_argument(
            "--most",
            type=int,
            metavar="N",
            help=f"of windows: the N shortest of a video (TVR's code: {CAP}; default: all)",
        )
        parser.add_argument(
            "--use", action="store_true", help="write the moments; they get previews where files are here"
        )
        parser.add_argument("--undo", action="store_true", help="remove the moments written last, while none is in use")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = row_named(Corpus.objects.all(), options["corpus"])
        if options["undo"]:
            row = self._undo(corpus)
        elif options["method"] is None:
            raise CommandError(f"Say --method: {', '.join(Proposal.Method.values)}; or --undo.")
        else:
            row = self._propose(corpus, options)
        counts = {"moments": row.n_moments, "written": row.n_written, "state": row.state}
        self.write_json({"method": row.method, **counts, "failed_videos": failures_of(row).count()})

    def _propose(self, corpus: Corpus, options: dict[str, Any]) -> Proposal:
        about = {"threshold": options["threshold"], "segment_s": options["segment"], "most": options["most"]}
        checked_options = options_checked(method=options["method"], **about)
        row = corpus.proposals.filter(state__in=Proposal.OPEN).first()
        if row and row.options == checked_options and row.may_go_on:
            row = proposal_resume(proposal=row, actor=None, wake=False)
        elif row is None or row.options != checked_options or row.state != State.READY:
            row = proposal_start(corpus=corpus, options=checked_options, actor=None, wake=False)
        row = self._work(row)
        if options["use"] and row.state == State.READY:
            row = self._work(proposal_use(proposal=row, actor=None, wake=False))
        for failure in failures_of(row):
            self.stderr.write(f"{failure.video.name}: {failure.error}")
        return row

    def _undo(self, corpus: Corpus) -> Proposal:
        row = corpus.proposals.exclude(state__in=[State.REPLACED, State.UNDONE, State.READY]).first()
        if row is None:
            raise CommandError(f"No proposals of {corpus.name!r} have written moments.")
        return self._work(row if row.is_at_work else proposal_undo(proposal=row, actor=None, wake=False))

    def _work(self, row: Proposal) -> Proposal:
        """Do what the row asks for, and return it as it is then. Raises CommandError where it did not get there."""
        if row.is_at_work:
            try:
                is_mine = proposal_work(proposal_id=row.pk, on_progress=self.stderr.write)
            except KeyboardInterrupt:
                raise CommandError("Stopped. The same command goes on here, and so does a running worker.") from None
            if not is_mine:
                raise CommandError("Another process is at work on this corpus; its page shows how far it is.")
            row.refresh_from_db()
        if row.state == State.FAILED:
            raise CommandError(f"{row.error} The same command goes on where it stopped.")
        if row.state == State.CANCELLED:
            raise CommandError("It was cancelled meanwhile. The same command goes on where it stopped.")
        return row
