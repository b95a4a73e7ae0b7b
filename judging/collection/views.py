"""Pages of writers, who see their own work alone; and of leads, admins and checkers, who see the work of all."""

from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import wraps
from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from accounts.access import (
    LEAD,
    READERS,
    STAFF,
    WRITER,
    MemberRequest,
    grant,
    project_action,
    project_page,
    row_page,
)
from accounts.models import Project, User
from annotation.models import Video
from annotation.previews.responses import video_answer
from annotation.proposals.selectors import shots_of
from core.exceptions import NotPossible
from core.forms import errors_as_messages, is_valid_or_message
from core.lists import page_of
from core.refusals import refusal_log
from core.texts import uuid_or_none
from judging.collection import selectors, services
from judging.collection.figures import BY_NAME, FIGURES, Collection, Figure
from judging.collection.forms import DraftForm, MembersForm, QueryForm, RoundChangeForm, RoundForm, WriterChangeForm
from judging.collection.rules import DANGLING, LONGEST, MESSAGES, TYPE_LABELS, Entry, Line, warnings_of
from judging.exceptions import LeaseLost, NotAssigned, NotPossibleNow, QueryRefused
from judging.figures.views import drawing_answer, file_answer
from judging.models import ClipAssignment, WritingClip, WritingRound, WrittenQuery
from judging.people.selectors import actor_names
from judging.review.selectors import demo_job
from judging.work.forms import TimedForm

MARK = "judging/collection/mark.html"
FPS = 25.0  # where nobody has read it from the file
NOTHING = "Every clip of this round that you may have is taken or has its queries. Look again later."
EXHAUSTED_SHOWN = 50
NO_FIGURE = "Nothing yet. It fills as queries are written."
QUERY_STATES = dict(WrittenQuery.State.choices)


@project_page(WRITER)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where a writer starts: rounds that they take part in, drafts, and the queries they wrote."""
    assignment = selectors.assignment_at_hand(project, request.user)
    rounds = selectors.rounds_for(project, request.user)
    sent_back = selectors.sent_back_of(project, request.user)
    rounds_anew = {row.clip.round_id for row in sent_back}
    context = {
        "assignment": assignment,
        "rounds": [(row, selectors.clips_left(row, request.user).count(), row.pk in rounds_anew) for row in rounds],
        "drafts": selectors.drafts_of(project, request.user),
        "sent_back": sent_back,
        "stop": selectors.stop_of(project, request.user),
        "job": demo_job(project),
        "page": page_of(request, selectors.own_queries(project, request.user)),
    }
    return render(request, "judging/collection/desk.html", context)


@project_action(WRITER, back="judging:writing-desk")
def take(request: MemberRequest, project: Project) -> HttpResponse:
    """Take a clip of a round, or go on with the one at hand."""
    row = _round_named(request, project)
    with errors_as_messages(request, NotPossible):
        if services.clip_take(round=row, writer=request.user):
            return redirect("judging:mark", project.uuid)
        messages.info(request, NOTHING)
    return redirect("judging:writing-desk", project.uuid)


def _round_named(request: HttpRequest, project: Project) -> WritingRound:
    try:
        uuid = UUID(request.POST.get("round", ""))
    except ValueError:
        raise Http404 from None
    return get_object_or_404(project.writing_rounds.select_related("project"), uuid=uuid)


@project_page(WRITER)
def mark(request: MemberRequest, project: Project) -> HttpResponse:
    """The clip at hand, to mark a moment in it and write its query."""
    assignment = selectors.assignment_at_hand(project, request.user)
    if assignment is None:
        return redirect("judging:writing-desk", project.uuid)
    return render(request, MARK, _clip_context(assignment))


def _clip_context(assignment: ClipAssignment, entry: Entry | None = None, key: UUID | None = None) -> dict[str, Any]:
    """Return what the marking page shows of a clip, with what was entered last."""
    video, round = assignment.clip.video, assignment.clip.round
    lines = selectors.lines_of(video)
    if entry is None:
        draft = (assignment.draft_text, assignment.draft_type or assignment.type_requested)
        entry = Entry(*draft, assignment.draft_start_s, assignment.draft_end_s)
    rejections = selectors.rejections_of(assignment) if assignment.draft_version else []
    data = player_data(video, lines) | {
        "checks": {"types": round.types, "least_tokens": round.least_tokens, "most_overlap": round.most_overlap},
        "longest": LONGEST,
        "messages": MESSAGES,
        "dangling": sorted(DANGLING),
        "rejections": [astuple(query.entry) for query, _ in rejections],
    }
    return {
        "project": round.project,
        "assignment": assignment,
        "round": round,
        "video": video,
        "file": selectors.file_version(video),
        "entry": entry,
        "key": key or uuid4(),
        "lines": lines,
        "data": data,
        "types": [(type_, TYPE_LABELS[type_]) for type_ in round.types],
        "requested": TYPE_LABELS[assignment.type_requested],
        "number": assignment.n_queries + 1,
        "warnings": warnings_of(entry.text),
        "rejections": rejections,
    }


def player_data(video: Video, lines: Sequence[Line]) -> dict[str, Any]:
    """Return what the player and its timeline need; seconds, and frames a second."""
    cuts = [shot.start_s for shot in shots_of(video)][1:]
    return {"duration": video.duration_s, "fps": video.fps or FPS, "lines": lines, "cuts": cuts}


def _own(request: HttpRequest, assignment_uuid: UUID) -> ClipAssignment:
    """Return an assignment of the viewer's own, as a writer of its project; 404 for everybody else."""
    rows = ClipAssignment.objects.select_related("project", "clip__round__project", "clip__video")
    row = rows.filter(uuid=assignment_uuid, writer=request.user.pk).first()
    if row is None:
        raise NotAssigned("This clip is not assigned to you.")
    grant(request, row.project, WRITER)
    row.writer = cast(User, request.user)
    return row


def clip_action(view: Callable[[HttpRequest, ClipAssignment], HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view that changes something of the viewer's own assignment; a GET goes to the marking page."""

    @login_required
    @wraps(view)
    def page(request: HttpRequest, assignment_uuid: UUID) -> HttpResponse:
        row = _own(request, assignment_uuid)
        return view(request, row) if request.method == "POST" else redirect("judging:mark", row.project.uuid)

    return page


@login_required
def video(request: HttpRequest, assignment_uuid: UUID) -> HttpResponseBase:
    """The video of a clip that was assigned to the viewer, or the part that a player needs."""
    return video_answer(request, _own(request, assignment_uuid).clip.video)


@clip_action
def draft(request: HttpRequest, row: ClipAssignment) -> HttpResponse:
    """Keep what is entered so far; the answer has the version that the next draft follows."""
    form = DraftForm(request.POST)
    if not form.is_valid():
        return refusal_log(request, JsonResponse({"message": form.first_error()}, status=422), form.first_error())
    about = {"assignment": row.uuid, "writer": row.writer, "version": form.cleaned_data["version"]}
    try:
        version = services.draft_save(entry=form.entry, **about)
    except (LeaseLost, NotPossible) as error:
        return refusal_log(request, JsonResponse({"message": str(error)}, status=409), str(error))
    return JsonResponse({"version": version})


@clip_action
def submit(request: HttpRequest, row: ClipAssignment) -> HttpResponse:
    """Take one query, and answer with what comes next: the same clip, the next one, or that there is none."""
    form = QueryForm(request.POST)
    if not form.is_valid():
        return _refused(request, row, form, [form.first_error()], status=422)
    try:
        about = {name: form.cleaned_data[name] for name in ("key", "file", "active_ms")}
        submission = services.query_submit(assignment=row.uuid, writer=row.writer, entry=form.entry, **about)
    except QueryRefused as error:
        return _refused(request, row, form, [problem.message for problem in error.problems], status=422)
    except LeaseLost as error:
        return _refused(request, row, form, [str(error)], status=409, has_ended=True)
    except NotPossibleNow as error:
        return _refused(request, row, form, [str(error)], status=409)
    return _next(request, row, goes_on=submission.goes_on)


def _next(request: HttpRequest, row: ClipAssignment, *, goes_on: bool = False) -> HttpResponse:
    """Answer with the clip that is marked next."""
    note = ""
    try:
        assignment = services.clip_take(round=row.clip.round, writer=row.writer)
    except NotPossible as error:
        assignment, note = None, str(error)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("judging:mark", row.project.uuid)
    if assignment is None:
        messages.info(request, note or NOTHING)
        return HttpResponseClientRedirect(reverse("judging:writing-desk", args=[row.project.uuid]))
    return render(request, f"{MARK}#marking", {**_clip_context(assignment), "follows": True, "goes_on": goes_on})


def _refused(
    request: HttpRequest,
    row: ClipAssignment,
    form: QueryForm,
    problems: list[str],
    *,
    status: int,
    has_ended: bool = False,
) -> HttpResponse:
    """Say why nothing was stored; what was entered stays on the page."""
    context: dict[str, Any] = {"problems": problems, "has_ended": has_ended, "project": row.project}
    if request.htmx:  # type: ignore[attr-defined]
        response = render(request, f"{MARK}#problems", context, status=status)
        response = reswap(retarget(response, "#problems"), "outerHTML")
    else:
        entered = {name: form.cleaned_data.get(name) for name in ("start_s", "end_s")}
        entry = Entry(form.data.get("text", "")[:2000], form.cleaned_data.get("type", ""), **entered)
        key = form.cleaned_data.get("key")
        response = render(request, MARK, {**_clip_context(row, entry, key), **context}, status=status)
    return refusal_log(request, response, " ".join(problems))


def _active_ms(request: HttpRequest) -> int | None:
    form = TimedForm(request.POST)
    return form.cleaned_data["active_ms"] if form.is_valid() else None


@clip_action
def give_back(request: HttpRequest, row: ClipAssignment) -> HttpResponse:
    """Give the clip back to others."""
    services.clip_return(assignment=row.uuid, writer=row.writer, active_ms=_active_ms(request))
    messages.success(request, "Given back: somebody else gets this clip, and you do not get it again.")
    return redirect("judging:writing-desk", row.project.uuid)


@clip_action
def exhaust(request: HttpRequest, row: ClipAssignment) -> HttpResponse:
    """Say that this clip has nothing more, and go on with the next one."""
    try:
        services.clip_exhaust(assignment=row.uuid, writer=row.writer, active_ms=_active_ms(request))
        if services.clip_take(round=row.clip.round, writer=row.writer) is None:
            messages.info(request, NOTHING)
    except (LeaseLost, NotPossible) as error:
        messages.error(request, str(error))
        return redirect("judging:writing-desk", row.project.uuid)
    return redirect("judging:mark", row.project.uuid)


@project_page(STAFF)
def collection(request: MemberRequest, project: Project) -> HttpResponse:
    """The rounds of a project with their progress, and the form for another."""
    return _collection(request, project, RoundForm(project=project))


def _collection(request: HttpRequest, project: Project, form: RoundForm, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "rounds": selectors.rounds_with_counts(project), "writers": len(form.writers)}
    return render(request, "judging/collection/collection.html", context, status=status)


@project_action(LEAD, back="judging:collection")
def round_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = RoundForm(request.POST, project=project)
    if not form.is_valid():
        return _collection(request, project, form, status=422)
    try:
        row = services.round_create(
            project=project,
            name=form.cleaned_data["name"],
            members=form.chosen,
            actor=request.user,
            **form.rules(),
        )
    except NotPossible as error:
        form.add_error(None, str(error))
        return _collection(request, project, form, status=error.status)
    messages.success(request, f"The round {row.name!r} is open.")
    return redirect("judging:writing-round", row.uuid)


ROUNDS = WritingRound.objects.select_related("project")


@row_page(ROUNDS, STAFF)
def writing_round(request: MemberRequest, row: WritingRound) -> HttpResponse:
    """One round: how far it is, by type and by writer, and who takes part."""
    form = MembersForm(project=row.project)
    names = actor_names(row.project, to_lead=request.membership.is_lead)
    exhausted = row.clips.filter(state=WritingClip.State.EXHAUSTED).select_related("video").order_by("video__name")
    writers = {user.pk: uuid for uuid, user in form.writers.items()}
    stops = selectors.stops_of(row.project)
    members: set[User] = {member.writer for member in row.members.select_related("writer")}
    context = {
        "project": row.project,
        "round": row,
        "counts": selectors.clip_counts(row),
        "types": selectors.type_counts(row),
        "people": [
            (names.get(key, selectors.GONE), counts, writers.get(key), stops.get(key))
            for counts in selectors.writer_counts(row)
            for key in [counts["writer"]]
        ],
        "reason_limit": services.LONGEST_REASON,
        "members": [(uuid, user.username, user in members) for uuid, user in form.writers.items()],
        "n_members": len(members),
        "missing": selectors.videos_missing(row).count(),
        "exhausted": exhausted[:EXHAUSTED_SHOWN],
        "changes": {"open": [("pause", "Pause")], "paused": [("resume", "Resume")]}.get(row.state, []),
    }
    return render(request, "judging/collection/round.html", context)


@row_page(ROUNDS, LEAD, back="judging:writing-round")
def round_change(request: MemberRequest, row: WritingRound) -> HttpResponse:
    """Pause, resume or close a round."""
    form = RoundChangeForm(request.POST)
    if is_valid_or_message(request, form):
        with errors_as_messages(request, NotPossible):
            services.round_change(round=row, change=form.cleaned_data["change"], actor=request.user)
    return redirect("judging:writing-round", row.uuid)


@row_page(ROUNDS, LEAD, back="judging:writing-round")
def members_change(request: MemberRequest, row: WritingRound) -> HttpResponse:
    """Say who takes part."""
    form = MembersForm(request.POST, project=row.project)
    if is_valid_or_message(request, form):
        services.members_change(round=row, members=form.chosen, actor=request.user)
        messages.success(request, "Changed. Who has a clip in hand keeps it until it is finished.")
    return redirect("judging:writing-round", row.uuid)


@row_page(ROUNDS, LEAD, back="judging:writing-round")
def clips_add(request: MemberRequest, row: WritingRound) -> HttpResponse:
    """Add the videos that came later."""
    n_clips = services.clips_add(round=row, actor=request.user)
    messages.success(request, f"{n_clips} clip{'' if n_clips == 1 else 's'} added.")
    return redirect("judging:writing-round", row.uuid)


@row_page(WritingClip.objects.select_related("round__project", "video"), LEAD, project="round.project")
def clip_reopen(request: MemberRequest, row: WritingClip) -> HttpResponse:
    """Hand a clip out again in which a writer found nothing more."""
    if request.method == "POST":
        with errors_as_messages(request, NotPossible):
            services.clip_reopen(clip=row, actor=request.user)
            messages.success(request, f"{row.video.name} is handed out again.")
    return redirect("judging:writing-round", row.round.uuid)


@project_page(READERS)
def queries(request: MemberRequest, project: Project) -> HttpResponse:
    """Show what all writers wrote, newest first; of one round, or of one type."""
    type_ = request.GET.get("type", "")
    round_uuid = request.GET.get("round", "")
    rounds = list(project.writing_rounds.all())
    row = next((one for one in rounds if str(one.uuid) == round_uuid), None)
    state = request.GET.get("state", "")
    filters = {"type_": type_ if type_ in TYPE_LABELS else "", "state": state if state in QUERY_STATES else ""}
    rows = selectors.queries_of(project, round=row, **filters)
    page = page_of(request, rows)
    names = actor_names(project, to_lead=request.membership.is_lead)
    context = {
        "page": page,
        "rows": [(query, names.get(query.writer_id, selectors.GONE)) for query in page],
        "rounds": rounds,
        "round": row,
        "type": type_,
        "types": TYPE_LABELS,
        "state": state,
        "states": QUERY_STATES,
    }
    return render(request, "judging/collection/queries.html", context)


@project_action(LEAD, back="judging:collection")
def writer_change(request: MemberRequest, project: Project) -> HttpResponse:
    """Hand a writer no more clips, or clips again."""
    form = WriterChangeForm(request.POST, project=project)
    if is_valid_or_message(request, form):
        writer, actor = form.writer, request.user
        with errors_as_messages(request, NotPossible):
            if form.cleaned_data["change"] == "stop":
                services.writer_stop(project=project, writer=writer, reason=form.cleaned_data["reason"], actor=actor)
                messages.success(request, f"{writer.username} gets no more clips.")
            else:
                services.writer_go_on(project=project, writer=writer, actor=actor)
                messages.success(request, f"{writer.username} gets clips again.")
    round_uuid = form.cleaned_data.get("round") if hasattr(form, "cleaned_data") else None
    row = project.writing_rounds.filter(uuid=round_uuid).first() if round_uuid else None
    return redirect("judging:writing-round", row.uuid) if row else redirect("judging:collection", project.uuid)


# Figures of a collection


@project_page(STAFF)
def collection_figures(request: MemberRequest, project: Project) -> HttpResponse:
    """Draw all figures, of all rounds or of the one that the address names."""
    collection = _collection_named(request, project)
    context = {
        "figures": [(figure, figure.draw(collection)) for figure in FIGURES],
        "round": collection.round,
        "rounds": sorted(collection.rounds.values(), key=lambda row: -row.pk),
        "query": request.GET.urlencode(),
    }
    return render(request, "judging/collection/figures.html", context)


@project_page(STAFF)
def collection_figure_svg(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    figure, collection = _figure(name), _collection_named(request, project)
    svg = figure.draw(collection).svg(f"{figure.title}: {collection.in_words}", empty=NO_FIGURE)
    return drawing_answer(svg, f"collection-{name}")


@project_page(STAFF)
def collection_figure_csv(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    table = _figure(name).draw(_collection_named(request, project)).csv()
    return file_answer(table, "text/csv; charset=utf-8", f"collection-{name}.csv")


def _figure(name: str) -> Figure:
    if name not in BY_NAME:
        raise Http404
    return BY_NAME[name]


def _collection_named(request: MemberRequest, project: Project) -> Collection:
    """Read which round the address names: none is all of them, and a round of another project is none."""
    uuid: UUID | None = uuid_or_none(request.GET.get("round", ""))
    row = get_object_or_404(project.writing_rounds, uuid=uuid) if uuid else None
    return Collection(project, row, to_lead=request.membership.is_lead)
