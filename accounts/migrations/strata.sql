-- Strata of ranks, rows of first, last and sample: from rank 1 on, one right behind the other, together a batch.
CREATE FUNCTION strata_are_possible(strata smallint[], batch_size integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN strata = '{}' THEN true
        WHEN array_ndims(strata) <> 2 OR array_length(strata, 2) <> 3 THEN false
        ELSE (SELECT bool_and(coalesce(strata[row][1] = coalesce(strata[row - 1][2], 0) + 1
                AND strata[row][2] BETWEEN strata[row][1] AND 1000
                AND strata[row][3] BETWEEN 1 AND strata[row][2] - strata[row][1] + 1, false))
                AND sum(strata[row][3]) = batch_size
            FROM generate_series(1, array_length(strata, 1)) AS row)
    END
$$;
