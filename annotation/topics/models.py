"""Topic: a query that somebody wrote, with what it asks for in more words. Files of topics on their way in."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import Project
from annotation.queries.models import Query
from core.uploads import Upload, upload_constraints


class Topic(models.Model):
    """A query without a caption of origin. Its number is the query's, its title the query's text; the last version
    holds in force."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    query = models.OneToOneField(Query, models.PROTECT, primary_key=True, related_name="topic")

    def __str__(self) -> str:
        return f"topic {self.query.number}"


class TopicVersion(models.Model):
    """Text of a topic from some time on; rows are only ever added, by triggers. An assignment keeps which one it
    shows."""

    topic = models.ForeignKey(Topic, models.PROTECT, related_name="versions")
    version = models.PositiveSmallIntegerField()
    title = models.TextField(help_text="The text of the query, which annotators see and moments are ranked by.")
    description = models.TextField(blank=True)
    narrative = models.TextField(blank=True, help_text="What is relevant and what is not.")
    judgments_imported = models.PositiveIntegerField(
        default=0, help_text="Judgments given under it, as an imported release says."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["topic", "version"], name="topic_version_once_per_topic"),
            models.CheckConstraint(condition=Q(version__gte=1), name="topic_version_from_1"),
            models.CheckConstraint(condition=~Q(title=""), name="topic_version_has_a_title"),
        ]

    def __str__(self) -> str:
        return f"version {self.version} of topic {self.topic_id}"


class TopicImport(Upload):
    """A file of topics on its way into a project."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="topic_imports")
    project = models.ForeignKey(Project, models.PROTECT, related_name="topic_imports")
    format = models.CharField(max_length=5)
    split = models.CharField(max_length=5, choices=Query.Split)
    query_set = models.CharField(max_length=100, help_text="The name of the set that the new queries go to.")
    preview = models.JSONField(default=list, help_text="The first topics, as they will be stored.")

    class Meta:
        constraints = [
            *upload_constraints("topic_import"),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="topic_import_split_is_judged"),
        ]
