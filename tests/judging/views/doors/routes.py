"""Every route and for whom it is. A new one is a line of its area's list."""

Door = tuple[str, str, frozenset[str], str]  # name, what the URL names, for whom, method
ANNOTATOR, LEAD, STAFF = frozenset({"annotator"}), frozenset({"lead"}), frozenset({"lead", "admin"})
ADMIN = frozenset({"admin"})
EVERYONE = STAFF | ANNOTATOR
RUNNERS = STAFF | {"participant"}

CORPUS: list[Door] = [
    ("annotation:corpus", "project", STAFF, "get"),
    ("annotation:captions", "project", STAFF, "get"),
    ("annotation:captions-rewrite", "project", STAFF, "post"),
    ("annotation:caption-decide", "project", STAFF, "post"),
    ("annotation:caption-undo", "project", STAFF, "post"),
    ("annotation:train-sets", "project", STAFF, "get"),
    ("annotation:train-set-start", "project", STAFF, "post"),
    ("annotation:train-set-discard", "train_set", STAFF, "get"),
    ("annotation:train-set-json", "train_set", STAFF, "get"),
    ("annotation:train-set-parquet", "train_set", STAFF, "get"),
    ("annotation:splits", "project", STAFF, "get"),
    ("annotation:queries-draw", "project", STAFF, "post"),
    ("annotation:statistics", "project", STAFF, "get"),
    ("annotation:statistics-compute", "project", STAFF, "post"),
    ("annotation:statistics-csv", "project", STAFF, "get"),
    ("annotation:histograms-csv", "project", STAFF, "get"),
]
DESK: list[Door] = [
    ("judging:desk", "project", ANNOTATOR, "get"),
    ("judging:assignment-take", "project", ANNOTATOR, "post"),
    ("judging:pair-next", "project", ANNOTATOR, "get"),
    ("judging:last-look", "project", ANNOTATOR, "get"),
    ("judging:assignment-finish", "project", ANNOTATOR, "post"),
    ("judging:assignment-return", "project", ANNOTATOR, "post"),
    ("judging:heartbeat", "project", ANNOTATOR, "post"),
    ("judging:leave", "project", ANNOTATOR, "post"),
    ("judging:own-grades", "project", ANNOTATOR, "get"),
    ("judging:guideline", "project", EVERYONE, "get"),
]
QUERIES: list[Door] = [
    ("judging:overview", "project", STAFF, "get"),
    ("judging:queries", "project", STAFF, "get"),
    ("judging:batches-open", "project", STAFF, "post"),
    ("judging:query-sets", "project", STAFF, "get"),
    ("judging:query-set-create", "project", LEAD, "post"),
    ("judging:query-set", "set", STAFF, "get"),
    ("judging:query-set-change", "set", LEAD, "post"),
    ("judging:caption-edits", "project", STAFF, "get"),
    ("judging:caption-edits-said", "project", STAFF, "get"),
    ("judging:caption-edits-csv", "project", STAFF, "get"),
    ("judging:candidates-rank", "project", STAFF, "post"),
    ("judging:candidates-csv", "project", STAFF, "get"),
]
POOLS: list[Door] = [
    ("pools:pools", "project", STAFF, "get"),
    ("pools:pool-create", "project", STAFF, "post"),
    ("pools:pool", "pooling", STAFF, "get"),
    ("pools:pool-open", "pooling", STAFF, "post"),
    ("pools:pool-discard", "pooling", STAFF, "post"),
    ("pools:pool-csv", "pooling", STAFF, "get"),
    ("pools:pool-overlap-csv", "pooling", STAFF, "get"),
]
REVIEW: list[Door] = [
    ("judging:review-queue", "project", STAFF, "get"),
    ("judging:flags", "project", STAFF, "get"),
    ("judging:flags-csv", "project", STAFF, "get"),
    ("judging:dropped", "project", STAFF, "get"),
    ("judging:dropped-csv", "project", STAFF, "get"),
    ("judging:withdrawn", "project", STAFF, "get"),
    ("judging:withdrawn-csv", "project", STAFF, "get"),
    ("judging:flag-dismiss", "flagged", LEAD, "post"),
    ("judging:pair-recut", "flagged", LEAD, "post"),
    ("judging:pair-bounds", "flagged", LEAD, "post"),
    ("judging:pair-batch", "pair", STAFF, "get"),
    ("judging:pair-withdraw", "pair", LEAD, "post"),
    ("judging:pair-restore", "withdrawn", LEAD, "post"),
    ("judging:batch", "batch", STAFF, "get"),
    ("judging:batch-review", "batch", LEAD, "post"),
    ("judging:review-undo", "closed", LEAD, "post"),
    ("judging:reviews-preview", "project", LEAD, "get"),
    ("judging:reviews-accept", "project", LEAD, "post"),
]
RELEASES: list[Door] = [
    ("judging:releases", "project", STAFF, "get"),
    ("judging:release-create", "project", LEAD, "post"),
    ("judging:release-download", "release", STAFF, "get"),
    ("judging:judgments-csv", "project", STAFF, "get"),
    ("judging:release-words", "project", STAFF, "get"),
    ("judging:release-words-save", "project", LEAD, "post"),
    ("judging:release", "release", STAFF, "get"),
    ("judging:release-retry", "release", LEAD, "post"),
    ("judging:release-changes", "release", STAFF, "get"),
    ("judging:release-changes-csv", "release", STAFF, "get"),
    ("judging:audit", "project", STAFF, "get"),
    ("judging:audit-csv", "project", STAFF, "get"),
    ("judging:audit-versions", "project", STAFF, "get"),
    ("judging:audit-versions-csv", "project", STAFF, "get"),
    ("models_runner:runs", "project", RUNNERS, "get"),
    ("models_runner:export", "project", RUNNERS, "get"),
    ("models_runner:run-new", "project", RUNNERS, "get"),
    ("models_runner:run", "run", STAFF, "get"),
    ("models_runner:compare", "project", RUNNERS, "get"),
    ("models_runner:case", "open_project", RUNNERS, "get"),
    ("models_runner:economy", "project", STAFF, "get"),
    ("models_runner:economy-study", "project", STAFF, "post"),
    ("models_runner:economy-csv", "studied", STAFF, "get"),
    ("models_runner:features", "project", ADMIN, "get"),
    ("models_runner:feature-set-create", "filmed", ADMIN, "post"),
    ("models_runner:feature-set-register", "filmed", ADMIN, "post"),
    ("models_runner:feature-set-cancel", "features", ADMIN, "get"),
    ("models_runner:feature-set-resume", "features", ADMIN, "get"),
    ("models_runner:feature-set-delete", "features", ADMIN, "get"),
    ("models_runner:files", "project", RUNNERS, "get"),
    ("models_runner:file", "release", RUNNERS, "get"),
    ("models_runner:settings", "project", LEAD, "get"),
    ("models_runner:run-create", "project", STAFF, "post"),
    ("models_runner:run-withdraw", "run", LEAD, "post"),
    ("models_runner:run-download", "run", STAFF, "get"),
]
BENCHMARKS: list[Door] = [
    ("models_runner:experiments", "project", STAFF, "get"),
    ("models_runner:search", "project", STAFF, "get"),
    ("models_runner:experiment-new", "project", ADMIN, "get"),
    ("models_runner:experiment", "experiment", STAFF, "get"),
    ("models_runner:experiment-delete", "experiment", ADMIN, "get"),
    ("models_runner:tables", "project", STAFF, "get"),
    ("models_runner:tables-export", "project", STAFF, "get"),
    ("models_runner:training", "training", STAFF, "get"),
    ("models_runner:training-cancel", "training", ADMIN, "post"),
    ("models_runner:training-resume", "training", ADMIN, "post"),
]
PEOPLE: list[Door] = [
    ("judging:leave-project", "project", ANNOTATOR, "get"),
    ("judging:people", "project", LEAD, "get"),
    ("judging:invitation-create", "project", LEAD, "post"),
    ("judging:registration-switch", "project", LEAD, "post"),
    ("judging:invitation-place", "invitation", LEAD, "get"),
    ("judging:invitation-renew", "invitation", LEAD, "post"),
    ("judging:invitation-revoke", "invitation", LEAD, "post"),
    ("judging:person", "member", LEAD, "get"),
    ("judging:person-standing", "member", LEAD, "post"),
    ("judging:person-password", "member", LEAD, "post"),
    ("judging:person-erase", "member", LEAD, "get"),
]
QUALITY: list[Door] = [
    ("judging:agreement", "project", STAFF, "get"),
    ("judging:agreement-compute", "project", STAFF, "post"),
    ("judging:agreement-csv", "project", STAFF, "get"),
    ("judging:agreement-of", "member", STAFF, "get"),
    ("judging:alerts", "project", STAFF, "get"),
    ("judging:alert", "alert", STAFF, "get"),
    ("judging:alert-see", "alert", LEAD, "post"),
]
COVERAGE: list[Door] = [
    ("judging:coverage", "project", STAFF, "get"),
    ("judging:coverage-create", "project", STAFF, "post"),
    ("judging:coverage-study", "study", STAFF, "get"),
    ("judging:coverage-open", "study", STAFF, "post"),
    ("judging:coverage-discard", "study", STAFF, "post"),
    ("judging:coverage-svg", "study", STAFF, "get"),
    ("judging:coverage-csv", "study", STAFF, "get"),
]
DRAWN: list[Door] = [
    ("judging:figures", "project", STAFF, "get"),
    ("judging:tables", "project", STAFF, "get"),
    ("judging:tables-csv", "project", STAFF, "get"),
    ("judging:tables-tex", "project", STAFF, "get"),
    ("judging:figure", "grades", STAFF, "get"),
    ("judging:figure", "partners", LEAD, "get"),
    ("judging:figure-svg", "partners", LEAD, "get"),
    ("judging:figure-csv", "partners", LEAD, "get"),
]
EXAMS: list[Door] = [
    ("judging:exams", "project", STAFF, "get"),
    ("judging:exam-create", "project", LEAD, "post"),
    ("judging:exam", "exam", STAFF, "get"),
    ("judging:exam-close", "exam", LEAD, "post"),
    ("judging:exam-csv", "exam", STAFF, "get"),
    ("judging:known-exam", "known", STAFF, "get"),
    ("judging:known-explain", "known", LEAD, "post"),
    ("judging:known-retire", "known", LEAD, "post"),
    ("judging:sitting-start", "project", ANNOTATOR, "post"),
]
SETTINGS: list[Door] = [
    ("judging:guideline-confirm", "project", ANNOTATOR, "post"),
    ("judging:guideline-versions", "project", EVERYONE, "get"),
    ("judging:guideline-version", "guideline", EVERYONE, "get"),
    ("judging:guideline-edit", "project", LEAD, "get"),
    ("judging:guideline-save", "project", LEAD, "post"),
    ("judging:guideline-preview", "project", LEAD, "post"),
    ("judging:guideline-review", "project", LEAD, "get"),
    ("judging:guideline-publish", "project", LEAD, "post"),
    ("judging:guideline-discard", "project", LEAD, "post"),
    ("judging:guideline-examples", "project", LEAD, "get"),
    ("judging:guideline-example-set", "project", LEAD, "post"),
    ("judging:guideline-example-remove", "project", LEAD, "post"),
    ("judging:training", "project", STAFF, "get"),
    ("judging:training-draw", "project", LEAD, "post"),
    ("judging:training-pair", "drawn", STAFF, "get"),
    ("judging:training-pair-grade", "drawn", LEAD, "post"),
    ("judging:training-pair-move", "drawn", LEAD, "post"),
    ("judging:training-pair-remove", "drawn", LEAD, "post"),
    ("judging:gate", "project", ANNOTATOR, "get"),
    ("judging:gate-start", "project", ANNOTATOR, "post"),
    ("judging:gate-answer", "project", ANNOTATOR, "post"),
    ("judging:gate-questions", "project", STAFF, "get"),
    ("judging:gate-question-new", "project", LEAD, "get"),
    ("judging:gate-question-create", "project", LEAD, "post"),
    ("judging:gate-preview", "project", STAFF, "get"),
    ("judging:gate-set", "project", LEAD, "post"),
    ("judging:gate-question", "question", LEAD, "get"),
    ("judging:gate-question-change", "question", LEAD, "post"),
    ("judging:gate-question-retire", "question", LEAD, "post"),
    ("judging:policy", "project", STAFF, "get"),
    ("judging:policy-publish", "project", LEAD, "post"),
]
PAY: list[Door] = [
    ("judging:pay", "project", LEAD, "get"),
    ("judging:pay-csv", "project", LEAD, "get"),
    ("judging:pay-rate-set", "project", LEAD, "post"),
    ("judging:hours-correct", "project", LEAD, "post"),
    ("judging:pay-person", "member", LEAD, "get"),
    ("judging:pay-person-csv", "member", LEAD, "get"),
    ("judging:forecast", "project", LEAD, "get"),
    ("judging:hours", "project", ANNOTATOR, "get"),
    ("judging:hours-csv", "project", ANNOTATOR, "get"),
]
MORE_ARGS = {
    "models_runner:export": ["csv"],
    "models_runner:tables-export": ["csv"],
    "models_runner:file": ["video_corpus.json"],
}
DOORS = [*EXAMS, *CORPUS, *DESK, *QUERIES, *POOLS, *COVERAGE, *REVIEW, *RELEASES, *PEOPLE, *QUALITY, *DRAWN]
DOORS += [*SETTINGS, *PAY, *BENCHMARKS]
HELD: list[Door] = [  # only who holds the pair's assignment learns that it exists
    ("judging:pair", "pair", ANNOTATOR, "get"),
    ("judging:judgment-create", "pair", ANNOTATOR, "post"),
    ("judging:flag-set", "pair", ANNOTATOR, "post"),
    ("judging:flag-withdraw", "pair", ANNOTATOR, "post"),
    ("judging:sitting", "sitting", ANNOTATOR, "get"),
    ("judging:sitting-look", "sitting", ANNOTATOR, "get"),
    ("judging:sitting-hand-in", "sitting", ANNOTATOR, "post"),
    ("judging:known-pair", "known", ANNOTATOR, "get"),
    ("judging:known-grade", "known", ANNOTATOR, "post"),
]
OPEN = {
    "home",
    "login",
    "logout",
    "help",
    "healthz",
    "readyz",
    "metrics",
    "judging:preview",
    "judging:preview-clip",
}  # tried elsewhere
OPEN |= {"account", "password-change", "password-forgotten", "password-choose", "judging:invitation", "judging:join"}
OPEN |= {"login-code", "totp", "totp-begin", "totp-codes", "totp-off"}  # tests/config/test_second_step
OPEN |= {"person-export"}  # tests/judging/services/test_person_data
OPEN |= {"session-end", "sessions-end"}  # tests/config/test_browser_sessions
OPEN |= {"tokens", "token-revoke", "api-schema", "api-docs"}
OPEN |= {
    f"annotation:{name}" for name in ("corpora", "import-new")
}  # of no project: tests/annotation/test_import_views
OPEN |= {f"judging:judgment-import{name}" for name in ("s", "-new", "", "-confirm", "-discard", "-report")}
# those above are of no project, too: tests/judging/views/test_judgment_imports
OPEN |= {"models_runner:video"}  # of no role but staff: tests/models_runner/test_searching
OPEN |= {"models_runner:training-file"}  # it takes files: tests/models_runner/test_experiment_pages
OPEN |= {"judging:project-new"}  # of no project: tests/judging/views/test_project_new
OPEN |= {f"annotation:import{name}" for name in ("", "-confirm", "-discard", "-report")}
