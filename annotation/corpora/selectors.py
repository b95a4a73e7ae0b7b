"""Reads of corpora and their imports, and what a corpus needs next: import, rewriting, review, splits, candidates."""

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import PurePath
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    ForeignObjectRel,
    Model,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Value,
    When,
    Window,
)
from django.db.models.functions import RowNumber
from django.http import StreamingHttpResponse

from accounts.models import Membership, Project, User
from annotation.corpora.exporters import EXPORTS, check_export, splits_of
from annotation.corpora.exporters.base import Selection
from annotation.models import (
    Candidate,
    Caption,
    Corpus,
    CorpusImport,
    Description,
    Moment,
    Subtitle,
    Video,
    VideoUpload,
)
from annotation.queries.selectors import queries_to_judge, queries_to_train_on
from core.lists import lines_stream

CAPTIONS = "annotation:captions"
CANDIDATES_SHOWN = 40  # of a moment, on its video's page
UPLOADS_SHOWN, UPLOADS_AT_MOST = 10, 200  # of one kind; of the kind that is looked at
HOLDERS: dict[str, tuple[type[Model], str]] = {  # what a corpus holds, and by which path it belongs to it
    "videos": (Video, "corpus"),
    "moments": (Moment, "video__corpus"),
    "descriptions": (Description, "corpus"),
    "subtitles": (Subtitle, "video__corpus"),
}


def projects_run_by(user: User) -> QuerySet[Project]:
    """The projects that ``user`` leads or administers, by name."""
    staff = Q(user=user, roles__overlap=Membership.STAFF)
    return Project.objects.filter(pk__in=Membership.objects.filter(staff).values("project")).order_by("name")


def corpora_within_reach(user: User) -> QuerySet[Corpus]:
    """The corpora of the projects that ``user`` leads or administers, and those of their imports, by name."""
    imported = CorpusImport.objects.filter(owner=user, state=CorpusImport.State.DONE).values("corpus_name")
    mine = Q(pk__in=projects_run_by(user).order_by().values("dataset__corpus")) | Q(
        name__in=imported, datasets__isnull=True
    )
    return Corpus.objects.filter(mine).distinct().order_by("name")


def corpora_of(user: User) -> list[dict[str, Any]]:
    """The corpora within reach of ``user`` with what they hold, and the user's projects over them."""
    projects, corpora = list(projects_run_by(user).select_related("dataset")), list(corpora_within_reach(user))
    summaries = {
        corpus.pk: {"corpus": corpus, "projects": [one for one in projects if one.dataset.corpus_id == corpus.pk]}
        | dict.fromkeys(HOLDERS, 0)
        for corpus in corpora
    }
    for name, (model, path) in HOLDERS.items():
        rows = model._default_manager.filter(**{f"{path}__in": corpora}).values_list(path)
        for corpus_id, n in rows.annotate(n=Count("pk")).order_by():
            summaries[corpus_id][name] = n
    return list(summaries.values())


@dataclass
class ShownUploads:
    """Uploads of one kind: the last ones, and how many there are in all."""

    rows: list[VideoUpload]
    total: int = 0

    @property
    def is_all(self) -> bool:
        return len(self.rows) == self.total


def uploads_shown(
    corpus: Corpus, *, only: str = "", file_name: str = "", replaced: Video | None = None
) -> dict[str, ShownUploads]:
    """Return what is on its way into the corpus (``unfinished``), what ``failed``, and what was ``added`` within a day.

    The last few of each kind, the newest first: more of the kind ``only``. What is being read comes before the others,
    and before that the upload of ``file_name``, which somebody goes on with. With ``replaced``, only new files of it.
    """
    state = VideoUpload.State
    kind = Case(
        When(state__in=VideoUpload.UNFINISHED, then=Value("unfinished")),
        When(state=state.FAILED, then=Value("failed")),
        default=Value("added"),
    )
    of_file, is_read = Q(name=PurePath(file_name).stem), Q(state=state.READING)
    order = [Case(When(of_file, then=0), When(is_read, then=1), default=2), F("pk").desc()]
    rows = corpus.video_uploads.filter(replaces=replaced) if replaced else corpus.video_uploads.all()
    uploads = rows.select_related("video", "replaces").annotate(
        kind=kind,
        position=Window(RowNumber(), partition_by=kind, order_by=order),
        total=Window(Count("*"), partition_by=kind),
    )
    last_ones = uploads.filter(Q(position__lte=UPLOADS_SHOWN) | Q(kind=only, position__lte=UPLOADS_AT_MOST))
    by_kind = {name: ShownUploads([]) for name in ("unfinished", "failed", "added")}
    for row in last_ones.order_by("position"):
        by_kind[row.kind].rows.append(row)
        by_kind[row.kind].total = row.total
    return by_kind


def corpus_file(corpus: Corpus, *, form: str, split: str) -> StreamingHttpResponse:
    """Send the corpus in a form of ``EXPORTS``, as it is read. Raises NotPossible where there is nothing to write."""
    export, selection = EXPORTS[form], Selection(corpus, split)
    check_export(export, selection)
    return lines_stream(export.file_name(split), export.lines(selection), content_type=export.content_type)


def files_shown(corpus: Corpus) -> dict[str, Any] | None:
    """Return the forms that have something to write of the corpus, and its source splits; None where there is none."""
    whole = Selection(corpus)
    forms = [] if corpus.is_placeholder else [form for form in EXPORTS.values() if form.rows(whole).exists()]
    return {"forms": forms, "splits": splits_of(corpus)} if forms else None


def corpus_is_seen(corpus_id: int) -> bool:
    """Whether the corpus has a video to look at, or a preview."""
    ready = Moment.objects.filter(video__corpus=corpus_id, preview_state=Moment.Preview.READY)
    return Video.objects.filter(corpus=corpus_id).exclude(file="").exists() or ready.exists()


def videos_shown(corpus: Corpus, words: str = "") -> QuerySet[Video]:
    """Return the corpus's videos by name, counted and with their moments; ``words``: of their name or a caption."""
    state = Moment.Preview
    videos = corpus.videos.all()
    if words:
        captions = Caption.objects.filter(description__corpus=corpus.pk, text__icontains=words)
        videos = videos.filter(Q(name__icontains=words) | Q(pk__in=captions.values("moment__video")))
    moments = Moment.objects.order_by("start_s").only("video", "start_s", "end_s", "preview_state")
    return (
        videos.annotate(
            total=Count("moments"),
            ready=Count("moments", filter=Q(moments__preview_state=state.READY)),
            failed=Count("moments", filter=Q(moments__preview_state=state.FAILED)),
        )
        .prefetch_related(Prefetch("moments", moments))
        .order_by("name")
    )


def preview_counts(corpus_id: int) -> dict[str, int]:
    """Return how many moments of the corpus there are by the state of their preview."""
    moments = Moment.objects.filter(video__corpus=corpus_id).order_by()
    return dict(moments.values_list("preview_state").annotate(n=Count("pk")))


@dataclass(frozen=True)
class ShownMoment:
    """A moment of a video, its captions, and for which queries of a project it is a candidate, the best ranks alone."""

    moment: Moment
    captions: list[Caption]
    candidates: list[Candidate]
    n_candidates: int


def moments_shown(project: Project, video: Video) -> list[ShownMoment]:
    """Return the video's moments in the order of time."""
    moments = list(video.moments.order_by("start_s", "end_s", "pk"))
    captions: dict[int, list[Caption]] = defaultdict(list)
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    for caption in Caption.objects.filter(moment__in=moments).select_related("description").order_by("pk"):
        captions[caption.moment_id].append(caption)
    served = Candidate.objects.filter(query__project=project, query__is_placeholder=False, moment__in=moments)
    counts = dict(served.values_list("moment").annotate(n=Count("pk")).order_by())
    position = Window(RowNumber(), partition_by="moment", order_by=[F("rank").asc(), F("pk").asc()])
    best = served.select_related("query").annotate(position=position).filter(position__lte=CANDIDATES_SHOWN)
    for candidate in best.order_by("rank", "pk"):
        candidates[candidate.moment_id].append(candidate)
    return [
        ShownMoment(moment, captions[moment.pk], candidates[moment.pk], counts.get(moment.pk, 0)) for moment in moments
    ]


class Step(NamedTuple):
    words: str
    does: str
    page: str  # name of the route of a project's page


def next_step(project: Project) -> Step | None:
    """The next thing to do; None where all is done, or there is nothing to do it with."""
    if project.dataset.corpus.is_placeholder or not project.dataset.corpus.descriptions.exists():
        return None
    if project.queries.exists():
        to_judge = queries_to_judge(project.pk)
        if to_judge.exists() and not to_judge.filter(candidates__isnull=False).exists():
            return RANK
        is_written = project.train_sets.exists() or not queries_to_train_on(project.pk).exists()
        return None if is_written else WRITE
    unwritten = Description.objects.filter(corpus=project.dataset.corpus_id).exclude(
        caption__in=Caption.objects.exclude(provider=Caption.Provider.AS_DESCRIBED)
    )
    if n := unwritten.count():
        return Step(f"{_count(n, 'description is', 'descriptions are')} not rewritten yet.", "Rewrite", CAPTIONS)
    waiting = Caption.objects.filter(description__corpus=project.dataset.corpus_id, state=Caption.State.IN_REVIEW)
    if n := waiting.count():
        message = f"No queries are drawn yet, and {_count(n, 'caption waits', 'captions wait')} for a person."
        return Step(message, "Decide about captions", CAPTIONS)
    return DRAW


DRAW = Step("No queries are drawn yet.", "Draw queries", "annotation:splits")
RANK = Step("The queries have no candidates yet.", "Rank candidates and open batches", "judging:queries")
WRITE = Step("No training set is written yet.", "Write one", "annotation:train-sets")


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def moments_referred_to(moments: QuerySet[Moment]) -> QuerySet[Moment]:
    """Return those of the moments that a row of whatever app refers to: a description, a candidate."""
    conditions = []
    for relation in Moment._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel):
            model: Any = relation.related_model
            conditions.append(Q(Exists(model._default_manager.filter(**{relation.field.name: OuterRef("pk")}))))
    return moments.filter(reduce(or_, conditions))
