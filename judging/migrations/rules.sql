-- Rules of judging are a project's: fixed by its first judgment, the same in each of its batches, and every grade, slot
-- and relevance is within them.

CREATE FUNCTION project_rules_are_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.top_grade, OLD.judges, OLD.max_spread, OLD.max_rounds, OLD.batch_size, OLD.has_second_batch)
        IS DISTINCT FROM
        (NEW.top_grade, NEW.judges, NEW.max_spread, NEW.max_rounds, NEW.batch_size, NEW.has_second_batch)
        AND (EXISTS (SELECT FROM judging_batch WHERE project_id = OLD.id)
            OR EXISTS (SELECT FROM judging_knownpair WHERE project_id = OLD.id AND truth IS NOT NULL)
            OR EXISTS (SELECT FROM judging_exam WHERE project_id = OLD.id))
    THEN
        RAISE EXCEPTION 'project % has batches, known pairs or an exam; its rules are fixed', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER project_rules_are_fixed
    BEFORE UPDATE OF top_grade, judges, max_spread, max_rounds, batch_size, has_second_batch ON accounts_project
    FOR EACH ROW EXECUTE FUNCTION project_rules_are_fixed();

-- FOR SHARE: who is changing the project's rules at the same instant is waited for, or waits and sees the batch.
CREATE FUNCTION batch_has_the_rules_of_its_project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_project p WHERE p.id = NEW.project_id AND p.top_grade = NEW.top_grade
        AND p.judges = NEW.judges AND p.max_spread = NEW.max_spread AND p.max_rounds = NEW.max_rounds
        AND (p.has_second_batch OR NEW.number <> 2) FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a batch has other rules than project %', NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER batch_has_the_rules_of_its_project
    BEFORE INSERT OR UPDATE OF project_id, number, top_grade, judges, max_spread, max_rounds ON judging_batch
    FOR EACH ROW EXECUTE FUNCTION batch_has_the_rules_of_its_project();

CREATE FUNCTION assignment_slot_is_of_the_round() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM judging_batch batch WHERE batch.id = NEW.batch_id AND NEW.slot <= batch.judges
        AND NEW.round <= batch.max_rounds)
    THEN
        RAISE EXCEPTION 'batch % has no slot % in round %', NEW.batch_id, NEW.slot, NEW.round
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assignment_slot_is_of_the_round BEFORE INSERT ON judging_assignment FOR EACH ROW
    EXECUTE FUNCTION assignment_slot_is_of_the_round();

CREATE OR REPLACE FUNCTION judgment_is_asked_for() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    top smallint;
BEGIN
    IF NEW.source = 'imported' THEN
        SELECT b.top_grade INTO top FROM judging_pair p JOIN judging_batch b ON b.id = p.batch_id
        WHERE p.id = NEW.pair_id AND NEW.slot <= b.judges AND NEW.round <= b.max_rounds;
    ELSE
        SELECT b.top_grade INTO top
        FROM judging_assignment a JOIN judging_pair p ON p.id = NEW.pair_id JOIN judging_batch b ON b.id = p.batch_id
        WHERE a.id = NEW.assignment_id AND a.state = 'open' AND a.annotator_id = NEW.annotator_id
            AND a.round = NEW.round AND a.slot = NEW.slot AND a.pair_ids[NEW.position] = NEW.pair_id
            AND p.state = CASE NEW.round WHEN 1 THEN 'open' ELSE 'escalated' END;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'assignment % does not ask for pair %', NEW.assignment_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.grade > top THEN
        RAISE EXCEPTION 'grade % of pair % is beyond %', NEW.grade, NEW.pair_id, top
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION changed_grade_is_of_the_scale() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM judging_pair p JOIN judging_batch b ON b.id = p.batch_id
        WHERE p.id = NEW.pair_id AND NEW.grade > b.top_grade)
    THEN
        RAISE EXCEPTION 'grade % of pair % is beyond its scale', NEW.grade, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER changed_grade_is_of_the_scale BEFORE UPDATE OF grade ON judging_judgment FOR EACH ROW
    WHEN (NEW.grade > OLD.grade) EXECUTE FUNCTION changed_grade_is_of_the_scale();
CREATE TRIGGER gold_grade_is_of_the_scale BEFORE INSERT OR UPDATE OF grade ON judging_goldgrade FOR EACH ROW
    EXECUTE FUNCTION changed_grade_is_of_the_scale();

CREATE FUNCTION relevance_is_of_the_scale() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM judging_batch b WHERE b.id = NEW.batch_id AND NEW.relevance > b.top_grade) THEN
        RAISE EXCEPTION 'relevance % of pair % is beyond its scale', NEW.relevance, NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER relevance_is_of_the_scale BEFORE INSERT OR UPDATE OF relevance ON judging_pair FOR EACH ROW
    WHEN (NEW.relevance IS NOT NULL) EXECUTE FUNCTION relevance_is_of_the_scale();

CREATE FUNCTION guideline_has_a_level_for_each_grade() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_project p
    WHERE p.id = NEW.project_id AND jsonb_array_length(NEW.levels) = p.top_grade + 1 FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a guideline of project % has not one level for each grade', NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guideline_has_a_level_for_each_grade BEFORE INSERT OR UPDATE OF project_id, levels ON judging_guideline
    FOR EACH ROW EXECUTE FUNCTION guideline_has_a_level_for_each_grade();

CREATE FUNCTION example_grade_is_of_the_scale() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM judging_guideline guideline
        WHERE guideline.id = NEW.guideline_id AND NEW.grade >= jsonb_array_length(guideline.levels))
    THEN
        RAISE EXCEPTION 'the example of grade % is beyond the scale of its guideline', NEW.grade
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER example_grade_is_of_the_scale AFTER INSERT OR UPDATE ON judging_guidelineexample FOR EACH ROW
    EXECUTE FUNCTION example_grade_is_of_the_scale();

CREATE FUNCTION exam_grade_is_of_the_scale() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM judging_knownpair known JOIN accounts_project p ON p.id = known.project_id
        WHERE known.id = NEW.known_pair_id AND NEW.grade > p.top_grade)
    THEN
        RAISE EXCEPTION 'grade % of known pair % is beyond its scale', NEW.grade, NEW.known_pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER exam_grade_is_of_the_scale BEFORE INSERT OR UPDATE OF grade ON judging_examgrade FOR EACH ROW
    EXECUTE FUNCTION exam_grade_is_of_the_scale();

CREATE FUNCTION known_grade_is_of_the_scale() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_project p
    WHERE p.id = NEW.project_id AND greatest(NEW.truth, NEW.anchor) <= p.top_grade FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'truth % or anchor % of known pair % is beyond its scale', NEW.truth, NEW.anchor, NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER known_grade_is_of_the_scale BEFORE INSERT OR UPDATE OF project_id, truth, anchor ON judging_knownpair
    FOR EACH ROW WHEN (NEW.truth IS NOT NULL OR NEW.anchor IS NOT NULL) EXECUTE FUNCTION known_grade_is_of_the_scale();
