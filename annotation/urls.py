from django.urls import path

from annotation.captions import views
from annotation.corpora import views as corpora_views
from annotation.proposals import views as proposals_views
from annotation.queries import views as queries_views
from annotation.statistics import views as statistics_views
from annotation.topics import views as topics_views
from annotation.train_sets import views as train_sets_views

app_name = "annotation"
urlpatterns = [
    path("", corpora_views.corpora, name="corpora"),
    path("import/", corpora_views.import_new, name="import-new"),
    *corpora_views.import_urls,
    path("<uuid:project_uuid>/", corpora_views.corpus, name="corpus"),
    path("<uuid:project_uuid>/download/", corpora_views.corpus_download, name="corpus-download"),
    path("<uuid:project_uuid>/videos/<uuid:video_uuid>/", corpora_views.video, name="video"),
    path("<uuid:project_uuid>/videos/<uuid:video_uuid>/file/", corpora_views.video_file, name="video-file"),
    path("<uuid:project_uuid>/videos/<uuid:video_uuid>/poster.jpg", corpora_views.video_poster, name="video-poster"),
    path("<uuid:project_uuid>/videos/<uuid:video_uuid>/replace/", corpora_views.video_replace, name="video-replace"),
    path("<uuid:project_uuid>/subtitles/", corpora_views.subtitles, name="subtitles"),
    path("<uuid:project_uuid>/folders/", corpora_views.folders, name="video-folders"),
    path("<uuid:project_uuid>/folders/add/", corpora_views.folder_start, name="video-folder-start"),
    path("folders/<uuid:folder_uuid>/cancel/", corpora_views.folder_cancel, name="video-folder-cancel"),
    path("folders/<uuid:folder_uuid>/resume/", corpora_views.folder_resume, name="video-folder-resume"),
    path("<uuid:project_uuid>/uploads/", corpora_views.uploads_begin, name="uploads"),
    path("uploads/<uuid:upload_uuid>/", corpora_views.upload, name="upload"),
    path("<uuid:project_uuid>/proposals/", proposals_views.proposals, name="proposals"),
    path("<uuid:project_uuid>/proposals/new/", proposals_views.start, name="proposal-start"),
    path("<uuid:project_uuid>/proposals/use/", proposals_views.use, name="proposal-use"),
    path("<uuid:project_uuid>/proposals/cancel/", proposals_views.cancel, name="proposal-cancel"),
    path("<uuid:project_uuid>/proposals/resume/", proposals_views.resume, name="proposal-resume"),
    path("<uuid:project_uuid>/proposals/undo/", proposals_views.undo, name="proposal-undo"),
    path("<uuid:project_uuid>/captions/", views.captions, name="captions"),
    path("<uuid:project_uuid>/captions/rewrite/", views.start, name="captions-rewrite"),
    path("<uuid:project_uuid>/captions/decide/", views.decide, name="caption-decide"),
    path("<uuid:project_uuid>/captions/correct/", views.correct, name="caption-correct"),
    path("<uuid:project_uuid>/captions/undo/", views.undo, name="caption-undo"),
    path("<uuid:project_uuid>/captions/prompts/", views.prompts, name="prompts"),
    path("<uuid:project_uuid>/captions/prompts/save/", views.prompt_save, name="prompt-save"),
    path("<uuid:project_uuid>/captions/prompts/discard/", views.prompt_discard, name="prompt-discard"),
    path("<uuid:project_uuid>/training/", train_sets_views.train_sets, name="train-sets"),
    path("<uuid:project_uuid>/training/new/", train_sets_views.start, name="train-set-start"),
    path("training/<uuid:set_uuid>/discard/", train_sets_views.discard, name="train-set-discard"),
    path("training/<uuid:set_uuid>/json/", train_sets_views.download_json, name="train-set-json"),
    path("training/<uuid:set_uuid>/parquet/", train_sets_views.download_parquet, name="train-set-parquet"),
    path("<uuid:project_uuid>/splits/", queries_views.splits, name="splits"),
    path("<uuid:project_uuid>/splits/draw/", queries_views.draw, name="queries-draw"),
    *topics_views.import_urls,
    path("<uuid:project_uuid>/topics/", topics_views.topics, name="topics"),
    path("<uuid:project_uuid>/topics/new/", topics_views.topic_new, name="topic-new"),
    path("<uuid:project_uuid>/topics/import/", topics_views.import_new, name="topic-import-new"),
    path("topics/<uuid:topic_uuid>/", topics_views.topic, name="topic"),
    path("topics/<uuid:topic_uuid>/change/", topics_views.topic_change, name="topic-change"),
    path("<uuid:project_uuid>/statistics/", statistics_views.statistics, name="statistics"),
    path("<uuid:project_uuid>/statistics/compute/", statistics_views.compute, name="statistics-compute"),
    path("<uuid:project_uuid>/statistics.csv", statistics_views.measures_csv, name="statistics-csv"),
    path("<uuid:project_uuid>/histograms.csv", statistics_views.histograms_csv, name="histograms-csv"),
]
