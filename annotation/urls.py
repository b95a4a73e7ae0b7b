from django.urls import path

from annotation.views import captions, corpora, imports, splits, statistics, train_sets

app_name = "annotation"
urlpatterns = [
    path("", imports.corpora, name="corpora"),
    path("import/", imports.import_new, name="import-new"),
    path("imports/<uuid:import_uuid>/", imports.import_page, name="import"),
    path("imports/<uuid:import_uuid>/confirm/", imports.import_confirm, name="import-confirm"),
    path("imports/<uuid:import_uuid>/discard/", imports.import_discard, name="import-discard"),
    path("imports/<uuid:import_uuid>/report.csv", imports.import_report, name="import-report"),
    path("<uuid:project_uuid>/", corpora.corpus, name="corpus"),
    path("<uuid:project_uuid>/captions/", captions.captions, name="captions"),
    path("<uuid:project_uuid>/captions/rewrite/", captions.start, name="captions-rewrite"),
    path("<uuid:project_uuid>/captions/decide/", captions.decide, name="caption-decide"),
    path("<uuid:project_uuid>/captions/undo/", captions.undo, name="caption-undo"),
    path("<uuid:project_uuid>/training/", train_sets.train_sets, name="train-sets"),
    path("<uuid:project_uuid>/training/new/", train_sets.start, name="train-set-start"),
    path("training/<uuid:set_uuid>/discard/", train_sets.discard, name="train-set-discard"),
    path("training/<uuid:set_uuid>/json/", train_sets.json, name="train-set-json"),
    path("training/<uuid:set_uuid>/parquet/", train_sets.parquet, name="train-set-parquet"),
    path("<uuid:project_uuid>/splits/", splits.splits, name="splits"),
    path("<uuid:project_uuid>/splits/draw/", splits.draw, name="queries-draw"),
    path("<uuid:project_uuid>/statistics/", statistics.statistics, name="statistics"),
    path("<uuid:project_uuid>/statistics/compute/", statistics.compute, name="statistics-compute"),
    path("<uuid:project_uuid>/statistics.csv", statistics.measures_csv, name="statistics-csv"),
    path("<uuid:project_uuid>/histograms.csv", statistics.histograms_csv, name="histograms-csv"),
]
