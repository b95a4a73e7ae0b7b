"""Reads of captions: how the rewriting of a corpus went, and what waits for a person."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import CharField, Count, Func, Q, QuerySet, Sum

from annotation.models import Caption, CaptionFailure, CaptionReview, Description, Moment, Prompt

State, Check = Caption.State, Caption.Check


@dataclass(frozen=True)
class CheckRow:
    """How often a check was failed at first, after the second try, and how many of those wait for a person."""

    check: str
    label: str
    first: int
    again: int
    waiting: int


@dataclass(frozen=True)
class Report:
    """The report of the paper's appendix A: what failed, was redone, and was decided by people."""

    descriptions: int
    rewritten: int
    accepted: int
    failed: int
    redone: int
    waiting: int
    accepted_by_people: int
    edited: int
    rejected: int
    tokens: int
    cost_usd: Decimal
    checks: list[CheckRow]

    @property
    def unchecked(self) -> int:
        """Proposed, and not checked yet."""
        return self.rewritten - self.accepted - self.waiting - self.accepted_by_people - self.edited - self.rejected

    @property
    def left(self) -> int:
        return self.descriptions - self.rewritten


def captions_report(corpus_id: int) -> Report:
    captions = Caption.objects.filter(description__corpus=corpus_id)
    rewordings = captions.exclude(provider=Caption.Provider.AS_DESCRIBED)
    by_state = rewordings.aggregate(
        rewritten=Count("pk"),
        accepted=Count("pk", filter=Q(state=State.ACCEPTED, reviewed_by=None)),
        waiting=Count("pk", filter=Q(state=State.IN_REVIEW)),
        accepted_by_people=Count("pk", filter=Q(state=State.ACCEPTED, reviewed_by__isnull=False)),
        edited=Count("pk", filter=Q(state=State.EDITED)),
        rejected=Count("pk", filter=Q(state=State.REJECTED)),
        tokens=Sum("tokens_in", default=0) + Sum("tokens_out", default=0),
        cost_usd=Sum("cost_usd", default=Decimal(0)),
    )
    return Report(
        descriptions=Description.objects.filter(corpus=corpus_id).count(),
        failed=CaptionFailure.objects.filter(caption__in=rewordings, attempt=1).count(),
        redone=rewordings.filter(attempt__gt=1).count(),
        checks=_checks(captions),
        **by_state,
    )


def _checks(captions: QuerySet[Caption]) -> list[CheckRow]:
    waiting = _by_check(captions.filter(state=State.IN_REVIEW))
    failures = CaptionFailure.objects.filter(caption__in=captions)
    first, again = _by_check(failures.filter(attempt=1)), _by_check(failures.filter(attempt__gt=1))
    rows = [CheckRow(c.value, c.label, first.get(c, 0), again.get(c, 0), waiting.get(c, 0)) for c in Check]
    return [row for row in rows if row.check in (Check.SIMILARITY, Check.NAME) or row.first or row.again]


def _by_check(rows: QuerySet[Any]) -> dict[str, int]:
    """Return how many of the rows failed each check."""
    checks = rows.annotate(check_name=Func("failed", function="unnest", output_field=CharField()))
    return dict(checks.values_list("check_name").annotate(n=Count("pk")).order_by())


def captions_in_review(corpus_id: int, check: str = "") -> QuerySet[Caption]:
    """Return captions that wait for a person, in the order of the source; ``check``: only those that failed it."""
    captions = captions_shown().filter(description__corpus=corpus_id, state=State.IN_REVIEW)
    if check:
        captions = captions.filter(failed__contains=[check])
    return captions.order_by("description__source_id")


def last_review(corpus_id: int, actor_id: int) -> CaptionReview | None:
    """The person's last decision that still stands."""
    mine = CaptionReview.objects.filter(actor=actor_id, undone_at=None, caption__description__corpus=corpus_id)
    return mine.order_by("-pk").select_related("caption").first()


def captions_shown() -> QuerySet[Caption]:
    """Return captions with all that their page shows of them."""
    captions = Caption.objects.select_related("description", "moment__video", "prompt")
    return captions.prefetch_related("failures", "redos")


def prompts_of(corpus_id: int) -> QuerySet[Prompt]:
    """Return the versions of a corpus's prompt, the newest first; the packaged one is the last."""
    return Prompt.objects.filter(Q(corpus=corpus_id) | Q(corpus=None)).order_by("-version")


def prompts_with_uses(corpus_id: int) -> QuerySet[Prompt]:
    """Return the versions with ``uses``: how many captions of the corpus each has made."""
    mine = Count("captions", filter=Q(captions__description__corpus=corpus_id))
    return prompts_of(corpus_id).select_related("created_by").annotate(uses=mine)


def prompt_in_force(corpus_id: int) -> Prompt:
    """Return the newest version of the corpus's prompt."""
    return prompts_of(corpus_id)[0]


def captions_serving(corpus_id: int) -> QuerySet[Caption]:
    """Captions that may become queries and candidates: accepted by the checks or a person, or edited by one."""
    serving = [Caption.State.ACCEPTED, Caption.State.EDITED]
    return Caption.objects.filter(description__corpus=corpus_id, state__in=serving)


def captions_to_train_on(corpus_id: int) -> QuerySet[Caption]:
    """Captions whose moments training queries are ranked over: all that serve.

    A preview is not needed, since nobody watches; a moment that could not be cut is none that the video has,
    and one of a retired video nobody may use any more.
    """
    return captions_serving(corpus_id).exclude(moment__preview_state__in=Moment.NEVER_SEEN)
