"""Rates, and corrections of hours."""

from judging.models import HoursCorrection, PayRate
from tests.factories import NOW, MembershipFactory, UserFactory
from tests.judging.constraints.writes import Make, More, Refused, adding, change, deletion, maker


def of_annotator(make: Make) -> Make:
    def made(**values: object) -> object:
        member = MembershipFactory()
        return make(project=member.project, annotator=member.user, **values)

    return made


paid = of_annotator(maker(PayRate, rate=14, currency="SGD", from_day=NOW.date))
correction = of_annotator(maker(HoursCorrection, day=NOW.date, seconds=60, reason="r", made_by=UserFactory))
REFUSED: Refused = {
    "pay_rate_is_an_amount": adding(paid, rate=-1),
    "hours_correction_says_what_and_why": adding(correction, seconds=0),
}
MORE: More = {
    "pay_rate_is_an_amount": {"a currency has three capital letters": adding(paid, currency="sgd")},
    "hours_correction_says_what_and_why": {"no correction without a reason": adding(correction, reason="")},
    "are kept": {
        "rates stay": change(paid, rate=15),
        "rates are not deleted": deletion(paid),
        "corrections stay": change(correction, seconds=61),
        "corrections are not deleted": deletion(correction),
    },
}
TRIGGERS = {"hours_correction_is_kept", "pay_rate_is_kept"}
