"""Where annotators judge."""

from django.urls import path

from judging.views import annotator, guideline, judge, media

urlpatterns = [
    path("previews/<uuid:preview_uuid>.gif", media.preview, name="preview"),
    path("previews/<uuid:preview_uuid>.mp4", media.clip, name="preview-clip"),
    path("judge/<uuid:project_uuid>/", annotator.desk, name="desk"),
    path("judge/<uuid:project_uuid>/take/", judge.assignment_take, name="assignment-take"),
    path("judge/<uuid:project_uuid>/next/", judge.pair_next, name="pair-next"),
    path("judge/<uuid:project_uuid>/last-look/", judge.last_look, name="last-look"),
    path("judge/<uuid:project_uuid>/finish/", judge.assignment_finish, name="assignment-finish"),
    path("pairs/<uuid:pair_uuid>/", judge.pair_show, name="pair"),
    path("pairs/<uuid:pair_uuid>/grade/", judge.judgment_create, name="judgment-create"),
    path("pairs/<uuid:pair_uuid>/flag/", judge.flag_set, name="flag-set"),
    path("pairs/<uuid:pair_uuid>/unflag/", judge.flag_withdraw, name="flag-withdraw"),
    path("judge/<uuid:project_uuid>/return/", judge.assignment_return, name="assignment-return"),
    path("judge/<uuid:project_uuid>/heartbeat/", judge.heartbeat, name="heartbeat"),
    path("judge/<uuid:project_uuid>/leave/", judge.leave, name="leave"),
    path("own-grades/<uuid:project_uuid>/", annotator.own_grades, name="own-grades"),
    path("guideline/<uuid:project_uuid>/", guideline.guideline, name="guideline"),
]
