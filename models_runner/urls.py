from django.urls import path

from models_runner.views import benchmark_tables, comparison, economy, experiments, leaderboard, participants, uploads

app_name = "models_runner"
urlpatterns = [
    path("<uuid:project_uuid>/", leaderboard.runs, name="runs"),
    path("<uuid:project_uuid>/leaderboard.<str:form>", leaderboard.export, name="export"),
    path("<uuid:project_uuid>/new/", leaderboard.similarity_run_create, name="run-create"),
    path("<uuid:project_uuid>/upload/", uploads.run_new, name="run-new"),
    path("<uuid:project_uuid>/compare/", comparison.compare, name="compare"),
    path("<uuid:project_uuid>/case/", comparison.case_page, name="case"),
    path("<uuid:project_uuid>/economy/", economy.economy, name="economy"),
    path("<uuid:project_uuid>/economy/new/", economy.economy_study, name="economy-study"),
    path("<uuid:project_uuid>/economy.csv", economy.economy_csv, name="economy-csv"),
    path("<uuid:project_uuid>/experiments/", experiments.experiments, name="experiments"),
    path("<uuid:project_uuid>/experiments/new/", experiments.experiment_new, name="experiment-new"),
    path("<uuid:project_uuid>/tables/", benchmark_tables.benchmark_tables, name="tables"),
    path("<uuid:project_uuid>/tables.<str:form>", benchmark_tables.benchmark_tables_export, name="tables-export"),
    path("experiment/<uuid:experiment_uuid>/", experiments.experiment, name="experiment"),
    path("training/<uuid:training_uuid>/", experiments.training, name="training"),
    path("training/<uuid:training_uuid>/cancel/", experiments.training_cancel, name="training-cancel"),
    path("training/<uuid:training_uuid>/resume/", experiments.training_resume, name="training-resume"),
    path("training/<uuid:training_uuid>/files/<str:name>", experiments.training_file, name="training-file"),
    path("<uuid:project_uuid>/files/", participants.files, name="files"),
    path("<uuid:project_uuid>/settings/", participants.settings, name="settings"),
    path("files/<uuid:release_uuid>/<str:name>", participants.file, name="file"),
    path("run/<uuid:run_uuid>/", uploads.run_page, name="run"),
    path("run/<uuid:run_uuid>/withdraw/", uploads.run_withdraw, name="run-withdraw"),
    path("<uuid:run_uuid>/download/", uploads.run_download, name="run-download"),
]
