from annotation.exceptions import NotPossible

LONGEST_NAME = 200


def checked_name(name: str) -> str:
    """The name of a corpus or project, without spaces around it.

    Raises:
        NotPossible: it is empty, too long, or holds a null byte.
    """
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or "\0" in name:
        raise NotPossible(f"A name has 1 to {LONGEST_NAME} characters.")
    return name
