from django.urls import path

from judging.checking import api as checking_api
from judging.collection import api as collection_api
from judging.guidelines import api as guidelines_api
from judging.people import api as people_api
from judging.projects import api as projects_api
from judging.releases import api as releases_api
from judging.review import api as review_api
from judging.verification import api as verification_api
from judging.webhooks import api as webhooks_api
from judging.work import api

app_name = "api"
urlpatterns = [
    path("projects/", projects_api.Projects.as_view(), name="projects"),
    path("projects/<uuid:project_uuid>/", projects_api.OneProject.as_view(), name="project"),
    path("projects/<uuid:project_uuid>/rules/", projects_api.ProjectRules.as_view(), name="rules"),
    path("projects/<uuid:project_uuid>/jobs/", projects_api.Jobs.as_view(), name="jobs"),
    path("jobs/<uuid:job_uuid>/", projects_api.OneJob.as_view(), name="job"),
    path("projects/<uuid:project_uuid>/batches/open/", projects_api.OpenBatches.as_view(), name="batches-open"),
    path("projects/<uuid:project_uuid>/candidates/rank/", projects_api.RankAnew.as_view(), name="candidates-rank"),
    path("projects/<uuid:project_uuid>/policy/", guidelines_api.ProjectPolicy.as_view(), name="policy"),
    path("projects/<uuid:project_uuid>/webhooks/", webhooks_api.Webhooks.as_view(), name="webhooks"),
    path("webhooks/<uuid:webhook_uuid>/", webhooks_api.OneWebhook.as_view(), name="webhook"),
    path("webhooks/<uuid:webhook_uuid>/ping/", webhooks_api.PingWebhook.as_view(), name="webhook-ping"),
    path("webhooks/<uuid:webhook_uuid>/deliveries/", webhooks_api.Deliveries.as_view(), name="webhook-deliveries"),
    path("webhook-deliveries/<uuid:delivery_uuid>/retry/", webhooks_api.RetryDelivery.as_view(), name="webhook-retry"),
    path("projects/<uuid:project_uuid>/invitations/", people_api.Invitations.as_view(), name="invitations"),
    path("invitations/<uuid:invitation_uuid>/", people_api.OneInvitation.as_view(), name="invitation"),
    path("invitations/<uuid:invitation_uuid>/renew/", people_api.RenewInvitation.as_view(), name="invitation-renew"),
    path("projects/<uuid:project_uuid>/assignment/", api.Assignment.as_view(), name="assignment"),
    path("projects/<uuid:project_uuid>/assignment/heartbeat/", api.Heartbeat.as_view(), name="heartbeat"),
    path("projects/<uuid:project_uuid>/assignment/finish/", api.Finish.as_view(), name="finish"),
    path("projects/<uuid:project_uuid>/assignment/return/", api.Return.as_view(), name="return"),
    path("projects/<uuid:project_uuid>/judgments/", api.OwnJudgments.as_view(), name="judgments"),
    path("pairs/<uuid:pair_uuid>/judgment/", api.Judgment.as_view(), name="judgment"),
    path("pairs/<uuid:pair_uuid>/flag/", api.FlagPair.as_view(), name="flag"),
    path("previews/<uuid:preview_uuid>.gif", api.PreviewGif.as_view(), name="preview-gif"),
    path("previews/<uuid:preview_uuid>.mp4", api.PreviewMp4.as_view(), name="preview-mp4"),
    path("projects/<uuid:project_uuid>/writing-rounds/", collection_api.WritingRounds.as_view(), name="writing-rounds"),
    path("writing-rounds/<uuid:round_uuid>/", collection_api.OneWritingRound.as_view(), name="writing-round"),
    path(
        "projects/<uuid:project_uuid>/written-queries/",
        checking_api.WrittenQueries.as_view(),
        name="written-queries",
    ),
    path("projects/<uuid:project_uuid>/clip/", collection_api.Clip.as_view(), name="clip"),
    path("projects/<uuid:project_uuid>/clip/video", collection_api.ClipVideo.as_view(), name="clip-video"),
    path("projects/<uuid:project_uuid>/clip/queries/", collection_api.ClipQueries.as_view(), name="clip-queries"),
    path("projects/<uuid:project_uuid>/clip/return/", collection_api.ClipReturn.as_view(), name="clip-return"),
    path("projects/<uuid:project_uuid>/clip/exhausted/", collection_api.ClipExhausted.as_view(), name="clip-exhausted"),
    path("projects/<uuid:project_uuid>/own-queries/", collection_api.OwnQueries.as_view(), name="own-queries"),
    path("projects/<uuid:project_uuid>/query-to-check/", checking_api.QueryToCheck.as_view(), name="query-to-check"),
    path(
        "written-queries/<uuid:query_uuid>/video", checking_api.WrittenQueryVideo.as_view(), name="written-query-video"
    ),
    path("query-checks/<uuid:check_uuid>/undo/", checking_api.UndoCheck.as_view(), name="check-undo"),
    path("written-queries/<uuid:query_uuid>/check/", checking_api.OneWrittenQueryCheck.as_view(), name="query-check"),
    path(
        "projects/<uuid:project_uuid>/verification-studies/",
        verification_api.VerificationStudies.as_view(),
        name="verification-studies",
    ),
    path(
        "verification-studies/<uuid:study_uuid>/",
        verification_api.OneVerificationStudy.as_view(),
        name="verification-study",
    ),
    path(
        "verification-studies/<uuid:study_uuid>/answers.csv",
        verification_api.VerificationAnswersCsv.as_view(),
        name="verification-answers-csv",
    ),
    path(
        "verification-pairs/<uuid:pair_uuid>/inspection/",
        verification_api.InspectVerificationPair.as_view(),
        name="verification-inspect",
    ),
    path("projects/<uuid:project_uuid>/progress/", review_api.Progress.as_view(), name="progress"),
    path("projects/<uuid:project_uuid>/batches/", review_api.Batches.as_view(), name="batches"),
    path("projects/<uuid:project_uuid>/query-sets/", review_api.QuerySets.as_view(), name="query-sets"),
    path("query-sets/<uuid:set_uuid>/", review_api.QuerySet.as_view(), name="query-set"),
    path("projects/<uuid:project_uuid>/releases/", releases_api.Releases.as_view(), name="releases"),
    path("projects/<uuid:project_uuid>/judgments.csv", releases_api.JudgmentsCsv.as_view(), name="judgments-csv"),
    path("releases/<uuid:release_uuid>/", releases_api.OneRelease.as_view(), name="release"),
    path("releases/<uuid:release_uuid>/retry/", releases_api.RetryRelease.as_view(), name="release-retry"),
    path("releases/<uuid:release_uuid>.zip", releases_api.ReleaseZip.as_view(), name="release-zip"),
    path("batches/<uuid:batch_uuid>/", review_api.OneBatch.as_view(), name="batch"),
    path("batches/<uuid:batch_uuid>/review/", review_api.ReviewBatch.as_view(), name="review"),
    path("pairs/<uuid:pair_uuid>/withdraw/", review_api.Withdraw.as_view(), name="withdraw"),
    path("pairs/<uuid:pair_uuid>/restore/", review_api.Restore.as_view(), name="restore"),
]
