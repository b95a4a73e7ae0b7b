-- A project has a corpus by the time it is committed.
CREATE FUNCTION project_has_a_corpus() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM accounts_project WHERE id = NEW.id)
        AND NOT EXISTS (SELECT FROM annotation_projectcorpus WHERE project_id = NEW.id) THEN
        RAISE EXCEPTION 'project % has no corpus', NEW.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER project_has_a_corpus AFTER INSERT ON accounts_project
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION project_has_a_corpus();
