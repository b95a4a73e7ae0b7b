"""Topics on the judging page: an assignment shows one version from its first pair to its last."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.topics.services import topic_change, topic_create
from tests.factories import BatchFactory, ProjectFactory
from tests.judging.api.acts import bearer
from tests.judging.api.acts import url as api_url
from tests.judging.play import pairs_in_order
from tests.judging.views.acts import HTMX, form, hold, logged_in, take, url
from tests.judging.views.test_statements import STATEMENTS

pytestmark = pytest.mark.django_db


def test_a_new_version_is_for_the_next_assignment(client: Client) -> None:
    topic = topic_create(project=ProjectFactory(), title="A man sings", narrative="Only <songs>.\n\nNo humming.")
    batch = BatchFactory(query=topic.query, pairs=2)
    assignment = hold(batch)
    topic_change(topic=topic, title="A man sings", description="A song.", narrative="Humming, too.")
    page = logged_in(assignment.annotator).get(url("pair-next", batch.project)).content.decode()
    assert "Only &lt;songs&gt;." in page and "<p>No humming.</p>" in page and "Humming, too" not in page
    client.force_login(assignment.annotator)
    pair = pairs_in_order(assignment)[0]
    address, data = url("judgment-create", pair), form(assignment, pair, 2)
    with CaptureQueriesContext(connection) as capture:
        answer = client.post(address, data, headers=HTMX)
    assert "No humming." in answer.content.decode()
    assert len(capture) == STATEMENTS, capture.captured_queries
    second = take(batch)
    program = Client(headers=bearer(second.annotator)).get(api_url("assignment", batch.project)).json()
    assert (program["description"], program["narrative"]) == ("A song.", "Humming, too.")


def test_a_query_that_is_no_topic_has_nothing_to_fold_out() -> None:
    assignment = take(batch := BatchFactory(pairs=1))
    assert "Description and narrative</summary>" not in (
        logged_in(assignment.annotator).get(url("pair-next", batch.project)).content.decode()
    )
