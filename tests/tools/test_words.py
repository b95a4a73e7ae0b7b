"""Names that a stranger could not guess are counted, and their number only goes down."""

from tools.words import more_than, word_counts

SOURCE = '''
"""What it is."""

class OtherWorlds:
    def sittings_of(self, asked: int) -> int:
        """Return the number."""
        found, total = asked, 2
        return total + found
'''


def test_words_are_counted_within_names_and_participles_where_they_are_variables() -> None:
    counts = word_counts(SOURCE, "door_keeper")
    assert +counts == {
        "world": 1,  # OtherWorlds
        "sitting": 1,  # sittings_of
        "asked": 2,  # bound, and used
        "door": 1,  # the module's own name
        "keeper": 1,
        "participles as variables": 2,  # asked, found
        "docstrings that open with What": 1,
    }


def test_only_a_number_that_grew_is_reported_with_what_to_say_instead() -> None:
    counts = word_counts(SOURCE)
    assert more_than(counts, dict(counts)) == []
    [line] = more_than(counts, {**counts, "sitting": 0})
    assert "exam attempt" in line and "1 times" in line
