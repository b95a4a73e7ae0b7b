-- A membership has a set of roles, of which an annotator's is the only one.

CREATE OR REPLACE FUNCTION assignment_is_of_the_qualified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_membership member WHERE member.project_id = NEW.project_id
        AND member.user_id = NEW.annotator_id AND 'annotator' = ANY (member.roles) AND member.status = 'qualified'
        FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'annotator % is not qualified in project %', NEW.annotator_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;

-- Who has graded in a project must not see captions or others' grades there, however they come by the role.
CREATE FUNCTION membership_of_staff_has_no_grades() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM judging_judgment given JOIN judging_pair pair ON pair.id = given.pair_id
            JOIN judging_batch batch ON batch.id = pair.batch_id
            WHERE given.annotator_id = NEW.user_id AND batch.project_id = NEW.project_id)
        OR EXISTS (SELECT FROM judging_goldgrade given JOIN judging_assignment held ON held.id = given.assignment_id
            WHERE given.annotator_id = NEW.user_id AND held.project_id = NEW.project_id)
    THEN
        RAISE EXCEPTION 'account % has grades in project % and gets no staff role there', NEW.user_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER membership_of_staff_has_no_grades BEFORE INSERT OR UPDATE OF roles ON accounts_membership
    FOR EACH ROW WHEN (NEW.roles && '{lead,admin}') EXECUTE FUNCTION membership_of_staff_has_no_grades();
