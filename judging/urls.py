from judging.audit.urls import urlpatterns as audit
from judging.figures.urls import urlpatterns as figures
from judging.guidelines.urls import urlpatterns as guidelines
from judging.imports.urls import urlpatterns as imports
from judging.moved import urlpatterns as moved
from judging.pay.urls import urlpatterns as pay
from judging.people.urls import urlpatterns as people
from judging.projects.urls import urlpatterns as projects
from judging.qualification.urls import urlpatterns as qualification
from judging.quality.urls import urlpatterns as quality
from judging.releases.urls import urlpatterns as releases
from judging.review.urls import urlpatterns as review
from judging.studies.urls import urlpatterns as studies
from judging.work.urls import urlpatterns as work

app_name = "judging"
urlpatterns = [
    *work,
    *studies,
    *qualification,
    *figures,
    *imports,
    *review,
    *projects,
    *audit,
    *people,
    *pay,
    *quality,
    *guidelines,
    *releases,
    *moved,
]
