"""Where leads make releases, and leads and admins look into them and take them away."""

from django.urls import path

from judging.views import release_words, releases

urlpatterns = [
    path("releases/<uuid:project_uuid>/", releases.releases, name="releases"),
    path("releases/<uuid:project_uuid>/new/", releases.release_create, name="release-create"),
    path("releases/<uuid:project_uuid>/judgments.csv", releases.judgments_csv, name="judgments-csv"),
    path("releases/<uuid:project_uuid>/words/", release_words.words, name="release-words"),
    path("releases/<uuid:project_uuid>/words/save/", release_words.words_save, name="release-words-save"),
    path("releases/<uuid:release_uuid>/contents/", releases.release, name="release"),
    path("releases/<uuid:release_uuid>/retry/", releases.release_retry, name="release-retry"),
    path("releases/<uuid:release_uuid>/download/", releases.release_download, name="release-download"),
    path("releases/<uuid:release_uuid>/changes/", releases.release_changes, name="release-changes"),
    path("releases/<uuid:release_uuid>/changes.csv", releases.release_changes_csv, name="release-changes-csv"),
]
