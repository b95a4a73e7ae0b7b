from django.urls import path

from judging.projects import views

urlpatterns = [
    path("projects/new/", views.collection_new, name="collection-new"),
    path("projects/new/<uuid:corpus_uuid>/", views.project_new, name="project-new"),
    path("overview/<uuid:project_uuid>/", views.overview, name="overview"),
    path("find/<uuid:project_uuid>/", views.find, name="find"),
    path("queries/<uuid:project_uuid>/", views.queries, name="queries"),
    path("queries/<uuid:project_uuid>/open/", views.batches_open, name="batches-open"),
    path("queries/<uuid:project_uuid>/sets/", views.query_sets, name="query-sets"),
    path("queries/<uuid:project_uuid>/sets/new/", views.query_set_create, name="query-set-create"),
    path("queries/<uuid:project_uuid>/captions/", views.caption_edits, name="caption-edits"),
    path("queries/<uuid:project_uuid>/captions/said/", views.edits_notice, name="caption-edits-said"),
    path("queries/<uuid:project_uuid>/captions.csv", views.caption_edits_csv, name="caption-edits-csv"),
    path("queries/<uuid:project_uuid>/rank/", views.candidates_rank, name="candidates-rank"),
    path("queries/<uuid:project_uuid>/candidates.csv", views.candidates_csv, name="candidates-csv"),
    path("query-sets/<uuid:set_uuid>/", views.query_set, name="query-set"),
    path("query-sets/<uuid:set_uuid>/change/", views.query_set_change, name="query-set-change"),
    path("batches/<uuid:batch_uuid>/", views.batch, name="batch"),
    path("rules/<uuid:project_uuid>/", views.rules, name="rules"),
    path("rules/<uuid:project_uuid>/change/", views.rules_change, name="rules-change"),
    path("policy/<uuid:project_uuid>/", views.policy, name="policy"),
    path("policy/<uuid:project_uuid>/publish/", views.policy_publish, name="policy-publish"),
]
