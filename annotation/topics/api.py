"""Topics for programs: list them, write one, change one."""

from typing import Any
from uuid import UUID

from django.db.models import F
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, grant, grant_by, person_of
from annotation.models import Query, Topic, TopicVersion
from annotation.queries.rules import JUDGED
from annotation.queries.services import LONGEST_NAME
from annotation.topics.files import LARGEST_NUMBER, LONGEST_TEXT, LONGEST_TITLE
from annotation.topics.selectors import topics_of
from annotation.topics.services import topic_change, topic_create
from core.api import ApiView, ChoiceOfField, CountField, Pages, Problem, WordsField, body_of, paged


class TopicOutput(serializers.ModelSerializer[TopicVersion]):
    """A topic as its version in force says."""

    uuid = serializers.UUIDField(source="topic.uuid")
    number = serializers.IntegerField(source="topic.query.number")
    split = serializers.ChoiceField(source="topic.query.split", choices=list(JUDGED))
    query_set = serializers.CharField(source="topic.query.query_set.name", default=None, allow_null=True)

    class Meta:
        model = TopicVersion
        fields = ["uuid", "number", "split", "query_set", "version", "title", "description", "narrative", "created_at"]


class TopicInput(serializers.Serializer[Any]):
    title = WordsField(max_length=LONGEST_TITLE, help_text="The query; moments are ranked by it.")
    description = WordsField(max_length=LONGEST_TEXT, required=False, allow_blank=True)
    narrative = WordsField(max_length=LONGEST_TEXT, required=False, allow_blank=True)
    number = CountField(required=False, max_value=LARGEST_NUMBER, help_text="From 1; the next free one if left out.")
    split = ChoiceOfField(list(JUDGED), required=False, help_text=f"{Query.Split.TEST.value} if left out.")
    query_set = WordsField(
        max_length=LONGEST_NAME, required=False, help_text="The name of the set it goes to; the split's if left out."
    )


class TopicChangeInput(serializers.Serializer[Any]):
    """Whatever is left out stays; the title only changes before moments are ranked by it."""

    title = WordsField(max_length=LONGEST_TITLE, required=False)
    description = WordsField(max_length=LONGEST_TEXT, required=False, allow_blank=True)
    narrative = WordsField(max_length=LONGEST_TEXT, required=False, allow_blank=True)
    seen_version = CountField(required=False, help_text="Refused where a newer one than this is in force.")


def topic_given(topic: Topic, *, status: int = 200) -> Response:
    version = topics_of(topic.query.project).get(topic=topic)
    return Response(TopicOutput(version).data, status=status)


class Topics(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="topics", responses={200: TopicOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Topics of the project as their versions in force, the newest version first."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, topics_of(project).annotate(uuid=F("topic__uuid")), TopicOutput)

    @extend_schema(
        operation_id="topic_create",
        request=TopicInput,
        responses={201: TopicOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Write a topic; it becomes a query without a caption of origin."""
        project = grant_by(request, project_uuid, STAFF).project
        topic = topic_create(project=project, actor=person_of(request), **body_of(request, TopicInput))
        return topic_given(topic, status=201)


class OneTopic(ApiView):
    @extend_schema(operation_id="topic", responses={200: TopicOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, topic_uuid: UUID) -> Response:
        """One topic, as its version in force says."""
        return topic_given(topic_granted(request, topic_uuid))

    @extend_schema(
        operation_id="topic_change",
        request=TopicChangeInput,
        responses={200: TopicOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def patch(self, request: Request, topic_uuid: UUID) -> Response:
        """Put a new version in force; where nothing differs the last one stays."""
        topic = topic_granted(request, topic_uuid)
        body = body_of(request, TopicChangeInput)
        last = topics_of(topic.query.project).get(topic=topic)
        texts = {name: body.pop(name, getattr(last, name)) for name in ("title", "description", "narrative")}
        seen_version = body.get("seen_version", last.version)
        topic_change(topic=topic, actor=person_of(request), seen_version=seen_version, **texts)
        return topic_given(topic)


def topic_granted(request: Request, topic_uuid: UUID) -> Topic:
    """Return a topic to leads and admins of its project."""
    topic = get_object_or_404(Topic.objects.select_related("query__project"), uuid=topic_uuid)
    grant(request, topic.query.project, STAFF)
    return topic
