"""The guideline and its versions."""

from django.urls import path

from judging.guidelines import views

urlpatterns = [
    path("guideline/<uuid:project_uuid>/", views.guideline, name="guideline"),
    path("guideline/<uuid:project_uuid>/confirm/", views.guideline_confirm, name="guideline-confirm"),
    path("guideline/<uuid:project_uuid>/versions/", views.versions, name="guideline-versions"),
    path("guideline-versions/<uuid:guideline_uuid>/", views.version, name="guideline-version"),
    path("guideline/<uuid:project_uuid>/edit/", views.edit, name="guideline-edit"),
    path("guideline/<uuid:project_uuid>/edit/save/", views.draft_save, name="guideline-save"),
    path("guideline/<uuid:project_uuid>/edit/preview/", views.preview, name="guideline-preview"),
    path("guideline/<uuid:project_uuid>/edit/review/", views.review, name="guideline-review"),
    path("guideline/<uuid:project_uuid>/edit/publish/", views.draft_publish, name="guideline-publish"),
    path("guideline/<uuid:project_uuid>/edit/discard/", views.draft_discard, name="guideline-discard"),
    path("guideline/<uuid:project_uuid>/edit/examples/", views.examples, name="guideline-examples"),
    path("guideline/<uuid:project_uuid>/edit/examples/set/", views.example_set, name="guideline-example-set"),
    path("guideline/<uuid:project_uuid>/edit/examples/remove/", views.example_remove, name="guideline-example-remove"),
]
