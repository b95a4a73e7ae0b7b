"""What a project will ask of its annotators: judgments, hours and money. Pure.

The defaults are those of TVR-Ranking (Liang et al., arXiv:2407.06597): 3,281 queries, of which 1,544 got a second
batch; 4,825 batches of 96,483 pairs, the last ones short; 17,421 pairs were given four grades; 23 people gave 227,808
judgments in about 1,200 hours, at 14 SGD. They are kept as fractions: rounded, they miss the judgments by hundreds.
"""

from dataclasses import dataclass
from decimal import Decimal

from judging.pay.rules import amount_of, hours_of

GRADES_OF_A_PAIR = 2
MORE_GRADES_OF_AN_ESCALATED_PAIR = 2


@dataclass(frozen=True)
class Assumptions:
    """What a forecast rests on. Shares are of 1."""

    queries: int = 3281
    pairs: float = 96483 / 4825  # of a batch
    second: float = 1544 / 3281  # share of the queries with a second batch
    escalated: float = 17421 / 96483  # share of the pairs with four grades
    seconds: float = 19.0  # of a judgment
    gold: float = 0.0  # share of all pairs shown whose truth is known
    annotators: int = 23
    exam_pairs: int = 100  # that each of them grades
    rate: Decimal = Decimal("14.00")
    currency: str = "SGD"


TVR_RANKING = Assumptions()


@dataclass(frozen=True)
class Part:
    """Judgments of one kind, and how long they take."""

    judgments: float
    seconds: float

    @property
    def ms(self) -> int:
        return round(1000 * self.judgments * self.seconds)

    @property
    def hours(self) -> Decimal:
        return hours_of(self.ms)


@dataclass(frozen=True)
class Forecast:
    """What follows from the assumptions. Nothing is rounded before it is shown."""

    given: Assumptions

    @property
    def batches(self) -> float:
        return self.given.queries * (1 + self.given.second)

    @property
    def pairs(self) -> float:
        return self.batches * self.given.pairs

    @property
    def judging(self) -> Part:
        """Two grades of each pair, two more of those that are escalated."""
        a_pair = GRADES_OF_A_PAIR + MORE_GRADES_OF_AN_ESCALATED_PAIR * self.given.escalated
        return self._part(self.pairs * a_pair)

    @property
    def gold(self) -> Part:
        """So many that they are the given share of all pairs shown."""
        return self._part(self.judging.judgments * self.given.gold / (1 - self.given.gold))

    @property
    def exam(self) -> Part:
        return self._part(self.given.annotators * self.given.exam_pairs)

    @property
    def total(self) -> Part:
        return self._part(self.judging.judgments + self.gold.judgments + self.exam.judgments)

    @property
    def cost(self) -> Decimal:
        return amount_of(self.total.ms, self.given.rate)

    @property
    def each(self) -> Part:
        """One annotator's share of all."""
        return self._part(self.total.judgments / self.given.annotators)

    @property
    def cost_each(self) -> Decimal:
        return amount_of(self.each.ms, self.given.rate)

    def _part(self, judgments: float) -> Part:
        return Part(judgments, self.given.seconds)
