"""More rules over several rows, held by triggers.

A judgment is given by the holder of an open assignment, at its round and seat, on a pair it asks for that is not
decided. A flag likewise, and it is final with its assignment. Judgments are never deleted.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION judgment_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.source <> 'imported' AND NOT EXISTS (
        SELECT 1 FROM judging_assignment a JOIN judging_pair p ON p.id = NEW.pair_id
        WHERE a.id = NEW.assignment_id AND a.state = 'open' AND a.annotator_id = NEW.annotator_id
            AND a.round = NEW.round AND a.seat = NEW.seat AND a.pair_ids[NEW.position] = NEW.pair_id
            AND p.state = CASE NEW.round WHEN 1 THEN 'open' ELSE 'escalated' END
    ) THEN
        RAISE EXCEPTION 'assignment % does not ask for pair %', NEW.assignment_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER judgment_is_asked_for BEFORE INSERT ON judging_judgment
    FOR EACH ROW EXECUTE FUNCTION judgment_is_asked_for();

CREATE FUNCTION judgment_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'judgments are never deleted' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER judgment_is_kept BEFORE DELETE ON judging_judgment
    FOR EACH ROW EXECUTE FUNCTION judgment_is_kept();

CREATE FUNCTION flag_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM judging_assignment a WHERE a.id = NEW.assignment_id AND a.state = 'open'
            AND a.annotator_id = NEW.annotator_id AND NEW.pair_id = ANY (a.pair_ids)
    ) THEN
        RAISE EXCEPTION 'assignment % takes no flag on pair %', NEW.assignment_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER flag_is_asked_for BEFORE INSERT OR UPDATE ON judging_flag
    FOR EACH ROW EXECUTE FUNCTION flag_is_asked_for();

ALTER TABLE judging_assignment SET (fillfactor = 60);
"""
BACKWARD = """
DROP TRIGGER flag_is_asked_for ON judging_flag;
DROP FUNCTION flag_is_asked_for();
DROP TRIGGER judgment_is_kept ON judging_judgment;
DROP FUNCTION judgment_is_kept();
DROP TRIGGER judgment_is_asked_for ON judging_judgment;
DROP FUNCTION judgment_is_asked_for();
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0005_orders_and_positions_are_kept")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
