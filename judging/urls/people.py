"""Who takes part: joining, leaving, and the lead's pages of people."""

from django.urls import path

from judging.views import join, people

urlpatterns = [
    path("invitations/<str:secret>/", join.invitation, name="invitation"),
    path("join/<uuid:project_uuid>/", join.registration, name="join"),
    path("judge/<uuid:project_uuid>/leave-project/", join.leave_project, name="leave-project"),
    path("people/<uuid:project_uuid>/", people.people, name="people"),
    path("people/<uuid:project_uuid>/invite/", people.invitation_create, name="invitation-create"),
    path("people/<uuid:project_uuid>/registration/", people.registration_switch, name="registration-switch"),
    path("people/invitations/<uuid:invitation_uuid>/", people.invitation_place, name="invitation-place"),
    path("people/invitations/<uuid:invitation_uuid>/renew/", people.invitation_renew, name="invitation-renew"),
    path("people/invitations/<uuid:invitation_uuid>/revoke/", people.invitation_revoke, name="invitation-revoke"),
    path("people/<uuid:project_uuid>/<int:number>/", people.person, name="person"),
    path("people/<uuid:project_uuid>/<int:number>/standing/", people.standing, name="person-standing"),
    path("people/<uuid:project_uuid>/<int:number>/password/", people.password_link, name="person-password"),
    path("people/<uuid:project_uuid>/<int:number>/erase/", people.erase, name="person-erase"),
]
