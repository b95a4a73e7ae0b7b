from django.urls import path

from judging.api import annotator, lead, releases, train_sets

app_name = "api"
urlpatterns = [
    path("projects/", annotator.Projects.as_view(), name="projects"),
    path("projects/<uuid:project_uuid>/assignment/", annotator.Assignment.as_view(), name="assignment"),
    path("projects/<uuid:project_uuid>/assignment/heartbeat/", annotator.Heartbeat.as_view(), name="heartbeat"),
    path("projects/<uuid:project_uuid>/assignment/finish/", annotator.Finish.as_view(), name="finish"),
    path("projects/<uuid:project_uuid>/assignment/return/", annotator.Return.as_view(), name="return"),
    path("projects/<uuid:project_uuid>/judgments/", annotator.OwnJudgments.as_view(), name="judgments"),
    path("pairs/<uuid:pair_uuid>/judgment/", annotator.Judgment.as_view(), name="judgment"),
    path("pairs/<uuid:pair_uuid>/flag/", annotator.Flag.as_view(), name="flag"),
    path("previews/<uuid:preview_uuid>.gif", annotator.PreviewGif.as_view(), name="preview-gif"),
    path("previews/<uuid:preview_uuid>.mp4", annotator.PreviewMp4.as_view(), name="preview-mp4"),
    path("projects/<uuid:project_uuid>/progress/", lead.Progress.as_view(), name="progress"),
    path("projects/<uuid:project_uuid>/batches/", lead.Batches.as_view(), name="batches"),
    path("projects/<uuid:project_uuid>/query-sets/", lead.QuerySets.as_view(), name="query-sets"),
    path("query-sets/<uuid:set_uuid>/", lead.QuerySet.as_view(), name="query-set"),
    path("projects/<uuid:project_uuid>/train-sets/", train_sets.TrainSets.as_view(), name="train-sets"),
    path("train-sets/<uuid:set_uuid>.json", train_sets.TrainSetJson.as_view(), name="train-set-json"),
    path("train-sets/<uuid:set_uuid>.parquet", train_sets.TrainSetParquet.as_view(), name="train-set-parquet"),
    path("projects/<uuid:project_uuid>/releases/", releases.Releases.as_view(), name="releases"),
    path("projects/<uuid:project_uuid>/judgments.csv", releases.JudgmentsCsv.as_view(), name="judgments-csv"),
    path("releases/<uuid:release_uuid>.zip", releases.ReleaseZip.as_view(), name="release-zip"),
    path("batches/<uuid:batch_uuid>/", lead.OneBatch.as_view(), name="batch"),
    path("batches/<uuid:batch_uuid>/review/", lead.Review.as_view(), name="review"),
    path("pairs/<uuid:pair_uuid>/withdraw/", lead.Withdraw.as_view(), name="withdraw"),
    path("pairs/<uuid:pair_uuid>/restore/", lead.Restore.as_view(), name="restore"),
]
