"""An anchor is given or changed only while its exam is open and nobody has handed in.

The exam and its sittings are locked while it is looked at, so that of an anchor and a hand-in at the same time one
comes first.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION known_pair_anchor_is_beforehand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (TG_OP = 'INSERT' AND NEW.anchor IS NULL)
        OR (TG_OP = 'UPDATE' AND NEW.anchor IS NOT DISTINCT FROM OLD.anchor)
    THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM judging_exam WHERE id = NEW.exam_id FOR SHARE;
    PERFORM 1 FROM judging_sitting WHERE exam_id = NEW.exam_id ORDER BY id FOR SHARE;
    IF NOT EXISTS (SELECT 1 FROM judging_exam WHERE id = NEW.exam_id AND kind = 'cohort' AND state = 'open')
        OR EXISTS (SELECT 1 FROM judging_sitting WHERE exam_id = NEW.exam_id AND state <> 'open')
    THEN
        RAISE EXCEPTION 'the anchor of known pair % comes before anybody hands in', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER known_pair_anchor_is_beforehand BEFORE INSERT OR UPDATE OF anchor ON judging_knownpair
    FOR EACH ROW EXECUTE FUNCTION known_pair_anchor_is_beforehand();
"""
BACKWARD = """
DROP TRIGGER known_pair_anchor_is_beforehand ON judging_knownpair;
DROP FUNCTION known_pair_anchor_is_beforehand();
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0029_missed_exams_and_anchors")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
