-- The sample and its rules stay; so does what was answered, though it can be taken back.
CREATE TRIGGER verification_study_is_kept BEFORE UPDATE ON judging_verificationstudy FOR EACH ROW
    WHEN (ROW (OLD.project_id, OLD.round_id, OLD.seed, OLD.n_pairs, OLD.answers_per_pair) IS DISTINCT FROM
        ROW (NEW.project_id, NEW.round_id, NEW.seed, NEW.n_pairs, NEW.answers_per_pair))
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER verification_pair_is_kept BEFORE UPDATE OR DELETE ON judging_verificationpair FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER verification_assignment_is_kept BEFORE UPDATE ON judging_verificationassignment FOR EACH ROW
    WHEN (OLD.undone_at IS NOT NULL
        OR (OLD.answered_at IS NOT NULL AND OLD.answered_at IS DISTINCT FROM NEW.answered_at)
        OR ROW (OLD.pair_id, OLD.verifier_id) IS DISTINCT FROM ROW (NEW.pair_id, NEW.verifier_id))
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER verification_answer_is_kept BEFORE UPDATE OR DELETE ON judging_verificationanswer FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER verification_inspection_is_kept BEFORE UPDATE ON judging_verificationinspection FOR EACH ROW
    WHEN (OLD.decision <> '' OR OLD.pair_id <> NEW.pair_id) EXECUTE FUNCTION row_is_kept();

-- Answers are to the statements as they stand.
CREATE FUNCTION verification_statement_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.study_id ELSE OLD.study_id END;
BEGIN
    PERFORM FROM judging_verificationstudy WHERE id = about FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM judging_verificationanswer answer
            JOIN judging_verificationstatement statement ON statement.id = answer.statement_id
            WHERE statement.study_id = about) THEN
        RAISE EXCEPTION 'the statements of study % have answers', about USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER verification_statement_is_frozen BEFORE INSERT OR UPDATE OR DELETE ON judging_verificationstatement
    FOR EACH ROW EXECUTE FUNCTION verification_statement_is_frozen();

-- A checker of the project answers, who neither wrote nor checked what they see.
CREATE FUNCTION verification_assignment_is_of_a_checker() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about bigint;
BEGIN
    SELECT pair.description_id INTO about
        FROM judging_verificationpair pair JOIN judging_verificationstudy study ON study.id = pair.study_id
        JOIN accounts_membership member ON member.project_id = study.project_id AND member.user_id = NEW.verifier_id
            AND 'checker' = ANY (member.roles)
        WHERE pair.id = NEW.pair_id FOR SHARE OF member;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % does not verify pair %', NEW.verifier_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF EXISTS (SELECT FROM judging_writtenquery query WHERE query.description_id = about
            AND (query.writer_id = NEW.verifier_id OR EXISTS (SELECT FROM judging_querycheck look
                WHERE look.query_id = query.id AND look.checker_id = NEW.verifier_id)))
        OR EXISTS (SELECT FROM judging_verificationinspection look
            WHERE look.pair_id = NEW.pair_id AND look.checker_id = NEW.verifier_id) THEN
        RAISE EXCEPTION 'nobody verifies what they wrote or checked' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER verification_assignment_is_of_a_checker BEFORE INSERT ON judging_verificationassignment
    FOR EACH ROW EXECUTE FUNCTION verification_assignment_is_of_a_checker();

-- Answers are complete, and of no more people than the study asks.
CREATE FUNCTION verification_answers_fit_their_study() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about record;
BEGIN
    SELECT study.* INTO about
        FROM judging_verificationpair pair JOIN judging_verificationstudy study ON study.id = pair.study_id
        WHERE pair.id = NEW.pair_id FOR NO KEY UPDATE OF pair;
    IF (SELECT count(*) FROM judging_verificationanswer WHERE assignment_id = NEW.id)
            <> (SELECT count(*) FROM judging_verificationstatement WHERE study_id = about.id) THEN
        RAISE EXCEPTION 'a statement has no answer' USING ERRCODE = 'integrity_constraint_violation';
    ELSIF (SELECT count(*) FROM judging_verificationassignment other WHERE other.pair_id = NEW.pair_id
            AND other.answered_at IS NOT NULL AND other.undone_at IS NULL AND other.id <> NEW.id)
            >= about.answers_per_pair THEN
        RAISE EXCEPTION 'the pair has its answers' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER verification_answers_fit_their_study BEFORE INSERT OR UPDATE OF answered_at
    ON judging_verificationassignment FOR EACH ROW WHEN (NEW.answered_at IS NOT NULL)
    EXECUTE FUNCTION verification_answers_fit_their_study();

CREATE FUNCTION verification_answer_is_of_its_study() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM judging_verificationassignment assignment
        JOIN judging_verificationpair pair ON pair.id = assignment.pair_id
        JOIN judging_verificationstudy study ON study.id = pair.study_id
        JOIN judging_verificationstatement statement ON statement.study_id = study.id
        WHERE assignment.id = NEW.assignment_id AND statement.id = NEW.statement_id
            AND assignment.answered_at IS NULL
        FOR SHARE OF assignment, study;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'assignment % takes no answer to statement %', NEW.assignment_id, NEW.statement_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER verification_answer_is_of_its_study BEFORE INSERT ON judging_verificationanswer FOR EACH ROW
    EXECUTE FUNCTION verification_answer_is_of_its_study();

-- A checker of the project inspects, who neither wrote nor verified what they see, within the video.
CREATE FUNCTION verification_inspection_is_of_a_checker() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    about record;
BEGIN
    SELECT pair.description_id, video.duration_s INTO about
        FROM judging_verificationpair pair JOIN judging_verificationstudy study ON study.id = pair.study_id
        JOIN annotation_description description ON description.id = pair.description_id
        JOIN annotation_moment moment ON moment.id = description.moment_id
        JOIN annotation_video video ON video.id = moment.video_id
        JOIN accounts_membership member ON member.project_id = study.project_id AND member.user_id = NEW.checker_id
            AND 'checker' = ANY (member.roles)
        WHERE pair.id = NEW.pair_id FOR SHARE OF member;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % does not inspect pair %', NEW.checker_id, NEW.pair_id
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF EXISTS (SELECT FROM judging_writtenquery WHERE description_id = about.description_id
            AND writer_id = NEW.checker_id)
        OR EXISTS (SELECT FROM judging_verificationassignment
            WHERE pair_id = NEW.pair_id AND verifier_id = NEW.checker_id AND answered_at IS NOT NULL) THEN
        RAISE EXCEPTION 'nobody inspects what they wrote or verified' USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.decision = 'correct' AND NEW.end_s > about.duration_s THEN
        RAISE EXCEPTION 'the inspected moment ends after its video' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER verification_inspection_is_of_a_checker BEFORE INSERT OR UPDATE ON judging_verificationinspection
    FOR EACH ROW WHEN (NEW.checker_id IS NOT NULL) EXECUTE FUNCTION verification_inspection_is_of_a_checker();
