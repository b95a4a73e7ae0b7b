"""Pools live beside the queries they grow."""

from django.urls import path

from models_runner.pools import views

app_name = "pools"
urlpatterns = [
    path("queries/<uuid:project_uuid>/pools/", views.pools, name="pools"),
    path("queries/<uuid:project_uuid>/pools/new/", views.pool_create, name="pool-create"),
    path("pools/<uuid:pooling_uuid>/", views.pool, name="pool"),
    path("pools/<uuid:pooling_uuid>/open/", views.pool_open, name="pool-open"),
    path("pools/<uuid:pooling_uuid>/discard/", views.pool_discard, name="pool-discard"),
    path("pools/<uuid:pooling_uuid>/report.csv", views.pool_csv, name="pool-csv"),
    path("pools/<uuid:pooling_uuid>/overlap.csv", views.overlap_csv, name="pool-overlap-csv"),
]
