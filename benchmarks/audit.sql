-- One in a thousand is a release, all of the first tenth; one in 100,000 says "needle". Everything else is a review.
INSERT INTO core_auditevent (uuid, project_id, actor_id, action, subject, data, created_at)
SELECT gen_random_uuid(), p.id, CASE WHEN i %% 3 = 0 THEN null ELSE l.user_id END,
    CASE WHEN i < %(events)s / 10 AND i %% 100 = 0 THEN 'release.create'
        WHEN i %% 4 = 0 THEN 'batch.extend' ELSE 'batch.close' END,
    gen_random_uuid(),
    jsonb_build_object('query', 'A person ' || i || CASE WHEN i %% 100000 = 7 THEN ' finds a needle' ELSE ' walks' END,
        'suggestion', 'close', 'reason', 'The mean of the last five is ' || i %% 5, 'version', i),
    now() - %(days)s * interval '1 day' * (1 - i / (%(events)s + 1.0))
FROM generate_series(1, %(events)s) AS i, accounts_project p, accounts_membership l
WHERE p.uuid = %(project)s AND l.project_id = p.id AND 'lead' = ANY (l.roles)
