"""TextStatistics: what descriptions and captions come to in words, as last computed."""

from django.db import models
from django.db.models import Q

from accounts.models import Project


class TextStatistics(models.Model):
    """The newest figures of a project's texts; computed by a task, as looking for names reads every text."""

    project = models.OneToOneField(Project, models.CASCADE, related_name="text_statistics")
    data = models.JSONField(default=dict)
    state_of_texts = models.CharField(max_length=200, blank=True, help_text="Tells whether a text has changed since.")
    computed_at = models.DateTimeField(null=True)
    requested_at = models.DateTimeField(null=True, help_text="Null unless it is being computed.")
    error = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "text statistics"
        constraints = [
            models.CheckConstraint(
                condition=Q(computed_at__isnull=True) | ~Q(data={}), name="text_statistics_computed_say_something"
            )
        ]
