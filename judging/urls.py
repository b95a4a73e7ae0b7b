from django.urls import path

from judging.views import annotator, lead, media

app_name = "judging"
urlpatterns = [
    path("previews/<uuid:preview_uuid>.gif", media.preview, name="preview"),
    path("previews/<uuid:preview_uuid>.mp4", media.clip, name="preview-clip"),
    path("judge/<uuid:project_uuid>/", annotator.desk, name="desk"),
    path("judge/<uuid:project_uuid>/take/", annotator.assignment_take, name="assignment-take"),
    path("judge/<uuid:project_uuid>/next/", annotator.pair_next, name="pair-next"),
    path("judge/<uuid:project_uuid>/last-look/", annotator.last_look, name="last-look"),
    path("judge/<uuid:project_uuid>/finish/", annotator.assignment_finish, name="assignment-finish"),
    path("pairs/<uuid:pair_uuid>/", annotator.pair_show, name="pair"),
    path("pairs/<uuid:pair_uuid>/grade/", annotator.judgment_create, name="judgment-create"),
    path("own-grades/<uuid:project_uuid>/", annotator.own_grades, name="own-grades"),
    path("guideline/<uuid:project_uuid>/", annotator.guideline, name="guideline"),
    path("overview/<uuid:project_uuid>/", lead.overview, name="overview"),
    path("review/<uuid:project_uuid>/", lead.review_queue, name="review-queue"),
    path("queries/<uuid:project_uuid>/", lead.queries, name="queries"),
    path("queries/<uuid:project_uuid>/open/", lead.batches_open, name="batches-open"),
    path("batches/<uuid:batch_uuid>/", lead.batch, name="batch"),
    path("batches/<uuid:batch_uuid>/review/", lead.batch_review, name="batch-review"),
    path("releases/<uuid:project_uuid>/", lead.releases, name="releases"),
    path("releases/<uuid:project_uuid>/new/", lead.release_create, name="release-create"),
    path("releases/<uuid:release_uuid>/download/", lead.release_download, name="release-download"),
    path("audit/<uuid:project_uuid>/", lead.audit, name="audit"),
]
