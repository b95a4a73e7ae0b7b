"""The way of an annotator: candidate, training, exam, qualified; suspended or left at any time. Pure."""

WAY = ("candidate", "training", "exam", "qualified")
OUT = ("suspended", "left")


def may_become(standing: str, wanted: str) -> bool:
    """Whether ``wanted`` can follow ``standing``.

    Forward on the way, any number of steps (a lead may qualify a candidate with a reason); out of it from everywhere;
    back onto it at any step, from outside only. An empty standing is somebody who joins.
    """
    if wanted in OUT:
        return standing in WAY or (standing in OUT and standing != wanted)
    if wanted not in WAY:
        return False
    return standing not in WAY or WAY.index(standing) < WAY.index(wanted)
