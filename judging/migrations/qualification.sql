-- Grades for pairs of known truth are given by whom they are asked of, while they are asked.
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
CREATE TRIGGER sitting_grade_is_asked_for BEFORE INSERT OR UPDATE ON judging_sittinggrade FOR EACH ROW
    EXECUTE FUNCTION sitting_grade_is_asked_for();

-- Their truth is final.
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
CREATE TRIGGER known_pair_truth_is_final BEFORE UPDATE ON judging_knownpair FOR EACH ROW
    EXECUTE FUNCTION known_pair_truth_is_final();

-- An anchor is given or changed only while its exam is open and nobody has handed in. The exam and its attempts are
-- locked, so that of an anchor and a hand-in at the same time one comes first.
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
CREATE TRIGGER known_pair_anchor_is_beforehand BEFORE INSERT OR UPDATE OF anchor ON judging_knownpair FOR EACH ROW
    EXECUTE FUNCTION known_pair_anchor_is_beforehand();

-- What was asked in the screening test stays what was asked.
CREATE FUNCTION gate_attempt_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.answered_at IS NOT NULL OR (OLD.uuid, OLD.project_id, OLD.annotator_id, OLD.asked, OLD.passing,
        OLD.created_at) IS DISTINCT FROM (NEW.uuid, NEW.project_id, NEW.annotator_id, NEW.asked, NEW.passing,
        NEW.created_at)
    THEN
        RAISE EXCEPTION 'gate attempt % stays what it was', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER gate_attempt_stays BEFORE UPDATE ON judging_gateattempt FOR EACH ROW
    EXECUTE FUNCTION gate_attempt_stays();

-- What annotators have confirmed stays what they read.
CREATE FUNCTION guideline_example_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM judging_guidelineconfirmation
        WHERE guideline_id IN (CASE WHEN TG_OP <> 'INSERT' THEN OLD.guideline_id END,
            CASE WHEN TG_OP <> 'DELETE' THEN NEW.guideline_id END))
    THEN
        RAISE EXCEPTION 'examples of a confirmed guideline stay as they are'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guideline_example_is_kept BEFORE INSERT OR DELETE OR UPDATE ON judging_guidelineexample FOR EACH ROW
    EXECUTE FUNCTION guideline_example_is_kept();
