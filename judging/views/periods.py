"""The period that a page about hours is asked for."""

from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils import timezone

from annotation.models import Project
from judging.pay_forms import PeriodForm
from judging.rules.periods import month_before, month_of
from judging.services.policies import policy_in_force


@dataclass(frozen=True)
class Period:
    """Days of the project's time zone, both included; ``error`` says why it is the present month instead."""

    first_day: date
    last_day: date
    zone: str
    today: date
    without_pilot: bool = False
    error: str = ""

    @property
    def status(self) -> int:
        return 422 if self.error else 200

    @property
    def query(self) -> str:
        """The period as the pages take it."""
        days = {"first": self.first_day, "last": self.last_day}
        return urlencode({**days, **self._pilot})

    @property
    def choices(self) -> list[tuple[str, str, bool]]:
        """Months at hand: name, query, and whether it is the one shown."""
        months = [("This month", month_of(self.today)), ("Last month", month_before(self.today))]
        return [
            (name, urlencode({"month": f"{month[0]:%Y-%m}", **self._pilot}), month == (self.first_day, self.last_day))
            for name, month in months
        ]

    @property
    def _pilot(self) -> dict[str, str]:
        return {"without_pilot": "on"} if self.without_pilot else {}


def period_of(request: HttpRequest, project: Project, *, separable: bool = True) -> Period:
    """What the address asks for; the present month where it asks for nothing.

    ``separable``: whether it may ask to leave pilot batches out; a lead may; an annotator must not learn which.
    """
    zone = policy_in_force(project.pk).time_zone
    today = timezone.now().astimezone(ZoneInfo(zone)).date()
    form = PeriodForm(request.GET, today=today)
    if not form.is_valid():
        return Period(*month_of(today), zone, today, error=form.first_error())
    given = form.cleaned_data
    return Period(given["first"], given["last"], zone, today, without_pilot=separable and given["without_pilot"])
