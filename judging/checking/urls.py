from django.urls import path

from judging.checking import views

urlpatterns = [
    path("checking/<uuid:project_uuid>/", views.desk, name="checking-desk"),
    path("checking/<uuid:project_uuid>/next/", views.check, name="query-to-check"),
    path("checking/queries/<uuid:query_uuid>/video/", views.query_video, name="written-query-video"),
    path("checking/queries/<uuid:query_uuid>/decide/", views.decide, name="query-check"),
    path("checking/checks/<uuid:check_uuid>/undo/", views.undo, name="query-check-undo"),
]
