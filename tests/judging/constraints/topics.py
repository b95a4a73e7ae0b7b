"""Topics, their versions, and which one an assignment shows."""

from annotation.models import Topic, TopicVersion
from annotation.topics.services import topic_create
from judging.models import Assignment
from tests.factories import AssignmentFactory, BatchFactory, CandidateFactory, ProjectFactory
from tests.judging.constraints.writes import More, Refused, Write, change, deletion, maker


def topic(title: str = "A man sings") -> Topic:
    return topic_create(project=ProjectFactory(), title=title)


def first_version() -> TopicVersion:
    return topic().versions.get()


version = maker(TopicVersion, topic=topic, version=2, title="A man sings")


def second_first_version() -> Write:
    row = topic()
    return lambda: version(topic=row, version=1)


def title_of_a_ranked_topic() -> Write:
    query = CandidateFactory(query=topic().query).query
    return lambda: type(query).objects.filter(pk=query.pk).update(text="A dog runs")


def assignment_without_its_version() -> Write:
    batch = BatchFactory(query=topic().query, pairs=1)
    return lambda: AssignmentFactory(batch=batch, topic_version=None)


def assignment_of_another_topic() -> Write:
    batch, other = BatchFactory(query=topic().query, pairs=1), first_version()
    return lambda: AssignmentFactory(batch=batch, topic_version=other)


def assignment_with_a_newer_version() -> Write:
    row = topic()
    first = row.versions.get()
    assignment = AssignmentFactory(batch=BatchFactory(query=row.query, pairs=1), topic_version=first)
    newer = version(topic=row)
    return lambda: Assignment.objects.filter(pk=assignment.pk).update(topic_version=newer)


def untitled() -> TopicVersion:
    """Of a query whose text is empty, too: the title is the query's."""
    row = topic()
    type(row.query).objects.filter(pk=row.pk).update(text="")
    return version(topic=row, title="")  # type: ignore[no-any-return]


REFUSED: Refused = {
    "topic_version_once_per_topic": second_first_version,
    "topic_version_from_1": lambda: lambda: version(version=0),
    "topic_version_has_a_title": lambda: untitled,
}


MORE: More = {
    "append-only": {
        "versions stay": deletion(first_version),
        "versions say what they said": change(first_version, narrative="Another."),
    },
    "is the text of its query": {"a title is its query's": lambda: lambda: version(title="A dog runs")},
    "stays once moments are ranked": {"a ranked title stays": title_of_a_ranked_topic},
    "shows a version of its own topic": {
        "an assignment of a topic shows a version": assignment_without_its_version,
        "no version of another": assignment_of_another_topic,
    },
    "keeps the version of its topic": {"what is shown stays": assignment_with_a_newer_version},
}
TRIGGERS = {
    "topic_version_is_append_only",
    "topic_version_has_the_text",
    "topic_text_stays",
    "assignment_shows_its_topic",
}
