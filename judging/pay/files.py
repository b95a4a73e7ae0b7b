"""Statements as CSV. Seconds are exact; hours and amounts are rounded as on the page (judging/pay/rules.py)."""

from collections.abc import Mapping
from decimal import Decimal

from django.http import HttpResponse

from core.spreadsheets import csv_download
from judging.pay.rules import Time
from judging.pay.selectors import Account, Statement

TIME = ["judging_s", "training_s", "correction_s", "total_s", "hours"]
LINES = ["annotator", "first_day", "last_day", "judgments", *TIME, "rate", "currency", "amount"]
DAYS = ["annotator", "day", "judgments", *TIME, "rate", "currency"]


def lines_csv(statement: Statement, numbers: Mapping[int, int]) -> HttpResponse:
    """A row for each annotator and rate; the days are the first and the last with anything on them."""
    rows = [
        [
            numbers[account.annotator_id],
            *(line.first_day, line.last_day, line.judgments),
            *_time(line.time),
            *(line.rate.rate, line.rate.currency, line.amount),
        ]
        for account in sorted(statement.accounts, key=lambda account: numbers[account.annotator_id])
        for line in account.lines
    ]
    return csv_download(f"pay-{_period(statement)}.csv", LINES, rows)


def days_csv(statement: Statement, account: Account, number: int) -> HttpResponse:
    """A row for each day with anything on it."""
    rows = []
    for worked in account.days:
        rate = account.rates.on(account.annotator_id, worked.day)
        rows.append([number, worked.day, worked.judgments, *_time(worked.time), rate.rate, rate.currency])
    return csv_download(f"hours-{number}-{_period(statement)}.csv", DAYS, rows)


def _time(time: Time) -> list[Decimal]:
    return [*(Decimal(ms).scaleb(-3) for ms in (*time, time.total)), time.hours.total]


def _period(statement: Statement) -> str:
    return f"{statement.first_day}-to-{statement.last_day}"
