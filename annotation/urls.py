from django.urls import path

from annotation import caption_views, import_views, split_views, statistics_views, train_views, views

app_name = "annotation"
urlpatterns = [
    path("", import_views.corpora, name="corpora"),
    path("import/", import_views.import_new, name="import-new"),
    path("imports/<uuid:import_uuid>/", import_views.import_page, name="import"),
    path("imports/<uuid:import_uuid>/confirm/", import_views.import_confirm, name="import-confirm"),
    path("imports/<uuid:import_uuid>/discard/", import_views.import_discard, name="import-discard"),
    path("imports/<uuid:import_uuid>/report.csv", import_views.import_report, name="import-report"),
    path("<uuid:project_uuid>/", views.corpus, name="corpus"),
    path("<uuid:project_uuid>/captions/", caption_views.captions, name="captions"),
    path("<uuid:project_uuid>/captions/rewrite/", caption_views.start, name="captions-rewrite"),
    path("<uuid:project_uuid>/captions/decide/", caption_views.decide, name="caption-decide"),
    path("<uuid:project_uuid>/captions/undo/", caption_views.undo, name="caption-undo"),
    path("<uuid:project_uuid>/training/", train_views.train_sets, name="train-sets"),
    path("<uuid:project_uuid>/training/new/", train_views.start, name="train-set-start"),
    path("training/<uuid:set_uuid>/discard/", train_views.discard, name="train-set-discard"),
    path("training/<uuid:set_uuid>/json/", train_views.json, name="train-set-json"),
    path("training/<uuid:set_uuid>/parquet/", train_views.parquet, name="train-set-parquet"),
    path("<uuid:project_uuid>/splits/", split_views.splits, name="splits"),
    path("<uuid:project_uuid>/splits/draw/", split_views.draw, name="queries-draw"),
    path("<uuid:project_uuid>/statistics/", statistics_views.statistics, name="statistics"),
    path("<uuid:project_uuid>/statistics/compute/", statistics_views.compute, name="statistics-compute"),
    path("<uuid:project_uuid>/statistics.csv", statistics_views.measures_csv, name="statistics-csv"),
    path("<uuid:project_uuid>/histograms.csv", statistics_views.histograms_csv, name="histograms-csv"),
]
