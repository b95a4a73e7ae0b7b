from django.urls import path

from judging.releases import views

urlpatterns = [
    path("releases/<uuid:project_uuid>/", views.releases, name="releases"),
    path("releases/<uuid:project_uuid>/new/", views.release_create, name="release-create"),
    path("releases/<uuid:project_uuid>/judgments.csv", views.judgments_csv, name="judgments-csv"),
    path("releases/<uuid:project_uuid>/words/", views.words, name="release-words"),
    path("releases/<uuid:project_uuid>/words/save/", views.words_save, name="release-words-save"),
    path("releases/<uuid:release_uuid>/contents/", views.release, name="release"),
    path("releases/<uuid:release_uuid>/retry/", views.release_retry, name="release-retry"),
    path("releases/<uuid:release_uuid>/download/", views.release_download, name="release-download"),
    path("releases/<uuid:release_uuid>/changes/", views.release_changes, name="release-changes"),
    path("releases/<uuid:release_uuid>/changes.csv", views.release_changes_csv, name="release-changes-csv"),
]
