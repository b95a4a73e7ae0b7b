"""Leads' decisions and answers, and the counts their pages show."""

from datetime import date

from annotation.models import Moment
from judging.models import FlagAnswer, JudgmentDay, Recut, ReviewUndone
from tests.factories import (
    NOW,
    BatchFactory,
    FlagFactory,
    JudgmentFactory,
    ProjectFactory,
    SittingGradeFactory,
    UserFactory,
)
from tests.judging.constraints.writes import More, Refused, Write, again, change


def flag_answer(**values: object) -> FlagAnswer:
    fields = {"kind": "dismissed", "words": "It plays.", **values}
    return FlagAnswer.objects.create(flag=FlagFactory(), answered_by=UserFactory(), **fields)


def recut(**values: object) -> Recut:
    pair = values.pop("pair", None) or BatchFactory(pairs=1).pairs.get()
    moment = pair.candidate.moment  # type: ignore[attr-defined]
    return Recut.objects.create(pair=pair, moment=moment, asked_by=UserFactory(), **values)


def second_recut() -> Write:
    pair = recut().pair
    return lambda: recut(pair=pair)


def judgment_day(**values: object) -> JudgmentDay:
    counts = {"judgments": 1, "second_round": 0, "simulated": 0, "imported": 0}
    return JudgmentDay.objects.create(day=date(2026, 1, 1), **counts, **values)


def review_undone() -> ReviewUndone:
    batch = BatchFactory(state="done")
    fields = {"decision": "close", "suggestion": "close", "decided_at": NOW}
    return ReviewUndone.objects.create(batch=batch, undone_by=UserFactory(), **fields)


def moment_judged() -> Moment:
    return JudgmentFactory().pair.candidate.moment  # type: ignore[no-any-return]


def moment_of_an_exam() -> Moment:
    return SittingGradeFactory().known_pair.moment  # type: ignore[no-any-return]


def delete(row: object) -> Write:
    return row.delete  # type: ignore[attr-defined,no-any-return]


REFUSED: Refused = {
    "batch_awaits_review_when_done": change(BatchFactory, awaits_review=True),
    "flag_answer_is_known": change(flag_answer, kind="ignored"),
    "flag_answer_says_why": change(flag_answer, words=""),
    "recut_waits_once_per_moment": second_recut,
    "recut_names_both_bounds_or_none": change(recut, start_s=1.0),
    "recut_ended_has_its_time": change(recut, state="done"),
    "recut_failed_says_why": change(recut, state="failed", ended_at=NOW),
    "judgment_day_once_per_annotator": again(judgment_day, project=ProjectFactory, annotator=UserFactory),
}
MORE: More = {
    "a recut ends after it starts": ("recut_names_both_bounds_or_none", change(recut, start_s=2.0, end_s=2.0)),
    "a recut that waits has no end": ("recut_ended_has_its_time", change(recut, ended_at=NOW)),
    "an answer stays": ("are kept as they are", change(flag_answer, words="It does not.")),
    "an answer is not deleted": ("are kept as they are", lambda: delete(flag_answer())),
    "what was taken back stays known": ("are kept as they are", change(review_undone, reason="none")),
    "what was taken back is not deleted": ("are kept as they are", lambda: delete(review_undone())),
    "a judged moment keeps its start": ("stays as it was judged", change(moment_judged, start_s=2.0)),
    "a judged moment keeps its end": ("stays as it was judged", change(moment_judged, end_s=9.0)),
    "a moment of an exam keeps its bounds": ("stays as it was judged", change(moment_of_an_exam, end_s=9.0)),
}
TRIGGERS: set[str] = {
    "batch_awaits_review",  # tests/judging/review/test_reviews.py
    "review_ends_waiting",
    "pairs_added_are_tallied",  # tests/judging/work/test_tallies.py
    "pairs_changed_are_tallied",
    "pairs_deleted_are_tallied",
    "batch_added_or_deleted_is_tallied",
    "batch_changed_is_tallied",
    "judgments_are_counted",
    "flag_answer_is_kept",
    "review_undone_is_kept",
    "moment_stays_as_judged",
}
