"""More rules over several rows, held by triggers.

Only qualified annotators are handed batches. Gold stays with its assignment. Grades for pairs of known truth are given
by whom they are asked of, while they are asked, and kept; so are rates and corrections of hours.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION assignment_is_of_the_qualified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM annotation_membership member WHERE member.project_id = NEW.project_id
        AND member.user_id = NEW.annotator_id AND member.role = 'annotator' AND member.standing = 'qualified')
    THEN
        RAISE EXCEPTION 'annotator % is not qualified in project %', NEW.annotator_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assignment_is_of_the_qualified BEFORE INSERT ON judging_assignment
    FOR EACH ROW EXECUTE FUNCTION assignment_is_of_the_qualified();

CREATE OR REPLACE FUNCTION assignment_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.batch_id, OLD.annotator_id, OLD.round, OLD.seat, OLD.pair_ids, OLD.gold_ids)
        IS DISTINCT FROM (NEW.uuid, NEW.batch_id, NEW.annotator_id, NEW.round, NEW.seat, NEW.pair_ids, NEW.gold_ids)
        OR (OLD.state <> 'open' AND NEW.state <> OLD.state)
    THEN
        RAISE EXCEPTION 'assignment % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER assignment_stays ON judging_assignment;
CREATE TRIGGER assignment_stays BEFORE UPDATE OF uuid, batch_id, annotator_id, round, seat, pair_ids, gold_ids, state
    ON judging_assignment FOR EACH ROW EXECUTE FUNCTION assignment_stays();

CREATE FUNCTION gold_grade_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM judging_assignment a WHERE a.id = NEW.assignment_id AND a.state = 'open'
            AND a.annotator_id = NEW.annotator_id AND NEW.pair_id = ANY (a.gold_ids)
            AND a.pair_ids[NEW.position] = NEW.pair_id
    ) THEN
        RAISE EXCEPTION 'assignment % does not ask for gold pair %', NEW.assignment_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER gold_grade_is_asked_for BEFORE INSERT OR UPDATE ON judging_goldgrade
    FOR EACH ROW EXECUTE FUNCTION gold_grade_is_asked_for();

CREATE FUNCTION row_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are kept as they are', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER gold_grade_is_kept BEFORE DELETE ON judging_goldgrade
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER pay_rate_is_kept BEFORE UPDATE OR DELETE ON judging_payrate
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER hours_correction_is_kept BEFORE UPDATE OR DELETE ON judging_hourscorrection
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER sitting_grade_is_kept BEFORE DELETE ON judging_sittinggrade
    FOR EACH ROW EXECUTE FUNCTION row_is_kept();

CREATE FUNCTION sitting_grade_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM judging_sitting s LEFT JOIN judging_exam e ON e.id = s.exam_id
        WHERE s.id = NEW.sitting_id AND s.annotator_id = NEW.annotator_id
            AND s.known_ids[NEW.position] = NEW.known_pair_id
            AND ((NEW.attempt = 0 AND s.state = 'open' AND (s.exam_id IS NULL OR e.state = 'open'))
                OR (NEW.attempt > 0 AND s.state = 'feedback'))
    ) OR (TG_OP = 'UPDATE' AND (OLD.sitting_id, OLD.known_pair_id, OLD.annotator_id, OLD.attempt, OLD.position,
        OLD.created_at) IS DISTINCT FROM (NEW.sitting_id, NEW.known_pair_id, NEW.annotator_id, NEW.attempt, NEW.position,
        NEW.created_at))
    THEN
        RAISE EXCEPTION 'sitting % does not ask for known pair %', NEW.sitting_id, NEW.known_pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER sitting_grade_is_asked_for BEFORE INSERT OR UPDATE ON judging_sittinggrade
    FOR EACH ROW EXECUTE FUNCTION sitting_grade_is_asked_for();

CREATE FUNCTION known_pair_truth_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.project_id, OLD.query_id, OLD.moment_id, OLD.source, OLD.exam_id, OLD.pair_id)
        IS DISTINCT FROM (NEW.project_id, NEW.query_id, NEW.moment_id, NEW.source, NEW.exam_id, NEW.pair_id)
        OR (OLD.source <> 'lead' AND OLD.truth IS NOT NULL AND NEW.truth IS DISTINCT FROM OLD.truth)
    THEN
        RAISE EXCEPTION 'the truth of known pair % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER known_pair_truth_is_final BEFORE UPDATE ON judging_knownpair
    FOR EACH ROW EXECUTE FUNCTION known_pair_truth_is_final();
"""
BACKWARD = """
DROP TRIGGER known_pair_truth_is_final ON judging_knownpair;
DROP FUNCTION known_pair_truth_is_final();
DROP TRIGGER sitting_grade_is_asked_for ON judging_sittinggrade;
DROP FUNCTION sitting_grade_is_asked_for();
DROP TRIGGER sitting_grade_is_kept ON judging_sittinggrade;
DROP TRIGGER hours_correction_is_kept ON judging_hourscorrection;
DROP TRIGGER pay_rate_is_kept ON judging_payrate;
DROP TRIGGER gold_grade_is_kept ON judging_goldgrade;
DROP FUNCTION row_is_kept();
DROP TRIGGER gold_grade_is_asked_for ON judging_goldgrade;
DROP FUNCTION gold_grade_is_asked_for();
CREATE OR REPLACE FUNCTION assignment_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.batch_id, OLD.annotator_id, OLD.round, OLD.seat, OLD.pair_ids)
        IS DISTINCT FROM (NEW.uuid, NEW.batch_id, NEW.annotator_id, NEW.round, NEW.seat, NEW.pair_ids)
        OR (OLD.state <> 'open' AND NEW.state <> OLD.state)
    THEN
        RAISE EXCEPTION 'assignment % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER assignment_stays ON judging_assignment;
CREATE TRIGGER assignment_stays BEFORE UPDATE OF uuid, batch_id, annotator_id, round, seat, pair_ids, state
    ON judging_assignment FOR EACH ROW EXECUTE FUNCTION assignment_stays();
DROP TRIGGER assignment_is_of_the_qualified ON judging_assignment;
DROP FUNCTION assignment_is_of_the_qualified();
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0009_life_of_an_annotator"), ("annotation", "0008_annotators_have_a_standing")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
