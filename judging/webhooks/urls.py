from django.urls import path

from judging.webhooks import views

urlpatterns = [
    path("webhooks/<uuid:project_uuid>/", views.webhooks, name="webhooks"),
    path("webhooks/<uuid:project_uuid>/new/", views.webhook_create, name="webhook-create"),
    path("webhook/<uuid:webhook_uuid>/", views.webhook_redirect, name="webhook"),
    path("webhook/<uuid:webhook_uuid>/ping/", views.webhook_ping, name="webhook-ping"),
    path("webhook/<uuid:webhook_uuid>/switch/", views.webhook_switch, name="webhook-switch"),
    path("webhook/<uuid:webhook_uuid>/delete/", views.webhook_delete, name="webhook-delete"),
    path("webhook-deliveries/<uuid:delivery_uuid>/", views.delivery_redirect, name="webhook-delivery"),
    path("webhook-deliveries/<uuid:delivery_uuid>/retry/", views.delivery_retry, name="webhook-delivery-retry"),
]
