"""When a caption's text last changed, whoever changed it."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION caption_change_is_dated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.text_changed_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER caption_change_is_dated BEFORE UPDATE OF text ON annotation_caption
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text) EXECUTE FUNCTION caption_change_is_dated();
"""
BACKWARD = """
DROP TRIGGER caption_change_is_dated ON annotation_caption;
DROP FUNCTION caption_change_is_dated();
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0017_pools")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
