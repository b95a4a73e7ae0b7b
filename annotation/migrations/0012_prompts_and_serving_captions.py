"""The first prompt; prompts are only ever added; a query comes from a caption that serves."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION prompt_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'prompts are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER prompt_is_append_only BEFORE UPDATE OR DELETE ON annotation_prompt
    FOR EACH ROW EXECUTE FUNCTION prompt_is_append_only();
CREATE FUNCTION query_caption_serves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.caption_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM annotation_caption WHERE id = NEW.caption_id AND state IN ('accepted', 'edited')
    ) THEN
        RAISE EXCEPTION 'a query comes from an accepted or edited caption'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER query_caption_serves BEFORE INSERT OR UPDATE OF caption_id ON annotation_query
    FOR EACH ROW EXECUTE FUNCTION query_caption_serves();
"""
BACKWARD = """
DROP TRIGGER query_caption_serves ON annotation_query;
DROP FUNCTION query_caption_serves();
DROP TRIGGER prompt_is_append_only ON annotation_prompt;
DROP FUNCTION prompt_is_append_only();
"""
PROMPT = """You rewrite sentences that describe moments of films and television.
Replace the name of every character by a fitting pronoun or noun, such as a man, a woman, a person, two people, the \
man, another woman, a doctor. Estimate the gender from the name and the sentence; say person where it cannot be told.
Titles go with the names they stand with. Keep everything else: actions, objects, places, order and tense. Keep the \
sentence grammatical. Where no person is named, return the sentence as it is.
Answer with the rewritten sentence alone: no quotation marks, no explanation."""


def add_prompt(apps, schema_editor):
    apps.get_model("annotation", "Prompt").objects.create(version=1, text=PROMPT)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0011_rewriting")]
    operations = [
        migrations.RunPython(add_prompt, migrations.RunPython.noop),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
