-- ``awaits_review`` follows a batch and its review.
CREATE FUNCTION batch_awaits_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.awaits_review := NEW.state = 'done' AND NEW.number = 1
        AND NOT EXISTS (SELECT FROM judging_batchreview WHERE batch_id = NEW.id)
        AND NOT EXISTS (SELECT FROM annotation_query WHERE id = NEW.query_id AND is_placeholder);
    RETURN NEW;
END $$;
CREATE TRIGGER batch_awaits_review BEFORE INSERT OR UPDATE OF state, number, awaits_review ON judging_batch
    FOR EACH ROW EXECUTE FUNCTION batch_awaits_review();
CREATE FUNCTION review_ends_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE judging_batch SET awaits_review = (TG_OP = 'DELETE') WHERE id = COALESCE(NEW.batch_id, OLD.batch_id);
    RETURN NULL;
END $$;
CREATE TRIGGER review_ends_waiting AFTER INSERT OR DELETE ON judging_batchreview FOR EACH ROW
    EXECUTE FUNCTION review_ends_waiting();

-- Pairs, batches and judgments are counted as they change, in the same transaction.
CREATE FUNCTION pairs_are_tallied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO judging_tally (project_id, what, n)
        SELECT batch.project_id, concat_ws(':', 'pair', pair.state, pair.relevance), count(*)
        FROM new_rows pair JOIN judging_batch batch ON batch.id = pair.batch_id GROUP BY 1, 2;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO judging_tally (project_id, what, n)
        SELECT batch.project_id, concat_ws(':', 'pair', pair.state, pair.relevance), -count(*)
        FROM old_rows pair JOIN judging_batch batch ON batch.id = pair.batch_id GROUP BY 1, 2;
    ELSE
        INSERT INTO judging_tally (project_id, what, n)
        SELECT batch.project_id, concat_ws(':', 'pair', pair.state, pair.relevance), sum(pair.n)
        FROM (SELECT batch_id, state, relevance, 1 AS n FROM new_rows
            UNION ALL SELECT batch_id, state, relevance, -1 FROM old_rows) pair
        JOIN judging_batch batch ON batch.id = pair.batch_id GROUP BY 1, 2 HAVING sum(pair.n) <> 0;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER pairs_added_are_tallied AFTER INSERT ON judging_pair REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION pairs_are_tallied();
CREATE TRIGGER pairs_changed_are_tallied AFTER UPDATE ON judging_pair
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION pairs_are_tallied();
CREATE TRIGGER pairs_deleted_are_tallied AFTER DELETE ON judging_pair REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION pairs_are_tallied();
CREATE FUNCTION batch_is_tallied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO judging_tally (project_id, what, n)
        VALUES (OLD.project_id, concat_ws(':', 'batch', OLD.number, OLD.state, OLD.round), -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO judging_tally (project_id, what, n)
        VALUES (NEW.project_id, concat_ws(':', 'batch', NEW.number, NEW.state, NEW.round), 1);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER batch_added_or_deleted_is_tallied AFTER INSERT OR DELETE ON judging_batch FOR EACH ROW
    EXECUTE FUNCTION batch_is_tallied();
CREATE TRIGGER batch_changed_is_tallied AFTER UPDATE OF number, state, round ON judging_batch FOR EACH ROW
    WHEN ((((old.number IS DISTINCT FROM new.number) OR ((old.state)::text IS DISTINCT FROM (new.state)::text)) OR (old.round IS DISTINCT FROM new.round)))
    EXECUTE FUNCTION batch_is_tallied();
CREATE FUNCTION judgments_are_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO judging_judgmentday (project_id, annotator_id, day, judgments, second_round, simulated, imported)
    SELECT batch.project_id, given.annotator_id,
        (given.created_at AT TIME ZONE coalesce(policy.time_zone, 'UTC'))::date AS day, count(*),
        count(*) FILTER (WHERE given.round = 2), count(*) FILTER (WHERE given.source = 'simulated'),
        count(*) FILTER (WHERE given.source = 'imported')
    FROM new_rows given JOIN judging_pair pair ON pair.id = given.pair_id
    JOIN judging_batch batch ON batch.id = pair.batch_id LEFT JOIN judging_policy policy ON policy.id = given.policy_id
    GROUP BY batch.project_id, given.annotator_id, 3 ORDER BY 1, 2, 3
    ON CONFLICT (project_id, annotator_id, day) DO UPDATE SET
        judgments = judging_judgmentday.judgments + EXCLUDED.judgments,
        second_round = judging_judgmentday.second_round + EXCLUDED.second_round,
        simulated = judging_judgmentday.simulated + EXCLUDED.simulated,
        imported = judging_judgmentday.imported + EXCLUDED.imported;
    RETURN NULL;
END $$;
CREATE TRIGGER judgments_are_counted AFTER INSERT ON judging_judgment REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION judgments_are_counted();
