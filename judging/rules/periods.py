"""Months of the calendar. Pure."""

from datetime import date, timedelta


def month_of(day: date) -> tuple[date, date]:
    """The first and the last day of the month."""
    first = day.replace(day=1)
    beyond = date(first.year + 1, 1, 1) if first.month == 12 else first.replace(month=first.month + 1)
    return first, beyond - timedelta(days=1)


def month_before(day: date) -> tuple[date, date]:
    """The month before the one of the day."""
    return month_of(day.replace(day=1) - timedelta(days=1))
