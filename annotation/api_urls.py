from django.urls import path

from annotation.captions import api as captions_api
from annotation.corpora import api as corpora_api
from annotation.proposals import api as proposals_api
from annotation.queries import api as queries_api
from annotation.topics import api as topics_api
from annotation.train_sets import api as train_sets_api

urlpatterns = [
    path("corpora/", corpora_api.Corpora.as_view(), name="corpora"),
    path("corpora/imports/", corpora_api.Imports.as_view(), name="imports"),
    path("corpora/imports/<uuid:import_uuid>/", corpora_api.OneImport.as_view(), name="import"),
    path("corpora/imports/<uuid:import_uuid>/confirm/", corpora_api.ConfirmImport.as_view(), name="import-confirm"),
    path("corpora/imports/<uuid:import_uuid>/discard/", corpora_api.DiscardImport.as_view(), name="import-discard"),
    path("corpora/imports/<uuid:import_uuid>/report.csv", corpora_api.ImportReport.as_view(), name="import-report"),
    path("projects/<uuid:project_uuid>/corpus/export/", corpora_api.Export.as_view(), name="corpus-export"),
    path("projects/<uuid:project_uuid>/video-uploads/", corpora_api.VideoUploads.as_view(), name="video-uploads"),
    path("projects/<uuid:project_uuid>/subtitles/", corpora_api.Subtitles.as_view(), name="subtitles"),
    path("video-uploads/<uuid:upload_uuid>/", corpora_api.OneVideoUpload.as_view(), name="video-upload"),
    path("projects/<uuid:project_uuid>/shots/", proposals_api.Shots.as_view(), name="shots"),
    path("projects/<uuid:project_uuid>/proposals/", proposals_api.Proposals.as_view(), name="proposals"),
    path("proposals/<uuid:proposal_uuid>/", proposals_api.OneProposal.as_view(), name="proposal"),
    path("proposals/<uuid:proposal_uuid>/use/", proposals_api.UseProposal.as_view(), name="proposal-use"),
    path("proposals/<uuid:proposal_uuid>/cancel/", proposals_api.CancelProposal.as_view(), name="proposal-cancel"),
    path("proposals/<uuid:proposal_uuid>/resume/", proposals_api.ResumeProposal.as_view(), name="proposal-resume"),
    path("proposals/<uuid:proposal_uuid>/undo/", proposals_api.UndoProposal.as_view(), name="proposal-undo"),
    path("projects/<uuid:project_uuid>/captions/", captions_api.Captions.as_view(), name="captions"),
    path("projects/<uuid:project_uuid>/captions/rewrite/", captions_api.Rewrite.as_view(), name="captions-rewrite"),
    path("projects/<uuid:project_uuid>/queries/draw/", queries_api.Draw.as_view(), name="queries-draw"),
    path("projects/<uuid:project_uuid>/topics/", topics_api.Topics.as_view(), name="topics"),
    path("topics/<uuid:topic_uuid>/", topics_api.OneTopic.as_view(), name="topic"),
    path("projects/<uuid:project_uuid>/train-sets/", train_sets_api.TrainSets.as_view(), name="train-sets"),
    path("train-sets/<uuid:set_uuid>/", train_sets_api.OneTrainSet.as_view(), name="train-set"),
    path("train-sets/<uuid:set_uuid>.json", train_sets_api.TrainSetJson.as_view(), name="train-set-json"),
    path("train-sets/<uuid:set_uuid>.parquet", train_sets_api.TrainSetParquet.as_view(), name="train-set-parquet"),
]
