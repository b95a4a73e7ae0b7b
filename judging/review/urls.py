"""Where leads decide which queries get a second batch."""

from django.urls import path

from judging.review import views

urlpatterns = [
    path("review/<uuid:project_uuid>/", views.review_queue, name="review-queue"),
    path("review/<uuid:project_uuid>/accept/", views.reviews_preview, name="reviews-preview"),
    path("review/<uuid:project_uuid>/accept/all/", views.reviews_accept, name="reviews-accept"),
    path("batches/<uuid:batch_uuid>/review/", views.batch_review, name="batch-review"),
    path("batches/<uuid:batch_uuid>/review/undo/", views.review_undo, name="review-undo"),
]
