-- The functions of triggers, with plain names of tables and columns; they refuse what they refused before.

CREATE OR REPLACE FUNCTION assignment_is_of_the_qualified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_membership member WHERE member.project_id = NEW.project_id
        AND member.user_id = NEW.annotator_id AND member.role = 'annotator' AND member.status = 'qualified'
        FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'annotator % is not qualified in project %', NEW.annotator_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION assignment_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.batch_id, OLD.annotator_id, OLD.round, OLD.slot, OLD.pair_ids, OLD.gold_ids)
        IS DISTINCT FROM (NEW.uuid, NEW.batch_id, NEW.annotator_id, NEW.round, NEW.slot, NEW.pair_ids, NEW.gold_ids)
        OR (OLD.state <> 'open' AND NEW.state <> OLD.state)
    THEN
        RAISE EXCEPTION 'assignment % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION judgment_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.source <> 'imported' AND NOT EXISTS (
        SELECT 1 FROM judging_assignment a JOIN judging_pair p ON p.id = NEW.pair_id
        WHERE a.id = NEW.assignment_id AND a.state = 'open' AND a.annotator_id = NEW.annotator_id
            AND a.round = NEW.round AND a.slot = NEW.slot AND a.pair_ids[NEW.position] = NEW.pair_id
            AND p.state = CASE NEW.round WHEN 1 THEN 'open' ELSE 'escalated' END
    ) THEN
        RAISE EXCEPTION 'assignment % does not ask for pair %', NEW.assignment_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION judgment_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.uuid, OLD.pair_id, OLD.assignment_id, OLD.annotator_id, OLD.occurrence, OLD.round, OLD.slot, OLD.position,
        OLD.previous_grade, OLD.source, OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.pair_id, NEW.assignment_id,
        NEW.annotator_id, NEW.occurrence, NEW.round, NEW.slot, NEW.position, NEW.previous_grade, NEW.source,
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

CREATE OR REPLACE FUNCTION exam_grade_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM judging_examattempt s LEFT JOIN judging_exam e ON e.id = s.exam_id
        WHERE s.id = NEW.exam_attempt_id AND s.annotator_id = NEW.annotator_id
            AND s.known_ids[NEW.position] = NEW.known_pair_id
            AND ((NEW.try_number = 0 AND s.state = 'open' AND (s.exam_id IS NULL OR e.state = 'open'))
                OR (NEW.try_number > 0 AND s.state = 'feedback'))
    ) OR (TG_OP = 'UPDATE' AND (OLD.exam_attempt_id, OLD.known_pair_id, OLD.annotator_id, OLD.try_number, OLD.position,
        OLD.created_at) IS DISTINCT FROM (NEW.exam_attempt_id, NEW.known_pair_id, NEW.annotator_id, NEW.try_number, NEW.position,
        NEW.created_at))
    THEN
        RAISE EXCEPTION 'exam attempt % does not ask for known pair %', NEW.exam_attempt_id, NEW.known_pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION known_pair_anchor_is_beforehand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (TG_OP = 'INSERT' AND NEW.anchor IS NULL)
        OR (TG_OP = 'UPDATE' AND NEW.anchor IS NOT DISTINCT FROM OLD.anchor)
    THEN
        RETURN NEW;
    END IF;
    PERFORM 1 FROM judging_exam WHERE id = NEW.exam_id FOR SHARE;
    PERFORM 1 FROM judging_examattempt WHERE exam_id = NEW.exam_id ORDER BY id FOR SHARE;
    IF NOT EXISTS (SELECT 1 FROM judging_exam WHERE id = NEW.exam_id AND kind = 'cohort' AND state = 'open')
        OR EXISTS (SELECT 1 FROM judging_examattempt WHERE exam_id = NEW.exam_id AND state <> 'open')
    THEN
        RAISE EXCEPTION 'the anchor of known pair % comes before anybody hands in', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION screening_attempt_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.answered_at IS NOT NULL OR (OLD.uuid, OLD.project_id, OLD.annotator_id, OLD.questions, OLD.passing,
        OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.project_id, NEW.annotator_id, NEW.questions, NEW.passing,
        NEW.created_at)
    THEN
        RAISE EXCEPTION 'screening attempt % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION moment_stays_as_judged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM annotation_candidate candidate JOIN judging_pair pair ON pair.candidate_id = candidate.id
            JOIN judging_judgment given ON given.pair_id = pair.id WHERE candidate.moment_id = OLD.id)
        OR EXISTS (SELECT FROM judging_knownpair known JOIN judging_examgrade given ON given.known_pair_id = known.id
            WHERE known.moment_id = OLD.id)
    THEN
        RAISE EXCEPTION 'moment % stays as it was judged', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
