"""Drawing queries from captions."""

import pytest

from annotation.exceptions import NotPossible
from annotation.models import Project
from annotation.services.queries import queries_draw
from tests.factories import CaptionFactory, MomentFactory, ProjectFactory, VideoFactory

pytestmark = pytest.mark.django_db
SIZES = {"val": 3, "test": 4}


@pytest.fixture
def project() -> Project:
    """Twelve texts, two of them three times, and captions that are no candidates for queries."""
    made: Project = ProjectFactory()
    video = VideoFactory(corpus=made.corpus)
    texts = [f"text {n}" for n in range(12)] + ["text 0", "text 0", "text 1", "text 1"]
    for place, text in enumerate(texts):
        moment = MomentFactory(video=video, start_s=place, end_s=place + 1, uncut=True)
        CaptionFactory(moment=moment, text=text, description__source_id=1000 + place)
    for kind in ("subtitle", "both"):
        CaptionFactory(moment=moment, text=f"a {kind}", description__kind=kind, description__source_id=ord(kind[0]))
    CaptionFactory(text="elsewhere")
    return made


def drawn(project: Project) -> list[tuple[int, str, str]]:
    return list(project.queries.order_by("number").values_list("number", "text", "split"))


def test_sizes_and_texts(project: Project) -> None:
    counts = queries_draw(project=project, sizes=SIZES, seed=1)
    rows = drawn(project)
    judged = [text for _, text, split in rows if split != "train"]
    train = [text for _, text, split in rows if split == "train"]
    assert len(set(judged)) == len(judged) == 7
    assert not set(judged) & set(train)
    assert counts == {"val": 3, "test": 4, "train": len(train), "removed": 16 - len(rows)}
    assert set(judged + train) == {f"text {n}" for n in range(12)}


def test_number_and_caption_are_those_of_the_description(project: Project) -> None:
    queries_draw(project=project, sizes=SIZES, seed=1)
    for query in project.queries.select_related("caption__description"):
        assert query.caption is not None
        assert (query.number, query.text) == (query.caption.description.source_id, query.caption.text)


def test_the_seed_decides(project: Project) -> None:
    results = []
    for seed in (1, 1, 2):
        queries_draw(project=project, sizes=SIZES, seed=seed)
        results.append(drawn(project))
        project.queries.all().delete()
        project.query_sets.all().delete()
    assert results[0] == results[1] != results[2]


def test_refusals(project: Project) -> None:
    with pytest.raises(NotPossible, match="12 different"):
        queries_draw(project=project, sizes={"val": 13}, seed=1)
    assert not project.queries.exists()
    queries_draw(project=project, sizes=SIZES, seed=1)
    with pytest.raises(NotPossible, match="has queries already"):
        queries_draw(project=project, sizes=SIZES, seed=1)


def test_written_down(project: Project) -> None:
    queries_draw(project=project, sizes=SIZES, seed=5)
    event = project.audit_events.get(action="queries.draw")
    assert (event.data["seed"], event.data["val"], event.data["test"]) == (5, 3, 4)
