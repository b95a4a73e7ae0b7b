"""Rates, and corrections of hours."""

from functools import partial

from judging.models import HoursCorrection, PayRate
from tests.factories import NOW, MembershipFactory, lead
from tests.judging.constraints.writes import More, Refused, change


def paid(**values: object) -> PayRate:
    member = MembershipFactory()
    fields = {"rate": 14, "currency": "SGD", "from_day": NOW.date(), **values}
    return PayRate.objects.create(project=member.project, annotator=member.user, **fields)


def correction(**values: object) -> HoursCorrection:
    member = MembershipFactory()
    fields = {"day": NOW.date(), "seconds": 60, "reason": "r", **values}
    return HoursCorrection.objects.create(
        project=member.project, annotator=member.user, made_by=lead(member.project), **fields
    )


REFUSED: Refused = {
    "pay_rate_is_an_amount": lambda: partial(paid, rate=-1),
    "hours_correction_says_what_and_why": lambda: partial(correction, seconds=0),
}
MORE: More = {
    "a currency has three capital letters": ("pay_rate_is_an_amount", lambda: partial(paid, currency="sgd")),
    "no correction without a reason": ("hours_correction_says_what_and_why", lambda: partial(correction, reason="")),
    "rates stay": ("are kept", change(paid, rate=15)),
    "rates are not deleted": ("are kept", lambda: paid().delete),
    "corrections stay": ("are kept", change(correction, seconds=61)),
    "corrections are not deleted": ("are kept", lambda: correction().delete),
}
TRIGGERS: set[str] = {"hours_correction_is_kept", "pay_rate_is_kept"}
