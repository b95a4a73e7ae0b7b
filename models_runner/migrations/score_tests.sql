-- A test compares two runs by one measure.
CREATE FUNCTION score_test_is_of_one_measure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (
        SELECT count(DISTINCT (score.metric, score.convention, score.gain, scoring.release_id, run.split))
        FROM models_runner_score score
        JOIN models_runner_scoring scoring ON scoring.id = score.scoring_id
        JOIN models_runner_run run ON run.id = scoring.run_id
        WHERE score.id IN (NEW.one_id, NEW.other_id)
    ) > 1 THEN
        RAISE EXCEPTION 'scores of different measures, splits or releases are not tested against each other'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER score_test_is_of_one_measure BEFORE INSERT OR UPDATE OF one_id, other_id ON models_runner_scoretest
    FOR EACH ROW EXECUTE FUNCTION score_test_is_of_one_measure();
