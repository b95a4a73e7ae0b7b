"""Simulated annotators: they grade by the demo's known truth, with noise and bias. Pure but for the script."""

import math
import random
from dataclasses import dataclass
from functools import lru_cache

from annotation.demo import Episode, ScriptedMoment, true_relevance, write_script
from judging.work.rules import GRADES

Span = tuple[str, float, float]  # video name, start and end in seconds


@dataclass(frozen=True)
class Grader:
    """How one simulated annotator departs from the truth; ``contrary`` turns the scale round."""

    seed: int
    bias: float = 0.0
    noise: float = 0.45
    contrary: bool = False

    def grade(self, truth: int, *, pair: str) -> int:
        """A grade 0 to 4 for a pair of this true relevance; the same pair always gets the same grade."""
        chance = random.Random(f"{self.seed}:{pair}")
        seen = GRADES[-1] - truth if self.contrary else truth
        return min(GRADES[-1], max(GRADES[0], round(seen + self.bias + chance.gauss(0.0, self.noise))))

    def seconds(self, *, pair: str) -> float:
        """How long a person would have looked at it: about 19 s, now and then much longer."""
        chance = random.Random(f"time:{self.seed}:{pair}")
        return chance.lognormvariate(math.log(16 + self.seed / 2), 0.5)


GRADERS = (
    Grader(1),
    Grader(2, bias=0.3),
    Grader(3, bias=-0.3),
    Grader(4, noise=0.8),
    Grader(5, noise=0.2),
    Grader(6, noise=1.2, bias=0.2),
)
CONTRARY = Grader(7, noise=0.6, contrary=True)


@lru_cache(maxsize=4)
def script_of(seed: int, videos: int) -> tuple[Episode, ...]:
    return tuple(write_script(seed=seed, videos=videos))


@lru_cache(maxsize=4)
def scripted_moments(seed: int, videos: int) -> dict[Span, ScriptedMoment]:
    """What happens in each moment of the demo."""
    return {
        (episode.name, moment.start_s, moment.end_s): moment
        for episode in script_of(seed, videos)
        for moment in episode.moments
    }


def truth_of(query: Span, moment: Span, *, seed: int, videos: int) -> int:
    """True relevance 0 to 4 of a moment for the query made from another moment's caption."""
    known = scripted_moments(seed, videos)
    return true_relevance(known[query], known[moment])
