from django.urls import include, path

from annotation.corpora.views import video_file
from models_runner.experiments import views as experiments_views
from models_runner.features import views as features_views
from models_runner.leaderboard import views as leaderboard_views
from models_runner.search import views as search_views
from models_runner.tables import views as tables_views
from models_runner.tuning import views as tuning_views

app_name = "models_runner"
urlpatterns = [
    path("<uuid:project_uuid>/", leaderboard_views.runs, name="runs"),
    path("<uuid:project_uuid>/leaderboard.<str:form>", leaderboard_views.export, name="export"),
    path("<uuid:project_uuid>/new/", leaderboard_views.similarity_run_create, name="run-create"),
    path("<uuid:project_uuid>/upload/", leaderboard_views.run_new, name="run-new"),
    path("<uuid:project_uuid>/compare/", leaderboard_views.compare, name="compare"),
    path("<uuid:project_uuid>/case/", leaderboard_views.case_page, name="case"),
    path("<uuid:project_uuid>/economy/", leaderboard_views.economy, name="economy"),
    path("<uuid:project_uuid>/economy/new/", leaderboard_views.economy_study, name="economy-study"),
    path("<uuid:project_uuid>/economy.csv", leaderboard_views.economy_csv, name="economy-csv"),
    path("", include("models_runner.ground_truths.urls")),
    path("<uuid:project_uuid>/experiments/", experiments_views.experiments, name="experiments"),
    path("<uuid:project_uuid>/experiments/grid/", experiments_views.grid_new, name="experiment-grid"),
    path("<uuid:project_uuid>/experiments/new/", experiments_views.experiment_new, name="experiment-new"),
    path("<uuid:project_uuid>/tables/", tables_views.benchmark_tables, name="tables"),
    path("<uuid:project_uuid>/tables.<str:form>", tables_views.benchmark_tables_export, name="tables-export"),
    path("experiment/<uuid:experiment_uuid>/", experiments_views.experiment, name="experiment"),
    path("experiment/<uuid:experiment_uuid>/delete/", experiments_views.experiment_delete, name="experiment-delete"),
    path("training/<uuid:training_uuid>/", experiments_views.training, name="training"),
    path("training/<uuid:training_uuid>/cancel/", experiments_views.training_cancel, name="training-cancel"),
    path("training/<uuid:training_uuid>/resume/", experiments_views.training_resume, name="training-resume"),
    path("training/<uuid:training_uuid>/files/<str:name>", experiments_views.training_file, name="training-file"),
    path("<uuid:project_uuid>/settings-searches/new/", tuning_views.settings_search_new, name="settings-search-new"),
    path("settings-search/<uuid:search_uuid>/", tuning_views.settings_search, name="settings-search"),
    path("settings-search/<uuid:search_uuid>/trials.csv", tuning_views.settings_search_csv, name="settings-search-csv"),
    path(
        "settings-search/<uuid:search_uuid>/cancel/", tuning_views.settings_search_cancel, name="settings-search-cancel"
    ),
    path(
        "settings-search/<uuid:search_uuid>/resume/", tuning_views.settings_search_resume, name="settings-search-resume"
    ),
    path(
        "settings-search/<uuid:search_uuid>/delete/", tuning_views.settings_search_delete, name="settings-search-delete"
    ),
    path("<uuid:project_uuid>/search/", search_views.search, name="search"),
    path("<uuid:project_uuid>/video/<uuid:video_uuid>/", video_file, name="video"),
    path("<uuid:project_uuid>/features/", features_views.features, name="features"),
    path("<uuid:project_uuid>/features/hub/", features_views.hub, name="features-hub"),
    path("<uuid:project_uuid>/features/new/", features_views.feature_set_create, name="feature-set-create"),
    path("<uuid:project_uuid>/features/file/", features_views.feature_set_register, name="feature-set-register"),
    path("features/<uuid:set_uuid>/cancel/", features_views.feature_set_cancel, name="feature-set-cancel"),
    path("features/<uuid:set_uuid>/resume/", features_views.feature_set_resume, name="feature-set-resume"),
    path("features/<uuid:set_uuid>/model/", features_views.feature_set_model, name="feature-set-model"),
    path("features/<uuid:set_uuid>/delete/", features_views.feature_set_delete, name="feature-set-delete"),
    path("<uuid:project_uuid>/files/", leaderboard_views.release_files, name="files"),
    path("<uuid:project_uuid>/settings/", leaderboard_views.leaderboard_settings, name="settings"),
    path("files/<uuid:release_uuid>/<str:name>", leaderboard_views.release_file, name="file"),
    path("run/<uuid:run_uuid>/", leaderboard_views.run_page, name="run"),
    path("run/<uuid:run_uuid>/withdraw/", leaderboard_views.run_withdraw, name="run-withdraw"),
    path("<uuid:run_uuid>/download/", leaderboard_views.run_download, name="run-download"),
]
