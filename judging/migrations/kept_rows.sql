-- What was decided, answered, paid and released stays.
CREATE FUNCTION row_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are kept as they are', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER flag_answer_is_kept BEFORE DELETE OR UPDATE ON judging_flaganswer FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER gate_attempt_is_kept BEFORE DELETE ON judging_gateattempt FOR EACH ROW EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER gold_grade_is_kept BEFORE DELETE ON judging_goldgrade FOR EACH ROW EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER guideline_is_kept BEFORE DELETE OR UPDATE ON judging_guideline FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER guideline_confirmation_is_kept BEFORE DELETE OR UPDATE ON judging_guidelineconfirmation FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER hours_correction_is_kept BEFORE DELETE OR UPDATE ON judging_hourscorrection FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER pay_rate_is_kept BEFORE DELETE OR UPDATE ON judging_payrate FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER release_ready_is_kept BEFORE DELETE OR UPDATE ON judging_release FOR EACH ROW
    WHEN (OLD.state = 'ready') EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER review_undone_is_kept BEFORE DELETE OR UPDATE ON judging_reviewundone FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER sitting_grade_is_kept BEFORE DELETE ON judging_sittinggrade FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
