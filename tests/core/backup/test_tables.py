"""Database contents, in numbers that tell two databases apart."""

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from core.backup.database import Content, contents, differences, files_named
from core.models import Job
from tests.factories import MomentFactory, ProjectFactory, VideoFactory

pytestmark = pytest.mark.django_db
A = Content(2, "a")


def test_differences_are_reported_by_table() -> None:
    backup = {"equal": A, "gone": A, "more": A, "other": A}
    restored = {"equal": A, "more": Content(3, "a"), "other": Content(2, "b"), "new": A}
    reports = ["gone: missing", "more: 3 rows instead of 2", "new: only here", "other: other content in its 2 rows"]
    assert sorted(differences(backup, restored)) == reports


def test_a_digest_knows_values_and_not_the_order_of_rows() -> None:
    digests = [_digest(rows) for rows in (["a", "b"], ["b", "a"], ["a", "c"], ["a", "b", "b"], [])]
    assert digests[0] == digests[1]
    assert len({one.digest for one in digests[1:]}) == 4
    assert [one.rows for one in digests] == [2, 2, 2, 3, 0]


def _digest(jobs: list[str]) -> Content:
    """Of a table that holds these texts, inside a transaction."""
    link = connection.connection
    link.execute("CREATE TABLE backup_example (word text)")
    link.execute("INSERT INTO backup_example SELECT unnest(%s::text[])", [jobs])
    content = contents(link)["backup_example"]
    link.execute("DROP TABLE backup_example")
    return content


def test_every_column_of_files_is_looked_at() -> None:
    moment, video = MomentFactory(), VideoFactory()
    video.file.save("a.mp4", ContentFile(b"a"))
    Job.objects.create(project=ProjectFactory(), kind="a", title="a")
    assert {moment.preview.name, video.file.name} <= set(files_named(connection.connection))
