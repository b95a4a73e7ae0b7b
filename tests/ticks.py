"""A clock for limits of time: no test waits."""


class Ticks:
    """A clock that goes on by a second each time it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now
