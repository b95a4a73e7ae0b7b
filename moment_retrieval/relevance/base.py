"""What the proxies share: the shape of a ranking, and the errors they raise."""

import numpy as np
from numpy.typing import NDArray

DECIMALS = 6  # similarities are rounded, so that every machine ranks alike
Ranked = tuple[NDArray[np.intp], NDArray[np.float64]]  # indexes of moments [K], best first, and their similarities [K]


class RelevanceError(Exception):
    """A proxy cannot be computed; ``str`` says what to do."""


class RelevanceMissing(RelevanceError):
    """What the proxy needs is not here; the message says what to install or set."""


class RankingNotOffered(RelevanceError):
    """The proxy scores given pairs and does not rank a pool."""
