"""Names that a stranger could not guess are found, with what to say instead."""

from tools.words import PARTICIPLES_THAT_STAY, Finding, findings, repository_findings

SOURCE = '''
"""What it is."""

class OtherWorlds:
    def sittings_of(self, asked: int) -> int:
        """Return the number."""
        found, total = asked, 2
        return total + found
'''


def test_words_are_found_within_names_and_participles_where_they_are_variables() -> None:
    rows = findings(SOURCE, "door_keeper")
    assert [(line, name) for line, name, _ in rows] == [
        (1, "docstring"),
        (1, "door_keeper"),  # the module's own name: door
        (1, "door_keeper"),  # and keeper
        (4, "OtherWorlds"),
        (5, "asked"),  # as a word
        (5, "asked"),  # as a participle
        (5, "sittings_of"),
        (7, "asked"),
        (7, "found"),
    ]
    assert Finding(5, "sittings_of", "say exam_attempt") in rows


def test_names_that_others_dictate_and_reviewed_participles_stay() -> None:
    assert findings("position = file.tell()\nfound = 1\n", stay=["found"]) == []


def test_the_repository_says_none_of_them() -> None:
    assert list(repository_findings()) == []
    assert sum(map(len, PARTICIPLES_THAT_STAY.values())) <= 60
