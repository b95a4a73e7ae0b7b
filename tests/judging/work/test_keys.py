"""The key of a form: the same for the same state of the same pair, another for anything else."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from judging.work.rules import form_key

ONE = UUID("11111111-1111-4111-8111-111111111111")
OTHER = UUID("22222222-2222-4222-8222-222222222222")
forms = st.tuples(st.uuids(), st.uuids(), st.integers(0, 200))


def key(assignment: UUID, pair: UUID, n_answers: int) -> UUID:
    return form_key(assignment=assignment, pair=pair, n_answers=n_answers)


def test_it_does_not_change_between_releases() -> None:
    """Pages that are open while the site is updated go on."""
    assert key(ONE, OTHER, 0) == UUID("a430da62-a237-5e93-b77d-dfbe1c34a006")
    assert key(ONE, OTHER, 12) == UUID("81fe768a-3d03-5394-a7f6-394cb95b23d3")


@given(forms, forms)
def test_two_forms_share_a_key_only_when_they_show_the_same(
    one: tuple[UUID, UUID, int], other: tuple[UUID, UUID, int]
) -> None:
    assert (key(*one) == key(*other)) == (one == other)


@given(st.uuids(), st.uuids(), st.integers(0, 20))
def test_each_grade_of_a_pair_has_its_own_key(assignment: UUID, pair: UUID, n_given: int) -> None:
    keys = {key(assignment, pair, number) for number in range(n_given + 1)}
    assert len(keys) == n_given + 1
    assert key(pair, assignment, n_given) not in keys or assignment == pair
