"""New projects, with settings of their own or of another; and query sets, whose batches carry copies of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from accounts.models import Membership, Project, User
from accounts.services.members import member_add
from annotation.corpora.services.corpora import corpus_create, project_over, rows_create, similarity_set
from annotation.models import Corpus, NamedQuerySet, Pooling, Query
from annotation.pools.rules import check_strata, depth_of, strata_of, strata_words
from annotation.pools.services.candidates import (
    candidates_clear,
    candidates_delete,
    candidates_rank,
    similarity_choose,
    similarity_of,
)
from annotation.queries import services
from annotation.queries.rules import Size
from annotation.queries.services import queries_draw
from annotation.similarity import registry
from annotation.similarity.base import SimilarityMissing, TopNotOffered
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import ProjectJobs, durable, job_finish, job_set, job_start
from core.models import Job
from core.texts import LONGEST_NAME, checked_name
from judging.exceptions import NotPossibleNow
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import policy_in_force
from judging.guidelines.services import (
    Example,
    guideline_begin,
    guideline_publish,
    policy_begin,
    policy_publish,
    scaled_values,
)
from judging.models import (
    Assignment,
    Batch,
    Guideline,
    GuidelineDraft,
    Judgment,
    KnownPair,
    Pair,
    Policy,
    ScreeningQuestion,
)
from judging.review.selectors import queries_unfrozen
from judging.work.rules import RULE_FIELDS
from judging.work.services.batches import batches_open, queries_without_batch

JOB, RANK_JOB = "batches", "ranking"
ROOM = 8  # for a number behind a name
ABSENT = (SimilarityMissing, TopNotOffered)
PREPARATIONS = ProjectJobs("judging.tasks.batches_prepare", JOB, lock=JOB, expected=ABSENT)
RANKINGS = ProjectJobs("judging.tasks.candidates_rank", RANK_JOB, lock=JOB, expected=ABSENT)


@transaction.atomic
def project_create(
    *,
    name: str,
    corpus: Corpus,
    sizes: Mapping[str, Size] | None = None,
    seed: int = 1,
    leads: Sequence[User] = (),
    actor: User | None = None,
    settings_of: Project | None = None,
    with_queries: bool = False,
    rules: Mapping[str, Any] | None = None,
) -> tuple[Project, dict[str, int]]:
    """A project over a corpus; without ``sizes`` its queries are drawn later.

    Args:
        leads: become lead and admin, so that they can run all of it.
        settings_of: whose rules and settings it begins with; without, the default policy and guideline.
        with_queries: it takes the queries of that project along, too.
        rules: by which it judges, by the names of RULE_FIELDS; what is left out is as in TVR-Ranking, or in
            ``settings_of``, whose settings are for its own rules alone.

    Returns:
        The project, and what ``queries_draw`` says.

    Raises:
        NotPossible: the name is taken, the corpus has too few captions, the queries cannot be taken along, or ``rules``
            differ from those of ``settings_of``.
    """
    name = checked_name(name)
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus.name!r} stands in for historic judgments.")
    columns: dict[str, Any] = dict(rules or {})
    if settings_of:
        own = {name: getattr(settings_of, name) for name in RULE_FIELDS}
        if own | columns != own:
            raise NotPossible(
                f"The settings of {settings_of.name!r} are for its own rules; leave these as they are there."
            )
        columns = own
    rules_possible_or_refused(Project(name=name, **columns))
    try:
        with transaction.atomic():
            project = project_over(corpus=corpus, name=name, **columns)
    except IntegrityError as error:  # somebody chose the same name at the same moment
        raise NotPossible(f"There is a project named {name!r} already.") from error
    audit_record(project=project, actor=actor, action="project.create", subject=project.uuid, corpus=corpus.name)
    for lead in leads:
        member_add(project=project, user=lead, roles=Membership.STAFF, actor=actor)
    if settings_of:
        settings_copy(source=settings_of, project=project, actor=actor, with_queries=with_queries)
    else:
        policy_begin(project=project, actor=actor)
        guideline_begin(project=project, actor=actor)
    if sizes is None:
        return project, {}
    return project, queries_draw(project=project, sizes=sizes, seed=seed, actor=actor)


@transaction.atomic
def rules_change(*, project: Project, actor: User, values: Mapping[str, Any]) -> int:
    """Give a project other rules; return how many batches that nobody has begun were taken back for it.

    ``values`` are those that change, by the names of RULE_FIELDS. Another scale puts its default guideline in force.

    Raises:
        NotPossibleNow: the rules are fixed (``rules_fixed_by``), or something is being prepared.
        NotPossible: no project can have these rules.
    """
    row = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    batches = Batch.objects.filter(project=row)
    list(batches.select_for_update().order_by("pk"))  # who takes one now is waited for, and seen below
    before = {name: getattr(row, name) for name in RULE_FIELDS}
    if before == before | dict(values):
        return 0
    if reason := rules_fixed_by(row):
        raise NotPossibleNow(f"{reason} The rules stay as they are.")
    if row.jobs.filter(state=Job.State.RUNNING).exists():
        raise NotPossibleNow("Something is being prepared in this project; change its rules when that is done.")
    Pair.objects.filter(batch__in=batches).delete()
    n_batches, _ = batches.delete()
    for name, value in values.items():
        setattr(row, name, value)
    rules_possible_or_refused(row)
    row.save(update_fields=RULE_FIELDS)
    depth = depth_of(row.batch_size, strata_of(row.strata))
    if depth > depth_of(before["batch_size"], strata_of(before["strata"])):
        candidates_delete(project_id=row.pk)  # too few for such batches; they are ranked anew
    if row.top_grade != before["top_grade"]:
        GuidelineDraft.objects.filter(project=row).delete()
        guideline_begin(project=row, actor=actor)
        thresholds = scaled_values(policy_in_force(row.pk), from_top=before["top_grade"], to_top=row.top_grade)
        policy_publish(project=row, actor=actor, **thresholds)
    changes = [
        f"{name} {rule_words(name, before[name])} to {rule_words(name, value)}"
        for name, value in values.items()
        if before[name] != value
    ]
    audit_record(project=row, actor=actor, action="project.rules", subject=row.uuid, changes=changes)
    return n_batches


def rule_words(name: str, value: Any) -> str:
    """Write the value of a rule as the audit log shows it."""
    return strata_words(value) or "none" if name == "strata" else str(value)


def rules_possible_or_refused(project: Project) -> None:
    """Raises NotPossible: no project can have these rules."""
    try:
        check_strata(strata_of(project.strata), batch_size=project.batch_size)
        project.validate_constraints()
    except ValidationError as error:
        raise NotPossible(" ".join(error.messages)) from error
    except ValueError as error:
        raise NotPossible(str(error)) from error


def rules_fixed_by(project: Project) -> str:
    """Say why the rules of a project cannot change any more; empty where they can."""
    if project.poolings.filter(state=Pooling.State.DONE).exists():
        return "There are pairs of a pool or of a coverage study."
    judged = Judgment.objects.filter(pair__batch__project=project)
    if judged.exists() or Assignment.objects.filter(project=project).exists():
        return "Somebody has begun to judge."
    if project.known_pairs.filter(truth__isnull=False).exists() or project.exams.exists():
        return "There are pairs of known truth, or an exam."
    return ""


@transaction.atomic
def collection_create(*, name: str, actor: User, rules: Mapping[str, Any] | None = None) -> Project:
    """Return a new project over a new corpus, both of this name and without videos; ``actor`` is lead and admin.

    Raises:
        NotPossible: there is a corpus of this name, or no project can have it.
    """
    corpus = corpus_create(name=name, actor=actor)
    project, _ = project_create(
        name=project_name_free(base_name=corpus.name), corpus=corpus, leads=[actor], actor=actor, rules=rules
    )
    return project


def project_name_free(*, base_name: str) -> str:
    """The name, or with the first number from 2 on that makes it free."""
    start = base_name[: LONGEST_NAME - ROOM]
    taken_names = set(Project.objects.filter(name__startswith=start).values_list("name", flat=True))
    numbered = (f"{start} {number}" for number in count(2))
    return next(name for name in chain([base_name], numbered) if name not in taken_names)


@transaction.atomic
def batches_request(*, project: Project, actor: User, similarity: str | None = None) -> None:
    """Wake the task that ranks candidates and opens the first batches; its job shows how far it is.

    Args:
        similarity: what ranks from now on, empty for the default; None leaves it.

    Raises:
        NotPossible: there is nothing to judge, or something else is being prepared.
        SimilarityMissing: what is to rank is not here.
    """
    _check(project, JOB, similarity, actor)
    job_start(project=project, kind=JOB, title="Waiting for a worker", total=2)
    audit_record(project=project, actor=actor, action="batches.open", subject=project.uuid)
    PREPARATIONS.send(project.pk)


@transaction.atomic
def candidates_request(*, project: Project, actor: User, similarity: str | None = None) -> int:
    """Wake the task that ranks candidates, anew where no batch holds them yet, and opens nothing.

    Returns:
        Of how many queries candidates were forgotten, to be ranked anew.

    Raises:
        NotPossible: there is nothing to judge, or something else is being prepared.
        SimilarityMissing: what is to rank is not here.
    """
    _check(project, RANK_JOB, similarity, actor)
    cleared = candidates_clear(queries=queries_unfrozen(project))
    audit_record(project=project, actor=actor, action="candidates.rank", subject=project.uuid, queries=cleared)
    job_start(project=project, kind=RANK_JOB, title="Ranking candidates", total=1)
    RANKINGS.send(project.pk)
    return cleared


def _check(project: Project, kind: str, similarity: str | None, actor: User) -> None:
    if project.dataset.corpus.is_placeholder:
        raise NotPossible("Historic judgments have no moments to judge.")
    if project.jobs.filter(state=Job.State.RUNNING).exclude(kind=kind).exists():
        raise NotPossible("Something is being prepared in this project; wait until that is done.")
    if similarity is not None:
        similarity_choose(project=project, name=similarity, actor=actor)
        project.refresh_from_db()
    registry.check(similarity_of(project))


@durable(PREPARATIONS.task)
def batches_prepare(*, project_id: int) -> int:
    """Rank the pool for every judged query without candidates and open their first batches; say how many. A repeat, and
    a message that comes late, find no job that waits for them."""
    n_opened = 0
    with PREPARATIONS.claim(project_id) as job:
        if job is not None:
            job_set(job=job, n_done=0, title="Embedding captions and ranking candidates")
            candidates_rank(project_id=project_id, on_progress=partial(_embedding, job))
            job_set(job=job, n_done=1, title="Opening first batches")
            n_opened = batches_open(project_id=project_id)
            n_waiting = queries_without_batch(project_id).count() if job.project.strata else 0
            wait = f"; {n_waiting} wait until all previews are cut: open batches again then" if n_waiting else ""
            job_finish(job=job, title=f"{n_opened} batches opened{wait}")
    return n_opened


@durable(RANKINGS.task)
def candidates_rank_run(*, project_id: int) -> None:
    """Rank the queries without candidates, for those who wait."""
    with RANKINGS.claim(project_id) as job:
        if job is not None:
            ranked = candidates_rank(project_id=project_id, on_progress=partial(_embedding, job))
            job_finish(job=job, title=f"Candidates of {ranked} queries ranked")


def _embedding(job: Job, n_done: int, total: int) -> None:
    job_set(job=job, n_done=0, title=f"Embedding texts: {n_done:,} of {total:,}")


CHUNK = 5000


@transaction.atomic
def settings_copy(*, source: Project, project: Project, actor: User | None, with_queries: bool = False) -> None:
    """Give a project that has nothing yet what ``source`` has in force.

    Policy, text of the guideline and similarity always; what shows moments (examples, screening questions) where the
    corpus is the same; queries, their sets and the training pairs where ``with_queries`` asks for them. People, their
    rates, exams, candidates and judgments stay where they are. Raises NotPossible where queries are asked for, and the
    corpus is another or the source has none.
    """
    source = Project.objects.select_for_update(of=("self",)).get(pk=source.pk)  # nothing of it changes meanwhile
    same = source.dataset.corpus_id == project.dataset.corpus_id
    n_questions = _screening(source, project) if same else 0  # first: a screening test opens with its questions
    copied: dict[str, Any] = {
        "policy": _policy(source, project, actor, keep_screening=same),
        "guideline": _guideline(source, project, actor, with_examples=same),
        "screening questions": n_questions,
    }
    similarity_set(project=project, similarity=source.dataset.similarity)
    if with_queries:
        if not same:
            raise NotPossible("Queries can be taken along only from a project over the same corpus.")
        queries = _queries(source, project)
        copied |= {"queries": len(queries), "training pairs": _training(source, project, queries)}
    facts: dict[str, Any] = {"source": source.uuid, "source_name": source.name}
    facts["copied"] = [f"{name} {count}" for name, count in copied.items() if count]
    audit_record(project=project, actor=actor, action="project.copy", subject=project.uuid, **facts)


def _policy(source: Project, project: Project, actor: User | None, *, keep_screening: bool) -> str:
    """A screening test without its questions is closed."""
    policy = Policy.objects.filter(project=source).order_by("-version").first()
    values = {name: getattr(policy, name) for name in POLICY_VALUES} if policy else {}
    if not keep_screening:
        values["screening_is_open"] = False
    policy_publish(project=project, actor=actor, **values)
    return f"version {policy.version}" if policy else ""


def _guideline(source: Project, project: Project, actor: User | None, *, with_examples: bool) -> str:
    last = Guideline.objects.filter(project=source).order_by("-version").first()
    if last is None:  # of historic judgments
        guideline_begin(project=project, actor=actor)
        return ""
    rows = last.examples.values_list("grade", "query_text", "moment") if with_examples else []
    examples = [Example(*row) for row in rows]
    guideline_publish(project=project, actor=actor, body=last.body, levels=last.levels, examples=examples)
    return f"version {last.version}"


def _screening(source: Project, project: Project) -> int:
    questions = source.screening_questions.filter(is_retired=False).order_by("pk")
    fields = ("moment_id", "description", "options", "correct")
    copies = [ScreeningQuestion(project=project, **values) for values in questions.values(*fields)]
    return len(ScreeningQuestion.objects.bulk_create(copies))


def _queries(source: Project, project: Project) -> dict[int, int]:
    """The same queries in sets of the same names, none of which is paused; the key of each copy by the key of what it
    copies."""
    same = list(source.query_sets.order_by("pk"))
    new_sets = rows_create(
        NamedQuerySet(project=project, name=row.name, priority=row.priority, is_pilot=row.is_pilot) for row in same
    )
    sets = {row.pk: copy for row, copy in zip(same, new_sets, strict=True)}
    copies: dict[int, int] = {}
    for is_first in (True, False):  # what others are judged as comes before them
        rows = source.queries.filter(judged_as__isnull=is_first).order_by("pk").iterator(chunk_size=CHUNK)
        while chunk := list(islice(rows, CHUNK)):
            new_queries = rows_create(_copy(row, project, sets, copies) for row in chunk)
            copies |= {row.pk: copy.pk for row, copy in zip(chunk, new_queries, strict=True)}
    if not copies:
        raise NotPossible(f"The project {source.name!r} has no queries to take along.")
    return copies


def _copy(row: Query, project: Project, sets: dict[int, NamedQuerySet], copies: dict[int, int]) -> Query:
    same = {name: getattr(row, name) for name in ("number", "text", "split", "caption_id")}
    judged_as = copies[row.judged_as_id] if row.judged_as_id else None
    return Query(project=project, query_set=sets.get(row.query_set_id or 0), judged_as_id=judged_as, **same)


def _training(source: Project, project: Project, queries: dict[int, int]) -> int:
    """Copy pairs that leads graded and explained, the tutorial among them; not what exams found."""
    pairs = source.known_pairs.filter(source=KnownPair.Source.LEAD, is_retired=False, query__in=queries).order_by("pk")
    fields = ("moment_id", "rank", "source", "truth", "explanation", "tutorial_position")
    copies = [
        KnownPair(project=project, query_id=queries[query_id], **dict(zip(fields, values, strict=True)))
        for query_id, *values in pairs.values_list("query_id", *fields)
    ]
    return len(KnownPair.objects.bulk_create(copies, batch_size=CHUNK))


@transaction.atomic
def query_set_create(*, project: Project, name: str, queries: QuerySet[Query], actor: User | None) -> NamedQuerySet:
    """A new set; its queries leave the sets they were in, and their batches what those said. Raises NotPossible where
    the name or the queries do not do."""
    query_set = services.query_set_create(project=project, name=name, queries=queries, actor=actor)
    _batches_follow(query_set)
    return query_set


@transaction.atomic
def query_set_change(*, query_set: NamedQuerySet, actor: User | None, **changes: Any) -> None:
    """Put the set first or last (``priority``), pause it or let it go on (``is_paused``), make it a pilot, neither
    released nor paid unless chosen (``is_pilot``). None changes nothing. Open assignments stay."""
    begun = Batch.objects.filter(query__query_set=query_set, begun=True)
    if changes.get("is_pilot") not in (None, query_set.is_pilot) and begun.exists():
        raise NotPossibleNow("Somebody has judged in this set already: what is a try-out is marked before it begins.")
    _batches_follow(services.query_set_change(query_set=query_set, actor=actor, **changes))


def _batches_follow(query_set: NamedQuerySet) -> None:
    """Update the set's batches; a begun one keeps its pilot mark: its hours are reported and pairs judged under it."""
    batches = Batch.objects.filter(query__query_set=query_set)
    batches.update(priority=query_set.priority, is_paused=query_set.is_paused)
    batches.filter(begun=False, round=1, state=Batch.State.OPEN).update(is_pilot=query_set.is_pilot)
