"""All rows of a project, and what must hold of them whatever happened."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

from accounts.models import Project
from judging.models import Assignment, Batch, Flag, Judgment, JudgmentChange, JudgmentDay, Pair
from judging.projects.overview import tallies
from judging.work import rules
from judging.work.rules import form_key

OPEN = Assignment.State.OPEN
WITHDRAWN = Pair.State.WITHDRAWN
ENDED = {Pair.State.SETTLED, Pair.State.DROPPED, WITHDRAWN}
STATE_BY_ROUND = {1: Pair.State.OPEN, 2: Pair.State.ESCALATED}  # by the batch's round


def _assignment_and_pair(judgment: Judgment) -> tuple[int | None, int]:
    return judgment.assignment_id, judgment.pair_id


class Rows:
    """All rows of a project, and what must hold of them at any instant at which nobody is in the middle of a step."""

    def __init__(self, project_id: int) -> None:
        self.project = Project.objects.get(pk=project_id)
        self.rules = rules.rules_of(self.project)
        self.batches = list(Batch.objects.filter(project=project_id).order_by("pk"))
        self.pairs = list(Pair.objects.filter(batch__project=project_id).order_by("pk"))
        self.assignments = list(Assignment.objects.filter(project=project_id).order_by("pk"))
        judgments = Judgment.objects.filter(pair__batch__project=project_id)
        self.judgments = list(judgments.select_related("assignment", "pair").order_by("pk"))
        flags = Flag.objects.filter(pair__batch__project=project_id)
        self.flags = list(flags.select_related("assignment").order_by("pk"))
        self.changes: dict[int, list[JudgmentChange]] = {}
        for change in JudgmentChange.objects.filter(judgment__pair__batch__project=project_id).order_by("pk"):
            self.changes.setdefault(change.judgment_id, []).append(change)

    def check(self) -> None:
        self.a_grade_at_most_per_judge_round_and_pair()
        self.nobody_grades_a_pair_twice()
        self.one_holder_per_slot_and_one_open_assignment_per_person()
        for judgment in self.judgments:
            self.its_pair_was_assigned(judgment)
            self.its_changes_lead_to_it(judgment)
            self.its_keys_are_those_of_its_forms(judgment)
        self.keys_are_unique()
        for flag in self.flags:
            self.it_was_given_by_the_assigned_annotator(flag)
        for pair in self.pairs:
            self.the_pair_is_what_the_rule_says_of_its_final_grades(pair)
            self.round_2_is_for_pairs_that_round_1_disagreed_on(pair)
            self.withdrawn_pairs_have_two_final_flags_and_no_others(pair)
        for batch in self.batches:
            self.a_batch_is_done_when_nothing_is_left(batch)
            self.the_free_slots_are_a_recount(batch)
        self.tallies_are_a_recount()

    def check_times(self) -> None:
        """Where everybody's clock is the same."""
        for assignment in self.assignments:
            self.previous_grades_follow_the_order_in_time(assignment)
        for flag in self.flags:
            self.it_was_given_while_its_assignment_was_open(flag)

    def a_grade_at_most_per_judge_round_and_pair(self) -> None:
        assert most((j.pair_id, j.round) for j in self.judgments) <= self.rules.judges
        assert most(j.pair_id for j in self.judgments) <= self.rules.judges * self.rules.max_rounds

    def nobody_grades_a_pair_twice(self) -> None:
        assert most((j.pair_id, j.annotator_id) for j in self.judgments) <= 1

    def one_holder_per_slot_and_one_open_assignment_per_person(self) -> None:
        open_assignments = [a for a in self.assignments if a.state == OPEN]
        assert most((a.batch_id, a.round, a.slot) for a in open_assignments) <= 1
        assert most(a.annotator_id for a in open_assignments) <= 1

    def its_pair_was_assigned(self, judgment: Judgment) -> None:
        assignment = judgment.assignment
        assert assignment is not None and judgment.position is not None
        assert assignment.pair_ids[judgment.position - 1] == judgment.pair_id
        assert (assignment.annotator_id, assignment.batch_id) == (judgment.annotator_id, judgment.pair.batch_id)
        assert (assignment.round, assignment.slot) == (judgment.round, judgment.slot)

    def history_of(self, judgment: Judgment) -> list[tuple[int, datetime]]:
        changes = self.changes.get(judgment.pk, [])
        first = changes[0].from_grade if changes else judgment.grade
        return [(first, judgment.created_at), *((change.to_grade, change.changed_at) for change in changes)]

    def its_changes_lead_to_it(self, judgment: Judgment) -> None:
        changes = self.changes.get(judgment.pk, [])
        assert all(one.to_grade == other.from_grade for one, other in pairwise(changes))
        assert len(changes) == judgment.revision
        assert self.history_of(judgment)[-1][0] == judgment.grade

    def its_keys_are_those_of_its_forms(self, judgment: Judgment) -> None:
        keys = [judgment.uuid, *(change.uuid for change in self.changes.get(judgment.pk, []))]
        assert judgment.assignment is not None
        name = {"assignment": judgment.assignment.uuid, "pair": judgment.pair.uuid}
        keys += [
            flag.uuid for flag in self.flags if (flag.assignment_id, flag.pair_id) == _assignment_and_pair(judgment)
        ]
        assert sorted(keys) == sorted(form_key(**name, n_answers=n_earlier) for n_earlier in range(len(keys)))

    def keys_are_unique(self) -> None:
        changes = [change.uuid for steps in self.changes.values() for change in steps]
        assert most([*changes, *(judgment.uuid for judgment in self.judgments)]) <= 1

    def previous_grades_follow_the_order_in_time(self, assignment: Assignment) -> None:
        judgments = [j for j in self.judgments if j.assignment_id == assignment.pk]
        assert [j.previous_grade for j in judgments[:1]] in ([], [None])
        for before, judgment in pairwise(judgments):
            stood = [grade for grade, at in self.history_of(before) if at <= judgment.created_at]
            assert judgment.previous_grade == stood[-1]

    def it_was_given_by_the_assigned_annotator(self, flag: Flag) -> None:
        assert flag.pair_id in flag.assignment.pair_ids
        assert flag.annotator_id == flag.assignment.annotator_id

    def it_was_given_while_its_assignment_was_open(self, flag: Flag) -> None:
        if flag.assignment.ended_at is not None:
            assert flag.created_at <= flag.assignment.ended_at
            assert flag.withdrawn_at is None or flag.withdrawn_at <= flag.assignment.ended_at

    def the_pair_is_what_the_rule_says_of_its_final_grades(self, pair: Pair) -> None:
        outcome = rules.settle(self.final_grades_of(pair), self.rules)
        if pair.state == Pair.State.SETTLED:
            assert outcome == (rules.State.SETTLED, pair.relevance)
        elif pair.state == Pair.State.DROPPED:
            assert outcome.state == rules.State.DROPPED
        elif pair.state == Pair.State.ESCALATED:
            assert rules.settle(self.grades_of(pair, 1), self.rules).state == rules.State.ESCALATED

    def round_2_is_for_pairs_that_round_1_disagreed_on(self, pair: Pair) -> None:
        if self.grades_of(pair, 2):
            assert pair.state != Pair.State.OPEN
            assert rules.settle(self.grades_of(pair, 1), self.rules).state == rules.State.ESCALATED

    def withdrawn_pairs_have_two_final_flags_and_no_others(self, pair: Pair) -> None:
        flagged_by = [f.annotator_id for f in self.flags if f.pair_id == pair.pk and f.withdrawn_at is None]
        assert most(flagged_by) <= 1
        final = sum(f.pair_id == pair.pk and f.withdrawn_at is None and f.assignment.state != OPEN for f in self.flags)
        if pair.state == WITHDRAWN:
            assert final >= 2 and pair.reason == Pair.Reason.FLAGGED_TWICE
        elif pair.state not in ENDED:
            assert final < 2

    def a_batch_is_done_when_nothing_is_left(self, batch: Batch) -> None:
        states = {pair.state for pair in self.pairs if pair.batch_id == batch.pk}
        if batch.state == Batch.State.DONE:
            assert states <= ENDED
        else:  # flags withdraw the last pair when an assignment ends; the batch is closed by the message sent then
            assert not states <= ENDED - {WITHDRAWN}

    def the_free_slots_are_a_recount(self, batch: Batch) -> None:
        assert batch.free_slots == len(self.free_slots_of(batch))

    def tallies_are_a_recount(self) -> None:
        pairs = Counter(
            f"pair:{pair.state}" + f":{pair.relevance}" * (pair.relevance is not None) for pair in self.pairs
        )
        batches = Counter(f"batch:{batch.number}:{batch.state}:{batch.round}" for batch in self.batches)
        assert tallies(self.project) == {**pairs, **batches}
        days = JudgmentDay.objects.filter(project=self.project)
        counts: Counter[int] = Counter()
        for annotator, judgments in days.values_list("annotator", "judgments"):
            counts[annotator] += judgments
        assert counts == Counter(judgment.annotator_id for judgment in self.judgments)

    def free_slots_of(self, batch: Batch) -> set[int]:
        """Slots that nobody holds and that lack a grade."""
        if batch.state == Batch.State.DONE:
            return set()
        here = [a for a in self.assignments if a.batch_id == batch.pk and a.round == batch.round]
        open_slots = {a.slot for a in here if a.state == OPEN}
        pair_ids = {p.pk for p in self.pairs if p.batch_id == batch.pk and p.state == STATE_BY_ROUND[batch.round]}
        pair_slots = {(j.pair_id, j.slot) for j in self.judgments if j.round == batch.round}
        return {slot for slot in self.rules.slots if any((pk, slot) not in pair_slots for pk in pair_ids)} - open_slots

    def grades_of(self, pair: Pair, number: int) -> list[int]:
        return [j.grade for j in self.judgments if j.pair_id == pair.pk and j.round == number]

    def final_grades_of(self, pair: Pair) -> list[int]:
        final = [j for j in self.judgments if j.assignment is not None and j.assignment.state != OPEN]
        return [j.grade for j in final if j.pair_id == pair.pk]


def most(things: Iterable[object]) -> int:
    """How often the most frequent of ``things`` appears."""
    return max(Counter(things).values(), default=0)
