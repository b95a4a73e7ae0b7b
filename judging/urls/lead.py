"""Where leads and admins look and decide."""

from django.urls import path

from judging.views import candidates, caption_edits, lead, pairs, projects, query_sets, reviews

urlpatterns = [
    path("projects/new/<uuid:corpus_uuid>/", projects.project_new, name="project-new"),
    path("overview/<uuid:project_uuid>/", lead.overview, name="overview"),
    path("review/<uuid:project_uuid>/", reviews.review_queue, name="review-queue"),
    path("review/<uuid:project_uuid>/accept/", reviews.reviews_preview, name="reviews-preview"),
    path("review/<uuid:project_uuid>/accept/all/", reviews.reviews_accept, name="reviews-accept"),
    path("queries/<uuid:project_uuid>/", lead.queries, name="queries"),
    path("queries/<uuid:project_uuid>/open/", lead.batches_open, name="batches-open"),
    path("queries/<uuid:project_uuid>/sets/", query_sets.query_sets, name="query-sets"),
    path("queries/<uuid:project_uuid>/sets/new/", query_sets.query_set_create, name="query-set-create"),
    path("queries/<uuid:project_uuid>/captions/", caption_edits.caption_edits, name="caption-edits"),
    path("queries/<uuid:project_uuid>/captions/said/", caption_edits.edits_said, name="caption-edits-said"),
    path("queries/<uuid:project_uuid>/captions.csv", caption_edits.caption_edits_csv, name="caption-edits-csv"),
    path("queries/<uuid:project_uuid>/rank/", lead.candidates_rank, name="candidates-rank"),
    path("queries/<uuid:project_uuid>/candidates.csv", candidates.candidates_csv, name="candidates-csv"),
    path("query-sets/<uuid:set_uuid>/", query_sets.query_set, name="query-set"),
    path("query-sets/<uuid:set_uuid>/change/", query_sets.query_set_change, name="query-set-change"),
    path("quality/<uuid:project_uuid>/", pairs.flagged, name="flags"),
    path("quality/<uuid:project_uuid>/flagged.csv", pairs.flagged_csv, name="flags-csv"),
    path("quality/<uuid:project_uuid>/dropped/", pairs.dropped, name="dropped"),
    path("quality/<uuid:project_uuid>/dropped.csv", pairs.dropped_csv, name="dropped-csv"),
    path("quality/<uuid:project_uuid>/withdrawn/", pairs.withdrawn, name="withdrawn"),
    path("quality/<uuid:project_uuid>/withdrawn.csv", pairs.withdrawn_csv, name="withdrawn-csv"),
    path("pairs/<uuid:pair_uuid>/batch/", pairs.pair_batch, name="pair-batch"),
    path("pairs/<uuid:pair_uuid>/withdraw/", pairs.pair_withdraw, name="pair-withdraw"),
    path("pairs/<uuid:pair_uuid>/restore/", pairs.pair_restore, name="pair-restore"),
    path("pairs/<uuid:pair_uuid>/dismiss/", pairs.flag_dismiss, name="flag-dismiss"),
    path("pairs/<uuid:pair_uuid>/recut/", pairs.pair_recut, name="pair-recut"),
    path("pairs/<uuid:pair_uuid>/bounds/", pairs.pair_bounds, name="pair-bounds"),
    path("batches/<uuid:batch_uuid>/", lead.batch, name="batch"),
    path("batches/<uuid:batch_uuid>/review/", reviews.batch_review, name="batch-review"),
    path("batches/<uuid:batch_uuid>/review/undo/", reviews.review_undo, name="review-undo"),
    path("releases/<uuid:project_uuid>/", lead.releases, name="releases"),
    path("releases/<uuid:project_uuid>/new/", lead.release_create, name="release-create"),
    path("releases/<uuid:release_uuid>/download/", lead.release_download, name="release-download"),
    path("audit/<uuid:project_uuid>/", lead.audit, name="audit"),
]
