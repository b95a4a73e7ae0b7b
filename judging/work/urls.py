"""Where annotators judge, and where leads look at pairs."""

from django.urls import path

from judging.work.selectors.flags import DROPPED, FLAGGED, WITHDRAWN
from judging.work.views import judge, pairs, videos

urlpatterns = [
    path("previews/<uuid:preview_uuid>.gif", judge.preview, name="preview"),
    path("previews/<uuid:preview_uuid>.mp4", judge.preview, {"field": "preview_clip"}, name="preview-clip"),
    path("previews/<uuid:preview_uuid>.jpg", judge.preview_poster, name="preview-poster"),
    path("judge/<uuid:project_uuid>/", judge.desk, name="desk"),
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
    path("own-grades/<uuid:project_uuid>/", judge.own_grades, name="own-grades"),
    path("videos/<uuid:project_uuid>/<uuid:video_uuid>/retire/", videos.video_retire, name="video-retire"),
    path("quality/<uuid:project_uuid>/", pairs.pairs_out, {"which": FLAGGED}, name="flags"),
    path("quality/<uuid:project_uuid>/flagged.csv", pairs.pairs_out_csv, {"which": FLAGGED}, name="flags-csv"),
    path("quality/<uuid:project_uuid>/dropped/", pairs.pairs_out, {"which": DROPPED}, name="dropped"),
    path("quality/<uuid:project_uuid>/dropped.csv", pairs.pairs_out_csv, {"which": DROPPED}, name="dropped-csv"),
    path("quality/<uuid:project_uuid>/withdrawn/", pairs.pairs_out, {"which": WITHDRAWN}, name="withdrawn"),
    path("quality/<uuid:project_uuid>/withdrawn.csv", pairs.pairs_out_csv, {"which": WITHDRAWN}, name="withdrawn-csv"),
    path("pairs/<uuid:pair_uuid>/batch/", pairs.pair_batch, name="pair-batch"),
    path("pairs/<uuid:pair_uuid>/withdraw/", pairs.pair_withdraw, name="pair-withdraw"),
    path("pairs/<uuid:pair_uuid>/restore/", pairs.pair_restore, name="pair-restore"),
    path("pairs/<uuid:pair_uuid>/dismiss/", pairs.flag_dismiss, name="flag-dismiss"),
    path("pairs/<uuid:pair_uuid>/recut/", pairs.pair_recut, name="pair-recut"),
    path("pairs/<uuid:pair_uuid>/bounds/", pairs.pair_bounds, name="pair-bounds"),
]
