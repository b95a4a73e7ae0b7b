"""A project: its overview, its queries, its policy."""

from django.urls import path

from judging.projects.views import lead, projects, queries

urlpatterns = [
    path("projects/new/<uuid:corpus_uuid>/", projects.project_new, name="project-new"),
    path("overview/<uuid:project_uuid>/", lead.overview, name="overview"),
    path("queries/<uuid:project_uuid>/", lead.queries, name="queries"),
    path("queries/<uuid:project_uuid>/open/", lead.batches_open, name="batches-open"),
    path("queries/<uuid:project_uuid>/sets/", queries.query_sets, name="query-sets"),
    path("queries/<uuid:project_uuid>/sets/new/", queries.query_set_create, name="query-set-create"),
    path("queries/<uuid:project_uuid>/captions/", queries.caption_edits, name="caption-edits"),
    path("queries/<uuid:project_uuid>/captions/said/", queries.edits_said, name="caption-edits-said"),
    path("queries/<uuid:project_uuid>/captions.csv", queries.caption_edits_csv, name="caption-edits-csv"),
    path("queries/<uuid:project_uuid>/rank/", lead.candidates_rank, name="candidates-rank"),
    path("queries/<uuid:project_uuid>/candidates.csv", queries.candidates_csv, name="candidates-csv"),
    path("query-sets/<uuid:set_uuid>/", queries.query_set, name="query-set"),
    path("query-sets/<uuid:set_uuid>/change/", queries.query_set_change, name="query-set-change"),
    path("batches/<uuid:batch_uuid>/", lead.batch, name="batch"),
    path("policy/<uuid:project_uuid>/", projects.policy, name="policy"),
    path("policy/<uuid:project_uuid>/publish/", projects.policy_publish, name="policy-publish"),
]
