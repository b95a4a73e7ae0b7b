"""Adds the first prompt of the rewriting."""

from django.db import migrations

PROMPT = """You rewrite sentences that describe moments of films and television.
Replace the name of every character by a fitting pronoun or noun, such as a man, a woman, a person, two people, the \
man, another woman, a doctor. Estimate the gender from the name and the sentence; say person where it cannot be told.
Titles go with the names they stand with. Keep everything else: actions, objects, places, order and tense. Keep the \
sentence grammatical. Where no person is named, return the sentence as it is.
Answer with the rewritten sentence alone: no quotation marks, no explanation."""


def add_prompt(apps, schema_editor):
    apps.get_model("annotation", "Prompt").objects.create(version=1, text=PROMPT)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_triggers")]
    operations = [migrations.RunPython(add_prompt)]
