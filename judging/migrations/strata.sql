-- Strata are among the rules of a project; batches 1 and 2 keep those they were drawn from, pooled ones have none.

CREATE OR REPLACE FUNCTION project_rules_are_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.top_grade, OLD.judges, OLD.max_spread, OLD.max_rounds, OLD.batch_size, OLD.has_second_batch, OLD.strata)
        IS DISTINCT FROM
        (NEW.top_grade, NEW.judges, NEW.max_spread, NEW.max_rounds, NEW.batch_size, NEW.has_second_batch, NEW.strata)
        AND (EXISTS (SELECT FROM judging_batch WHERE project_id = OLD.id)
            OR EXISTS (SELECT FROM judging_knownpair WHERE project_id = OLD.id AND truth IS NOT NULL)
            OR EXISTS (SELECT FROM judging_exam WHERE project_id = OLD.id))
    THEN
        RAISE EXCEPTION 'project % has batches, known pairs or an exam; its rules are fixed', OLD.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER project_rules_are_fixed ON accounts_project;
CREATE TRIGGER project_rules_are_fixed
    BEFORE UPDATE OF top_grade, judges, max_spread, max_rounds, batch_size, has_second_batch, strata ON accounts_project
    FOR EACH ROW EXECUTE FUNCTION project_rules_are_fixed();

CREATE OR REPLACE FUNCTION batch_has_the_rules_of_its_project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_project p WHERE p.id = NEW.project_id AND p.top_grade = NEW.top_grade
        AND p.judges = NEW.judges AND p.max_spread = NEW.max_spread AND p.max_rounds = NEW.max_rounds
        AND NEW.strata = CASE WHEN NEW.number > 2 THEN '{}'::smallint[] ELSE p.strata END
        AND (p.has_second_batch OR NEW.number <> 2) FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'a batch has other rules than project %', NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER batch_has_the_rules_of_its_project ON judging_batch;
CREATE TRIGGER batch_has_the_rules_of_its_project
    BEFORE INSERT OR UPDATE OF project_id, number, top_grade, judges, max_spread, max_rounds, strata ON judging_batch
    FOR EACH ROW EXECUTE FUNCTION batch_has_the_rules_of_its_project();
