"""Projects for programs: those you take part in, new ones, how far one is, its candidates and batches, its jobs."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, STAFF, grant, grant_by, grant_staff, person_of
from accounts.models import Membership, Project
from annotation.corpora.selectors import corpora_within_reach, preview_counts
from annotation.pools.rules import Rows, strata_listed, strata_rows
from annotation.queries.selectors import split_counts
from core.api import (
    ApiView,
    CountField,
    Invalid,
    JobOutput,
    KeyField,
    Pages,
    Problem,
    WordsField,
    YesNoField,
    body_of,
    form_values,
    paged,
)
from core.models import Job
from core.texts import LONGEST_NAME
from judging.projects import services
from judging.projects.checklist import checklist_of
from judging.projects.forms import CollectionForm, ProjectForm, RulesForm, SimilarityForm
from judging.projects.services import collection_create, project_create
from judging.work.rules import RULE_FIELDS


class ProjectOutput(serializers.ModelSerializer[Membership]):
    uuid = serializers.UUIDField(source="project.uuid")
    name = serializers.CharField(source="project.name")
    role = serializers.ChoiceField(Membership.Role.choices, source="first_role")
    roles = serializers.ListField(child=serializers.ChoiceField(Membership.Role.choices))

    class Meta:
        model = Membership
        fields = ["uuid", "name", "role", "roles", "number"]


class StepOutput(serializers.Serializer[Any]):
    """A step from videos to a trained baseline; the state ``now`` is that of the first that is not done."""

    name = serializers.CharField(source="step.label")
    state = serializers.ChoiceField(["done", "now", "later"])
    facts = serializers.CharField(source="step.facts", help_text="Its numbers, in words.")
    optional = serializers.BooleanField(source="step.is_optional")


class CorpusOfProject(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    name = serializers.CharField()


class PreviewsOfProject(serializers.Serializer[Any]):
    """How many moments of the corpus have a preview; only those are ranked."""

    ready = serializers.IntegerField()
    missing = serializers.IntegerField(help_text="Cut by workers, one video after the other.")
    failed = serializers.IntegerField(help_text="Could not be cut.")


class SplitsOutput(serializers.Serializer[Any]):
    train = serializers.IntegerField()
    val = serializers.IntegerField()
    test = serializers.IntegerField()


class Stratum(serializers.Serializer[Any]):
    """Ranks by similarity of which a batch draws some at random."""

    first = serializers.IntegerField(help_text="Rank, 1 in the first stratum, then right behind the one before.")
    last = serializers.IntegerField(help_text="Rank, 1000 at the most.")
    sample = serializers.IntegerField(help_text="How many are drawn; in all strata as many as a batch has pairs.")


@extend_schema_field(Stratum(many=True))
class StrataField(serializers.Field[Any, Any, Any, Any]):
    """Strata, each with its names."""

    def to_internal_value(self, data: object) -> Rows:
        try:
            return strata_rows(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error

    def to_representation(self, value: Rows) -> list[dict[str, int]]:
        return strata_listed(value)


class RulesOutput(serializers.ModelSerializer[Project]):
    """The rules of judging; fixed once somebody has begun to judge."""

    strata = StrataField(help_text="Ranks that batches draw from; empty: the best by rank.")

    class Meta:
        model = Project
        fields = RULE_FIELDS


class ProjectStateOutput(serializers.ModelSerializer[Project]):
    """A project with what its first page shows; the operation ``progress`` counts its batches and pairs."""

    corpus = CorpusOfProject(source="dataset.corpus")
    similarity = serializers.CharField(source="dataset.similarity", help_text="Empty: the default of the site.")
    previews = PreviewsOfProject(source="preview_counts")
    queries = SplitsOutput(source="split_counts", help_text="How many there are of each split.")
    rules = RulesOutput(source="*")
    steps = StepOutput(many=True, help_text="None once all are done.")
    jobs = JobOutput(many=True, source="jobs_at_work", help_text="Those that are at work or wait.")

    class Meta:
        model = Project
        fields = ["uuid", "name", "corpus", "similarity", "previews", "queries", "rules", "steps", "jobs"]


class RulesInput(serializers.Serializer[Any]):
    """Rules that change; the rest stays."""

    top_grade = CountField(required=False, help_text="Grades go from 0 to this one, 1 to 9.")
    judges = CountField(required=False, help_text="Of a round, 2 or 3.")
    max_spread = CountField(required=False, help_text="How far apart grades may be that agree.")
    max_rounds = CountField(required=False, help_text="1 or 2.")
    batch_size = CountField(required=False, help_text="Pairs of a batch, 5 to 50.")
    has_second_batch = YesNoField(required=False, help_text="Whether a lead may open a second batch.")
    strata = StrataField(required=False, help_text="Ranks that batches draw from; empty: the best by rank.")


class ProjectInput(RulesInput):
    """A name alone begins a corpus of its own; with a corpus the project is over that.

    Rules that are left out are TVR-Ranking's.
    """

    name = WordsField(max_length=LONGEST_NAME)
    corpus = KeyField(required=False, help_text="One of yours; left out, a new one of the same name without videos.")
    settings_of = KeyField(required=False, help_text="The project of yours whose policy and guideline it begins with.")
    with_queries = YesNoField(required=False, help_text="Take the queries of that project along.")


class RankingInput(serializers.Serializer[Any]):
    similarity = WordsField(
        required=False, allow_blank=True, help_text="Ranks from now on; empty: the default of the site."
    )


def state_given(project: Project) -> dict[str, Any]:
    """Return the state of a project as its team sees it."""
    checklist = checklist_of(project)
    project.steps = checklist.items if checklist else []  # type: ignore[attr-defined]
    previews = dict.fromkeys(PreviewsOfProject().fields, 0) | preview_counts(project.dataset.corpus_id)
    project.preview_counts = previews  # type: ignore[attr-defined]
    project.split_counts = split_counts(project)  # type: ignore[attr-defined]
    project.jobs_at_work = project.jobs.filter(state__in=Job.AT_WORK).order_by("pk")  # type: ignore[attr-defined]
    data: dict[str, Any] = ProjectStateOutput(project).data
    return data


class Projects(ApiView):
    @extend_schema(operation_id="projects", tags=["For annotators"], responses=ProjectOutput(many=True))
    def get(self, request: Request) -> Response:
        """The projects you take part in, and in which roles."""
        mine = Membership.objects.select_related("project").filter(user=person_of(request)).order_by("project__name")
        return Response(ProjectOutput(mine, many=True).data)

    @extend_schema(
        operation_id="project_create",
        request=ProjectInput,
        responses={201: ProjectStateOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def post(self, request: Request) -> Response:
        """Begin a project, over a corpus of yours or a new one. For leads and admins of any; you run all of it."""
        person = person_of(request)
        grant_staff(person)
        body = body_of(request, ProjectInput)
        rules = {name: body.pop(name) for name in RULE_FIELDS if name in body}
        if "corpus" not in body:
            if unused := body.keys() - {"name"}:
                raise Invalid(f"{min(unused)}: Only a project over a corpus that is there takes this.")
            values = form_values(CollectionForm(body))
            project = collection_create(name=values["name"], actor=person, rules=rules)
            return Response(state_given(project), status=201)
        corpus = get_object_or_404(corpora_within_reach(person), uuid=body.pop("corpus"), is_placeholder=False)
        values = form_values(
            ProjectForm(body | {"settings_of": str(body.get("settings_of", ""))}, corpus=corpus, user=person)
        )
        project, _ = project_create(corpus=corpus, leads=[person], actor=person, **values | {"rules": rules})
        return Response(state_given(project), status=201)


class OneProject(ApiView):
    @extend_schema(operation_id="project", responses={200: ProjectStateOutput, 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """One project: its corpus, its queries, the step to take now, and what workers are at."""
        return Response(state_given(grant_by(request, project_uuid, STAFF).project))


class ProjectRules(ApiView):
    @extend_schema(
        operation_id="rules_change",
        request=RulesInput,
        responses={200: RulesOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def patch(self, request: Request, project_uuid: UUID) -> Response:
        """Change the rules of judging, for leads; batches that are open are taken back.

        Refused once somebody has begun to judge, a pair of known truth has its grade, or an exam or a pool is there.
        """
        project, changes = grant_by(request, project_uuid, LEAD).project, body_of(request, RulesInput)
        current = {name: getattr(project, name) for name in RULE_FIELDS}
        values = form_values(RulesForm(current | changes, instance=Project.objects.get(pk=project.pk)))
        changes = {name: values[name] for name in changes}
        services.rules_change(project=project, actor=person_of(request), values=changes)
        return Response(RulesOutput(Project.objects.get(pk=project.pk)).data)


RANKED = {202: JobOutput, **dict.fromkeys((403, 409, 422), Problem)}


class OpenBatches(ApiView):
    @extend_schema(operation_id="batches_open", request=RankingInput, responses=RANKED)
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Rank candidates and open the first batch of every judged query that has none: ask for the job."""
        return ranking_started(request, project_uuid, services.batches_request, services.JOB)


class RankAnew(ApiView):
    @extend_schema(operation_id="candidates_rank", request=RankingInput, responses=RANKED)
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Rank candidates, anew for queries without a batch, and open nothing: ask for the job."""
        return ranking_started(request, project_uuid, services.candidates_request, services.RANK_JOB)


def ranking_started(request: Request, project_uuid: UUID, service: Callable[..., object], kind: str) -> Response:
    """Start a ranking by the similarity of the body, if it names one, and answer with its job."""
    project = grant_by(request, project_uuid, STAFF).project
    similarity = body_of(request, RankingInput).get("similarity")
    if similarity is not None:
        form = SimilarityForm({"similarity": similarity}, similarity=project.dataset.similarity)
        similarity = form_values(form)["similarity"]
    service(project=project, actor=person_of(request), similarity=similarity)
    return Response(JobOutput(project.jobs.filter(kind=kind).latest("pk")).data, status=202)


class Jobs(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="jobs", responses={200: JobOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Work that workers did or do for the project, newest first."""
        jobs: QuerySet[Job] = grant_by(request, project_uuid, STAFF).project.jobs.all()
        return paged(request, self, jobs, JobOutput)


class OneJob(ApiView):
    @extend_schema(operation_id="job", responses={200: JobOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, job_uuid: UUID) -> Response:
        """One job, and how far it is."""
        job = get_object_or_404(Job.objects.select_related("project"), uuid=job_uuid)
        grant(request, job.project, STAFF)
        return Response(JobOutput(job).data)
