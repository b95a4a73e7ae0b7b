"""A verification study: who sees which pair, what is taken, and what the report says of answers that are known."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Project
from annotation.models import Description
from core.exceptions import NotPossible
from core.lists import csv_text
from judging.checking import services as checking
from judging.checking.services import Verdict
from judging.exceptions import LeaseLost, NotAssigned, NotPossibleNow
from judging.models import VerificationAssignment, VerificationStudy
from judging.people.selectors import actor_names
from judging.verification import selectors, services
from judging.verification.rules import STATEMENTS, Share
from tests.factories import WritingRoundFactory, checker, writer
from tests.judging.verification.acts import accepted_query, answer_next, take

pytestmark = pytest.mark.django_db


def start(project: Project, n: int, **values: Any) -> VerificationStudy:
    about = {"name": "a study", "seed": 3, "actor": None, **values}
    return services.study_create(project=project, n_pairs=n, **about)


@pytest.fixture
def project() -> Project:
    """Of four accepted queries, two each of two writers; one of them is about the subtitles."""
    row = WritingRoundFactory()
    people = [writer(row.project), writer(row.project)]
    for number in range(4):
        about = {"writer": people[number % 2], "clip__round": row}
        accepted_query(**{f"assignment__{key}": value for key, value in about.items()}, type="vt" if number else "t")
    return row.project  # type: ignore[no-any-return]


class TestSample:
    def test_the_same_seed_draws_the_same_and_another_one_something_else(self, project: Project) -> None:
        samples = [
            [pair.description_id for pair in start(project, 3, name=str(number), seed=seed).pairs.all()]
            for number, seed in enumerate((1, 1, 2, 5, 6))
        ]
        assert samples[0] == samples[1] and len(set(samples[0])) == 3 and len(set(map(tuple, samples))) > 1

    def test_a_round_has_its_own_queries_alone(self, project: Project) -> None:
        other = WritingRoundFactory(project=project)
        query = accepted_query(assignment__clip__round=other)
        study = start(project, 1, round=other)
        assert study.pairs.get().description == query.description
        assert [row.text for row in study.statements.all()] == list(STATEMENTS)
        with pytest.raises(NotPossible, match="has 1 accepted descriptions .* fewer than the 2"):
            start(project, 2, name="another", round=other)
        with pytest.raises(NotPossible, match="choose another name"):
            start(project, 1)

    def test_a_check_whose_description_is_drawn_stays(self, project: Project) -> None:
        start(project, 4)
        check = Description.objects.earliest("pk").written_query.checks.get()
        with pytest.raises(NotPossibleNow, match="verification study"):
            checking.check_undo(check=check.uuid, checker=check.checker)


class TestAnswers:
    def test_nobody_gets_what_they_wrote_or_checked_nor_a_pair_twice(self, project: Project) -> None:
        study = start(project, 4)
        queries = [pair.description.written_query for pair in study.pairs.all()]
        author, looked = queries[0].writer, queries[0].checks.get().checker
        author.memberships.update(roles=["writer", "checker"])
        theirs = {query.description_id for query in queries if query.writer == author}
        pairs = {answer_next(study, author, (5, 5, 5)).pair.description_id for _ in range(2)}
        assert pairs == {query.description_id for query in queries} - theirs
        assert services.pair_take(study=study, verifier=author) is None
        assert take(study, looked).pair.description_id == queries[2].description_id  # not the first: they accepted it

    def test_no_more_people_have_a_pair_than_the_study_asks(self, project: Project) -> None:
        study = start(project, 1, answers_per_pair=2)
        first, second, third = (checker(project) for _ in range(3))
        row = take(study, first)
        assert take(study, first) == row
        take(study, second)
        assert services.pair_take(study=study, verifier=third) is None
        late = timezone.now() + timedelta(hours=2)
        assert services.pair_take(study=study, verifier=third, now=late) is not None  # both leases ran out
        answer_next(study, second, (1, 2, 3))
        third_row = VerificationAssignment.objects.get(verifier=third)
        services.answers_submit(assignment=third_row.uuid, verifier=third, values={1: 1, 2: 1, 3: 1}, now=late)
        with pytest.raises(LeaseLost, match="others have answered"):
            services.answers_submit(assignment=row.uuid, verifier=first, values={1: 1, 2: 1, 3: 1}, now=late)
        assert selectors.study_counts(study) == {"pairs": 1, "complete": 1, "answers": 2, "target": 2, "people": 2}

    def test_answers_are_complete_and_are_taken_once(self, project: Project) -> None:
        study, person = start(project, 2), checker(project)
        row = take(study, person)
        about = {"assignment": row.uuid, "verifier": person}
        for values, words in (({1: 5, 3: 5}, "statement 2"), ({1: 5, 2: 6, 3: 5}, "one of the five")):
            with pytest.raises(NotPossible, match=words):
                services.answers_submit(values=values, **about)
        for _ in range(2):
            services.answers_submit(values={1: 5, 2: 3, 3: 1}, **about)
        with pytest.raises(NotPossibleNow, match="Take that back"):
            services.answers_submit(values={1: 5, 2: 3, 3: 2}, **about)
        with pytest.raises(NotAssigned):
            services.answers_submit(assignment=row.uuid, verifier=checker(project), values={1: 5, 2: 3, 3: 1})
        for _ in range(2):
            services.answers_undo(**about)
        assert take(study, person).pair == row.pair and take(study, person) != row
        assert selectors.study_counts(study)["answers"] == 0

    def test_a_closed_study_takes_nothing(self, project: Project) -> None:
        study, person = start(project, 1), checker(project)
        row = take(study, person)
        for _ in range(2):
            services.study_change(study=study, change="close", actor=None)
        with pytest.raises(NotPossibleNow, match="is closed"):
            take(study, person)
        with pytest.raises(NotPossibleNow, match="is closed"):
            services.answers_submit(assignment=row.uuid, verifier=person, values={1: 1, 2: 1, 3: 1})
        assert project.audit_events.filter(action="verification.close").count() == 1


class TestReport:
    def test_shares_are_those_of_the_answers(self, project: Project) -> None:
        study, person = start(project, 4, statements=["One.", "Two."]), checker(project)
        for values in ((5, 3), (4, 2), (3, 1), (1, 4)):
            answer_next(study, person, values)
        names = actor_names(project, to_lead=False)
        report = selectors.report_of(study, names)
        one, two = report.statements
        assert one.counts == (1, 0, 1, 1, 1) and two.counts == (1, 1, 1, 1, 0)
        assert (one.neutral.value, one.agree.value, two.neutral.value, two.agree.value) == (0.75, 0.5, 0.5, 0.25)
        assert report.overall[0].neutral.value == 0.625
        assert one.neutral == Share(0.75, pytest.approx(0.3006, abs=1e-4), pytest.approx(0.9544, abs=1e-4))
        assert [(line.group, line.answers) for line in report.types] == [
            ("Both", 3), ("Both", 3), ("Subtitle", 1), ("Subtitle", 1)
        ]  # fmt: skip
        assert [(line.group, line.answers) for line in report.writers] == [
            ("writer 1", 2), ("writer 1", 2), ("writer 2", 2), ("writer 2", 2)
        ]  # fmt: skip
        worst = selectors.worst_of(selectors.worst_pairs(study), names)
        assert [(row.lowest, row.mean) for row in worst] == [(1, 2.0), (1, 2.5), (2, 3.0)]
        lines = csv_text(selectors.CSV_COLUMNS, selectors.answer_lines(study)).splitlines()
        first_pair = study.pairs.get(position=1)
        assert (
            len(lines) == 9 and lines[1].startswith(f'"{first_pair.uuid}",') and '"checker 5",1,"One.",5,' in lines[1]
        )

    def test_another_look_is_of_somebody_else_and_stands_in_the_report(self, project: Project) -> None:
        study, person = start(project, 2, statements=["One."]), checker(project)
        for value in (1, 2):
            answer_next(study, person, [value])
        for pair in study.pairs.all():
            for _ in range(2):
                services.inspection_request(pair=pair, actor=None)
        assert services.inspection_take(project=project, checker=person) is None
        second, third = checker(project), checker(project)
        first_row = services.inspection_take(project=project, checker=second)
        assert first_row is not None and services.inspection_take(project=project, checker=second) == first_row
        second_row = services.inspection_take(project=project, checker=third)
        assert second_row is not None and second_row != first_row
        decide = services.inspection_decide
        with pytest.raises(NotPossible, match="Say why you move"):
            decide(inspection=first_row.uuid, checker=second, verdict=Verdict("correct", 1, 4))
        with pytest.raises(NotPossible, match="somebody else looks"):
            decide(inspection=first_row.uuid, checker=person, verdict=Verdict("accept", 1, 4))
        for _ in range(2):
            decide(inspection=first_row.uuid, checker=second, verdict=Verdict("correct", 1, 4, note="Early."))
        with pytest.raises(NotPossibleNow, match="decided about this pair"):
            decide(inspection=first_row.uuid, checker=third, verdict=Verdict("reject", 1, 4, "wrong"))
        decide(inspection=second_row.uuid, checker=third, verdict=Verdict("reject", 1, 4, "wrong"))
        rows = selectors.report_of(study, {}).inspected
        assert [(row.value, row.n, row.accepted and row.accepted.value) for row in rows] == [(1, 1, 1.0), (2, 1, 0.0)]
        assert first_row.pair.description.moment.start_s == 1.5
        with pytest.raises(NotPossibleNow, match="another look"):
            services.answers_undo(assignment=study.pairs.get(position=1).assignments.get().uuid, verifier=person)
