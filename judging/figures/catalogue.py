"""Which figures there are, and who may see them."""

from collections.abc import Callable
from dataclasses import dataclass

from accounts.access import LEAD, STAFF
from accounts.models import Membership
from judging.figures import agreement, relevance
from judging.figures.asked import Asked
from judging.figures.sheet import Sheet
from judging.quality.rules.agreement import FEWEST_PAIRS

SETTLED = "It fills as pairs settle."


@dataclass(frozen=True)
class Figure:
    """A figure: its name in addresses, its words (the label is the short one), and how it is drawn."""

    name: str
    label: str
    title: str
    about: str
    draw: Callable[[Asked], Sheet]
    paper: str = ""
    empty: str = SETTLED
    roles: frozenset[Membership.Role] = STAFF


FIGURES = [
    Figure(
        "similarity",
        "Similarity",
        "Relevance against similarity",
        "Settled pairs by the similarity of query and moment, in steps of 0.05. Where relevance rises with similarity, "
        "candidates chosen by similarity find what is relevant.",
        relevance.similarity,
        paper="Figure 4 a",
        empty="It fills as pairs settle whose similarity is known; imported judgments bring none.",
    ),
    Figure(
        "rank",
        "Rank",
        "Relevance against rank",
        "Settled pairs by the rank of the moment among the candidates of its query. A curve that is still high at its "
        "end says that more relevant moments lie beyond.",
        relevance.rank,
        paper="Figure 4 b",
    ),
    Figure(
        "grades",
        "Grades",
        "Lowest and highest grade",
        "Pairs by the lowest and the highest grade they were given, before consensus, as soon as their first round is "
        "complete. On the diagonal everybody said the same; the further from it, the wider the disagreement.",
        relevance.grades,
        paper="Figure 5 a",
        empty="It fills as first rounds are completed.",
    ),
    Figure(
        "relevance",
        "Relevance",
        "Final relevance",
        "What pairs settled with: the mean of the deciding grades, rounded up.",
        relevance.relevance,
        paper="Figure 5 b",
    ),
    Figure(
        "cases",
        "Cases",
        "Case studies",
        "Single queries: a bar for the relevance of each candidate by rank, and the line of its similarity. "
        "× is a dropped pair, – a withdrawn one, ! one with grades far apart, · one not settled yet.",
        agreement.case_studies,
        paper="Figure 6",
        empty="No query with a settled pair is like that.",
    ),
    Figure(
        "order",
        "Order",
        "Grades by position",
        "Pairs are shown in a shuffled order, so where a pair stands says nothing about it. What is drawn is the mean "
        "difference from what others gave the same pair, with its 95\N{NO-BREAK SPACE}% interval: a slope by position "
        "is fatigue or drift, one by the grade given just before is anchoring.",
        agreement.order,
        empty="It fills as annotators finish batches; imported judgments have no position.",
    ),
    Figure(
        "time",
        "Time",
        "Agreement over time",
        "How far the two grades of first rounds agree, by the day of the second: the share of pairs whose grades are "
        "at most one apart, and Krippendorff’s α, which takes away what chance would give.",
        agreement.over_time,
        empty="It fills as first rounds are completed; imported judgments have no date.",
    ),
    Figure(
        "partners",
        "Annotators",
        "Annotator × annotator",
        "Cohen’s κ of every two annotators over the pairs that both graded, whatever the round. Grey writing stands "
        f"for fewer than {FEWEST_PAIRS} shared pairs, ? for a κ that is undefined. Only leads see this figure.",
        agreement.partners,
        empty="It fills as annotators finish batches they share.",
        roles=LEAD,
    ),
]
BY_NAME = {figure.name: figure for figure in FIGURES}
