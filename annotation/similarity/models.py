"""Measure: how a similarity was computed."""

from django.db import models
from django.db.models import Q


class Measure(models.Model):
    """A similarity as it was: its name, model, version and normalisation of texts. Rows are only ever added."""

    name = models.CharField(max_length=200, help_text="What one asks for.")
    model = models.CharField(max_length=500, help_text="What computes it.")
    version = models.CharField(max_length=300)
    normalisation = models.CharField(max_length=200, help_text="Of the texts, before they are compared.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "model", "version", "normalisation"], name="measure_once"),
            models.CheckConstraint(condition=~Q(name=""), name="measure_has_a_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.version}, {self.normalisation}"
