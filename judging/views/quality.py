"""What annotators could not judge, and whether order tells on their grades."""

from django.http import HttpResponse
from django.shortcuts import render

from annotation.access import STAFF, MemberRequest, project_page
from annotation.models import Project
from judging import selectors
from judging.charts import EffectChart


@project_page(STAFF)
def order(request: MemberRequest, project: Project) -> HttpResponse:
    """Mean grade by position and by previous grade: fatigue and anchoring."""
    numbers = selectors.annotator_numbers(project)
    chosen = next((user for user, number in numbers.items() if str(number) == request.GET.get("annotator")), None)
    simulated = "simulated" in request.GET or not selectors.people_have_judged(project)
    found = selectors.order_effects(project_id=project.pk, simulated=simulated, annotator_id=chosen)
    context = {
        **found,
        "chosen": numbers.get(chosen) if chosen else None,
        "numbers": sorted(numbers.values()),
        "simulated": simulated,
        "position_chart": EffectChart(found["by_position"]),
        "previous_chart": EffectChart(found["by_previous"]),
    }
    return render(request, "judging/order.html", context)
