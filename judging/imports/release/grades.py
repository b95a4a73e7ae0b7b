"""Judgments under the numbers of people, and the lead's decisions, as a release tells them."""

from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path

from accounts.models import Membership, Project, User
from judging.imports.release.pairs import Judged
from judging.imports.release.rules import Ruled
from judging.models import SEATS, BatchReview, Judgment, Pair
from judging.releases.layout import JUDGMENTS, PAIRS
from judging.releases.lines import BadLines, Cells, rows
from judging.work import rules

CHUNK = 5000
LARGEST_WORKER = 2**31 - 1
TOLD = (Judgment.Source.PERSON, Judgment.Source.SIMULATED)


def grades_store(project: Project, folder: Path, judged: Judged, ruled: Ruled, bad: BadLines) -> None:
    people = _People(project)
    seen: Counter[tuple[int, int]] = Counter()
    given: dict[int, list[int]] = defaultdict(list)

    def read(cells: Cells) -> Judgment:
        number, worker = cells.number("pair_id"), cells.number("worker", most=LARGEST_WORKER)
        pair = cells.known("pair_id", judged.pairs, number)
        guideline, policy = cells.maybe("guideline"), cells.maybe("policy")
        source = cells.one_of("source", *Judgment.Source.values)
        row = Judgment(
            pair=pair,
            occurrence=seen[number, worker],
            round=cells.number("round", 1, 2),
            seat=cells.number("seat", min(SEATS), max(SEATS)),
            grade=cells.number("relevance", most=max(rules.GRADES)),
            position=cells.maybe("position", 1, 2**15 - 1),
            source=Judgment.Source.IMPORTED,
            origin=source if source in TOLD else "",
            guideline_id=None if guideline is None else cells.known("guideline", ruled.guidelines, guideline),
            policy_id=None if policy is None else cells.known("policy", ruled.policies, policy),
            annotator_id=people.key_of(worker),
        )
        seen[number, worker] += 1
        given[number].append(row.grade)
        return row

    told = rows(folder, JUDGMENTS, read, bad)
    while some := list(islice(told, CHUNK)):
        Judgment.objects.bulk_create(some)
    _check_states(judged, given, bad)
    bad.refuse()
    _reviews_store(project, judged)


class _People:
    """A placeholder account nobody can log in as, for each annotator number."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.keys: dict[int, int] = {}

    def key_of(self, worker: int) -> int:
        if worker not in self.keys:
            user = _placeholder(self.project, str(worker))
            Membership.objects.create(
                project=self.project,
                user=user,
                role=Membership.Role.ANNOTATOR,
                number=worker,
                standing=Membership.Standing.LEFT,
            )
            self.keys[worker] = user.pk
        return self.keys[worker]


def _placeholder(project: Project, who: str) -> User:
    return User.objects.create_user(f"released-{project.uuid.hex[:8]}-{who}")


def _check_states(judged: Judged, given: dict[int, list[int]], bad: BadLines) -> None:
    """A settled pair is what the rule makes of its grades, a dropped one is none that they settle."""
    for line, (number, pair) in enumerate(judged.pairs.items(), start=2):
        if pair.state == Pair.State.WITHDRAWN:
            continue
        if len(given[number]) > 4:
            bad.add(PAIRS, line, f"pair {number} has {len(given[number])} grades, at most four make a pair")
            continue
        outcome = rules.settle(given[number])
        settled = outcome.state == rules.State.SETTLED
        if settled != (pair.state == Pair.State.SETTLED) or (settled and outcome.relevance != pair.relevance):
            said = f"{pair.state} {'' if pair.relevance is None else pair.relevance}".strip()
            bad.add(PAIRS, line, f"pair {number} is {said}, which its grades {given[number]} do not give")


def _reviews_store(project: Project, judged: Judged) -> None:
    """Who decided is not told: a placeholder stands for the leads, nobody for the rule."""
    if not judged.reviews:
        return
    lead = _placeholder(project, "lead")
    BatchReview.objects.bulk_create(
        [
            BatchReview(
                batch=judged.batches[place],
                decision=review["decision"],
                suggestion=review["suggestion"],
                decided_by=lead if review["decided_by"] == "lead" else None,
            )
            for place, review in judged.reviews
        ],
        batch_size=CHUNK,
    )
