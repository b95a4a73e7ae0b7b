from django.urls import path

from annotation import caption_views, views

app_name = "annotation"
urlpatterns = [
    path("<uuid:project_uuid>/", views.corpus, name="corpus"),
    path("<uuid:project_uuid>/captions/", caption_views.captions, name="captions"),
    path("<uuid:project_uuid>/captions/rewrite/", caption_views.start, name="captions-rewrite"),
    path("<uuid:project_uuid>/captions/decide/", caption_views.decide, name="caption-decide"),
    path("<uuid:project_uuid>/captions/undo/", caption_views.undo, name="caption-undo"),
]
