from django.urls import path

from judging.collection import views

urlpatterns = [
    path("writing/<uuid:project_uuid>/", views.desk, name="writing-desk"),
    path("writing/<uuid:project_uuid>/mark/", views.mark, name="mark"),
    path("writing/<uuid:project_uuid>/take/", views.take, name="clip-take"),
    path("writing/clips/<uuid:assignment_uuid>/video/", views.video, name="clip-video"),
    path("writing/clips/<uuid:assignment_uuid>/draft/", views.draft, name="clip-draft"),
    path("writing/clips/<uuid:assignment_uuid>/submit/", views.submit, name="query-submit"),
    path("writing/clips/<uuid:assignment_uuid>/return/", views.give_back, name="clip-return"),
    path("writing/clips/<uuid:assignment_uuid>/exhausted/", views.exhaust, name="clip-exhausted"),
    path("collection/<uuid:project_uuid>/", views.collection, name="collection"),
    path("collection/<uuid:project_uuid>/new/", views.round_create, name="writing-round-create"),
    path("collection/<uuid:project_uuid>/figures/", views.collection_figures, name="collection-figures"),
    path(
        "collection/<uuid:project_uuid>/figures/<slug:name>.svg",
        views.collection_figure_svg,
        name="collection-figure-svg",
    ),
    path(
        "collection/<uuid:project_uuid>/figures/<slug:name>.csv",
        views.collection_figure_csv,
        name="collection-figure-csv",
    ),
    path("collection/<uuid:project_uuid>/queries/", views.queries, name="written-queries"),
    path("collection/<uuid:project_uuid>/writers/", views.writer_change, name="writer-change"),
    path("collection/rounds/<uuid:round_uuid>/", views.writing_round, name="writing-round"),
    path("collection/rounds/<uuid:round_uuid>/change/", views.round_change, name="writing-round-change"),
    path("collection/rounds/<uuid:round_uuid>/members/", views.members_change, name="writing-round-members"),
    path("collection/rounds/<uuid:round_uuid>/clips/", views.clips_add, name="writing-round-clips"),
    path("collection/clips/<uuid:clip_uuid>/reopen/", views.clip_reopen, name="writing-clip-reopen"),
]
