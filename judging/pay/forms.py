"""Forms of the pages about hours and money."""

from dataclasses import fields
from datetime import date
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.utils import timezone

from core.forms import SubmitForm
from judging.pay.rules import Assumptions, month_before, month_of

FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2100, 12, 31)
CURRENCY = RegexValidator(r"^[A-Z]{3}\Z", "A currency has three capital letters, as SGD or EUR.")
AMOUNT: dict[str, Any] = {"label": "Rate an hour", "min_value": 0, "max_digits": 8, "decimal_places": 2}
DAY_ERRORS = {"invalid": "Write a day as 2026-03-31.", "required": "Say which day."}
BETWEEN = f"Choose a day from {FIRST_DAY.year} to {LAST_DAY.year}."


class DayField(forms.DateField):
    widget = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    default_validators = [MinValueValidator(FIRST_DAY, BETWEEN), MaxValueValidator(LAST_DAY, BETWEEN)]

    def __init__(self, **options: Any) -> None:
        super().__init__(input_formats=["%Y-%m-%d"], error_messages=DAY_ERRORS, **options)


class PeriodForm(SubmitForm):
    """A month, or any days from first to last, both included, of the project's time zone. The present month where the
    address names none, or where ``error`` says why it cannot be read. ``separable``: whether pilot batches may be left
    out, as a lead may; an annotator must not learn which these are."""

    month = forms.DateField(
        required=False, input_formats=["%Y-%m"], error_messages={"invalid": "Write a month as 2026-03."}
    )
    first = DayField(required=False, label="From")
    last = DayField(required=False, label="to")
    without_pilot = forms.BooleanField(required=False)

    def __init__(self, data: Any, *, zone: str, separable: bool) -> None:
        super().__init__(data)
        self.zone, self.today = zone, timezone.now().astimezone(ZoneInfo(zone)).date()
        values = self.cleaned_data if self.is_valid() else {}
        first, last = month_of(self.today)
        self.first_day, self.last_day = values.get("first", first), values.get("last", last)
        self.leaves_out_pilot = separable and values.get("without_pilot", False)
        self.error = self.first_error() if self.errors else ""
        self.status = 422 if self.error else 200

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        first, last = values.get("first"), values.get("last")
        if self.errors or first is last is None:
            first, last = month_of(values.get("month") or self.today)
        if first is None or last is None:
            raise forms.ValidationError("A period has a first day and a last one.")
        if first > last:
            raise forms.ValidationError("The period ends before it begins.")
        return {**values, "first": first, "last": last}

    @property
    def query(self) -> str:
        """The period as the pages take it."""
        return urlencode({"first": self.first_day, "last": self.last_day, **self._pilot})

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
        return {"without_pilot": "on"} if self.leaves_out_pilot else {}


class PersonForm(SubmitForm):
    """Says whom it is about: an annotator by number, somebody else by account."""

    annotator = forms.IntegerField(required=False, widget=forms.HiddenInput)
    member = forms.UUIDField(required=False, widget=forms.HiddenInput)


class RateForm(PersonForm):
    rate = forms.DecimalField(
        **AMOUNT, error_messages={"required": "Say what an hour is paid.", "invalid": "A rate is an amount, as 14.50."}
    )
    currency = forms.CharField(max_length=3, validators=[CURRENCY], error_messages={"required": CURRENCY.message})
    from_day = DayField(label="From")


class CorrectionForm(PersonForm):
    day = DayField()
    minutes = forms.IntegerField(
        min_value=-24 * 60,
        max_value=24 * 60,
        error_messages={
            "required": "Say how many minutes to add, or with a minus to take away.",
            "invalid": "Write whole minutes, with a minus to take away.",
            "min_value": "A day has 1440 minutes.",
            "max_value": "A day has 1440 minutes.",
        },
    )
    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the person reads it, too."})


def tenths(label: str, least: float = 0, most: float = 100) -> forms.FloatField:
    return forms.FloatField(label=label, min_value=least, max_value=most, widget=forms.NumberInput({"step": "0.1"}))


class ForecastForm(SubmitForm):
    """``Assumptions`` with shares in per cent. ``start`` is what the form was filled with: its numbers are shown
    rounded and computed with in full where the text is still the one shown."""

    queries = forms.IntegerField(label="Queries", min_value=0, max_value=10_000_000)
    pairs = tenths("Pairs in a batch", 1, 1000)
    second = tenths("Queries with a second batch, %")
    judges = forms.IntegerField(label="Judges of a round", min_value=2, max_value=3)
    escalated = tenths("Pairs with a second round, %")
    seconds = tenths("Seconds a judgment", 0.1, 3600)
    gold = tenths("Gold pairs among all shown, %", 0, 50)
    annotators = forms.IntegerField(label="Annotators", min_value=1, max_value=10_000)
    exam_pairs = forms.IntegerField(label="Pairs in the exam", min_value=0, max_value=1000)
    rate = forms.DecimalField(**AMOUNT)
    currency = forms.CharField(label="Currency", max_length=3, validators=[CURRENCY])

    SHARES = ("second", "escalated", "gold")

    def __init__(self, data: Any, *, start: Assumptions | None = None) -> None:
        super().__init__(data)
        self.start = start

    @classmethod
    def of(cls, assumptions: Assumptions) -> "ForecastForm":
        return cls(
            {field.name: shown(field.name, getattr(assumptions, field.name)) for field in fields(assumptions)},
            start=assumptions,
        )

    def assumptions(self) -> Assumptions:
        values = dict(self.cleaned_data)
        for name, value in values.items():
            if self.start and self.data.get(name) == shown(name, getattr(self.start, name)):
                values[name] = getattr(self.start, name)
            elif name in self.SHARES:
                values[name] = value / 100
        return Assumptions(**values)


def shown(name: str, value: float | Decimal | str | None) -> str:
    """A value as the forecast's form takes it: shares in per cent; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{100 * value if name in ForecastForm.SHARES else value:.1f}".removesuffix(".0")
    return str(value)
