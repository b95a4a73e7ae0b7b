-- Only qualified annotators are handed batches. FOR SHARE: whoever is being suspended at the same instant waits, or is
-- handed nothing.
CREATE FUNCTION assignment_is_of_the_qualified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_membership member WHERE member.project_id = NEW.project_id
        AND member.user_id = NEW.annotator_id AND member.role = 'annotator' AND member.standing = 'qualified'
        FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'annotator % is not qualified in project %', NEW.annotator_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assignment_is_of_the_qualified BEFORE INSERT ON judging_assignment FOR EACH ROW
    EXECUTE FUNCTION assignment_is_of_the_qualified();

-- What an assignment asks for, and of whom, never changes.
CREATE FUNCTION assignment_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.batch_id, OLD.annotator_id, OLD.round, OLD.seat, OLD.pair_ids, OLD.gold_ids)
        IS DISTINCT FROM (NEW.uuid, NEW.batch_id, NEW.annotator_id, NEW.round, NEW.seat, NEW.pair_ids, NEW.gold_ids)
        OR (OLD.state <> 'open' AND NEW.state <> OLD.state)
    THEN
        RAISE EXCEPTION 'assignment % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assignment_stays
    BEFORE UPDATE OF uuid, batch_id, annotator_id, round, seat, pair_ids, gold_ids, state ON judging_assignment
    FOR EACH ROW EXECUTE FUNCTION assignment_stays();

-- A judgment is given by the holder of an open assignment, at its round and seat, on a pair of it that is not decided.
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
CREATE TRIGGER judgment_is_asked_for BEFORE INSERT ON judging_judgment FOR EACH ROW
    EXECUTE FUNCTION judgment_is_asked_for();

-- Of a judgment only the grade, its revision, its comment, its time and the versions in force may change, and only while
-- its assignment is open.
CREATE FUNCTION judgment_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.pair_id, OLD.assignment_id, OLD.annotator_id, OLD.occurrence, OLD.round, OLD.seat, OLD.position,
        OLD.previous_grade, OLD.source, OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.pair_id, NEW.assignment_id,
        NEW.annotator_id, NEW.occurrence, NEW.round, NEW.seat, NEW.position, NEW.previous_grade, NEW.source,
        NEW.created_at)
    THEN
        RAISE EXCEPTION 'judgment % stays where it was given', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (OLD.grade, OLD.revision, OLD.comment, OLD.guideline_id, OLD.policy_id, OLD.active_ms)
        IS DISTINCT FROM (NEW.grade, NEW.revision, NEW.comment, NEW.guideline_id, NEW.policy_id, NEW.active_ms)
        AND NOT EXISTS (SELECT 1 FROM judging_assignment WHERE id = OLD.assignment_id AND state = 'open')
    THEN
        RAISE EXCEPTION 'judgment % is final', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER judgment_is_final BEFORE UPDATE ON judging_judgment FOR EACH ROW EXECUTE FUNCTION judgment_is_final();

-- Judgments and their earlier grades are never deleted.
CREATE FUNCTION judgment_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'judgments are never deleted' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER judgment_is_kept BEFORE DELETE ON judging_judgment FOR EACH ROW EXECUTE FUNCTION judgment_is_kept();
CREATE FUNCTION judgment_change_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'earlier grades are kept' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER judgment_change_is_kept BEFORE DELETE OR UPDATE ON judging_judgmentchange FOR EACH ROW
    EXECUTE FUNCTION judgment_change_is_kept();

-- A flag is raised likewise, is final with its assignment, and is never deleted.
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
CREATE TRIGGER flag_is_asked_for BEFORE INSERT OR UPDATE ON judging_flag FOR EACH ROW
    EXECUTE FUNCTION flag_is_asked_for();
CREATE FUNCTION flag_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'flags are taken back, not deleted' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER flag_is_kept BEFORE DELETE ON judging_flag FOR EACH ROW EXECUTE FUNCTION flag_is_kept();

-- Gold stays with its assignment.
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
CREATE TRIGGER gold_grade_is_asked_for BEFORE INSERT OR UPDATE ON judging_goldgrade FOR EACH ROW
    EXECUTE FUNCTION gold_grade_is_asked_for();
