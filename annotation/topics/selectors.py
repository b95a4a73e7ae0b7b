"""Reads of topics: those of a project with the version in force, what stands against a new title, and all versions."""

from django.db.models import Count, Exists, OuterRef, QuerySet

from accounts.models import Membership, Project, User
from annotation.models import Candidate, Topic, TopicVersion


def topics_of(project: Project) -> QuerySet[TopicVersion]:
    """Return the version in force of every topic, by number; each ``is_ranked`` where its query has candidates."""
    last = TopicVersion.objects.filter(topic=OuterRef("topic")).order_by("-version").values("pk")[:1]
    rows = TopicVersion.objects.filter(topic__query__project=project, pk=last)
    ranked = Exists(Candidate.objects.filter(query=OuterRef("topic__query")))
    return rows.annotate(is_ranked=ranked).select_related("topic__query__query_set").order_by("topic__query__number")


def version_in_force(topic: Topic) -> TopicVersion:
    return topic.versions.order_by("-version")[0]


def versions_by_number(project: Project) -> dict[int, TopicVersion]:
    """Return the version in force of every topic, by the topic's number."""
    return {row.topic.query.number: row for row in topics_of(project)}


def versions_with_uses(topic: Topic) -> QuerySet[TopicVersion]:
    """Return all versions, the newest first, with the number of assignments that showed each."""
    return topic.versions.annotate(uses=Count("assignments")).order_by("-version")


def is_ranked(topic: Topic) -> bool:
    """Say whether moments were ranked for the topic: its title stays from then on."""
    return Candidate.objects.filter(query=topic.query_id).exists()


def may_import_topics(*, actor: User, project: Project) -> bool:
    return Membership.objects.filter(user=actor, project=project, roles__overlap=Membership.STAFF).exists()


def all_versions(project: Project) -> QuerySet[TopicVersion]:
    """Return every version of the project's topics, by number and version."""
    rows = TopicVersion.objects.filter(topic__query__project=project).select_related("topic__query")
    return rows.order_by("topic__query__number", "version")
