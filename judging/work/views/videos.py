"""The page that asks whether a video is to be retired, and does it."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import LEAD, MemberRequest, project_page
from accounts.models import Project
from annotation.models import Moment, Video
from core.exceptions import MomentJudgeError
from judging.models import GuidelineExample, ScreeningQuestion, WritingClip
from judging.work.forms import RetirementForm
from judging.work.services import videos


@project_page(LEAD)
def video_retire(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponse:
    """Say what goes and what stays, ask for the reason and for the video's name, then retire it."""
    video = get_object_or_404(Video, uuid=video_uuid, corpus=project.dataset.corpus_id)
    form, error, status = RetirementForm(request.POST or None, video_name=video.name), "", 200
    if request.method == "POST":
        error, status = _retire(request, project, video, form)
        if not error:
            message = f"{video.name} is retired. Its files are removed, and its pairs are being withdrawn."
            messages.success(request, message)
            return redirect("annotation:video", project.uuid, video.uuid)
    context = {
        "video": video,
        "form": form,
        "error": error,
        "n_moments": video.moments.exclude(preview_state=Moment.Preview.PLACEHOLDER).count(),
        "n_pairs": videos.pairs_of(video).count(),
        "n_clips": WritingClip.objects.filter(video=video, state=WritingClip.State.OPEN).count(),
        "n_known": videos.known_pairs_of(video).count(),
        "n_examples": GuidelineExample.objects.filter(moment__video=video).count()
        + ScreeningQuestion.objects.filter(moment__video=video, is_retired=False).count(),
        "n_projects": videos.projects_over(video).count(),
        "n_others": videos.projects_led_by_others(video, request.user).count(),
    }
    return render(request, "judging/work/video_retire.html", context, status=status)


def _retire(request: MemberRequest, project: Project, video: Video, form: RetirementForm) -> tuple[str, int]:
    """Return why it was not retired, empty where it was, and the status that says so."""
    if not form.is_valid():
        return form.first_error(), 422
    try:
        videos.video_retire(project=project, video=video, lead=request.user, reason=form.cleaned_data["reason"])
    except MomentJudgeError as error:
        return str(error), error.status
    return "", 200
