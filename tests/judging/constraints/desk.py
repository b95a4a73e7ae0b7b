"""Leads' decisions and answers, and the counts their pages show."""

from datetime import date

from judging.models import FlagAnswer, JudgmentDay, Recut, ReviewUndone
from tests.factories import (
    NOW,
    BatchFactory,
    ExamGradeFactory,
    FlagFactory,
    JudgmentFactory,
    ProjectFactory,
    UserFactory,
)
from tests.judging.constraints.writes import More, Refused, again, change, deletion, maker, twice

flag_answer = maker(FlagAnswer, flag=FlagFactory, answered_by=UserFactory, kind="dismissed", text="It plays.")
review_undone = maker(
    ReviewUndone,
    **{"batch": lambda: BatchFactory(state="done"), "undone_by": UserFactory},
    **{"decision": "close", "suggestion": "close", "decided_at": NOW},
)
COUNTS = {"judgments": 1, "second_round": 0, "simulated": 0, "imported": 0}
judgment_day = maker(JudgmentDay, day=date(2026, 1, 1), **COUNTS)


def recut(**values: object) -> Recut:
    pair = values.pop("pair", None) or BatchFactory(pairs=1).pairs.get()
    moment = pair.candidate.moment  # type: ignore[attr-defined]
    return Recut.objects.create(pair=pair, moment=moment, requested_by=UserFactory(), **values)


def moment_judged() -> object:
    return JudgmentFactory().pair.candidate.moment


def moment_of_an_exam() -> object:
    return ExamGradeFactory().known_pair.moment


REFUSED: Refused = {
    "batch_awaits_review_when_done": change(BatchFactory, awaits_review=True),
    "flag_answer_is_known": change(flag_answer, kind="ignored"),
    "flag_answer_says_why": change(flag_answer, text=""),
    "recut_waits_once_per_moment": twice(recut, "pair"),
    "recut_names_both_bounds_or_none": change(recut, start_s=1.0),
    "recut_ended_has_its_time": change(recut, state="done"),
    "recut_failed_says_why": change(recut, state="failed", ended_at=NOW),
    "judgment_day_once_per_annotator": again(judgment_day, project=ProjectFactory, annotator=UserFactory),
}
MORE: More = {
    "recut_names_both_bounds_or_none": {"a recut ends after it starts": change(recut, start_s=2.0, end_s=2.0)},
    "recut_ended_has_its_time": {"a recut that waits has no end": change(recut, ended_at=NOW)},
    "are kept as they are": {
        "an answer stays": change(flag_answer, text="It does not."),
        "an answer is not deleted": deletion(flag_answer),
        "what was taken back stays known": change(review_undone, reason="none"),
        "what was taken back is not deleted": deletion(review_undone),
    },
    "stays as it was judged": {
        "a judged moment keeps its start": change(moment_judged, start_s=2.0),
        "a judged moment keeps its end": change(moment_judged, end_s=9.0),
        "a moment of an exam keeps its bounds": change(moment_of_an_exam, end_s=9.0),
    },
}
TRIGGERS = {
    *("batch_awaits_review", "review_ends_waiting"),  # tests/judging/review/test_reviews.py
    *("pairs_added_are_tallied", "pairs_changed_are_tallied", "pairs_deleted_are_tallied"),  # ../work/test_tallies.py
    *("batch_added_or_deleted_is_tallied", "batch_changed_is_tallied", "judgments_are_counted"),
    *("flag_answer_is_kept", "review_undone_is_kept", "moment_stays_as_judged"),
}
