"""Every route and for whom it is. A new one is a word in the row of its area, people and method."""

from django.urls import get_resolver

Endpoint = tuple[str, str, frozenset[str], str]  # name, what the URL names, for whom, method
ANNOTATOR, LEAD, STAFF = frozenset({"annotator"}), frozenset({"lead"}), frozenset({"lead", "admin"})
ADMIN = frozenset({"admin"})
WRITER, CHECKER, READERS = frozenset({"writer"}), frozenset({"checker"}), STAFF | {"checker"}
EVERYONE = STAFF | ANNOTATOR
PAID = ANNOTATOR | WRITER | CHECKER
RUNNERS = STAFF | {"participant"}


def page_routes() -> set[str]:
    """Return the names of all routes but those of the API."""
    names = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    for prefix, (_, resolver) in get_resolver().namespace_dict.items():
        names |= {f"{prefix}:{name}" for name in resolver.reverse_dict if isinstance(name, str)}
    return {name for name in names if not name.startswith("api:")}


def area(*rows: tuple[str, str, frozenset[str], str, str]) -> list[Endpoint]:
    """Return the endpoints of rows that name an app, what the URL names, for whom, the method, and routes."""
    return [
        (f"{app}:{route}", what, who, method) for app, what, who, method, routes in rows for route in routes.split()
    ]


CORPUS = area(
    ("annotation", "project", STAFF, "get", "corpus corpus-download captions prompts train-sets splits statistics"),
    ("annotation", "project", STAFF, "get", "statistics-csv histograms-csv proposals"),
    ("annotation", "project", STAFF, "post", "proposal-start proposal-use proposal-cancel proposal-resume"),
    ("annotation", "project", STAFF, "post", "proposal-undo"),
    ("annotation", "project", STAFF, "get", "topics topic-import-new"),
    ("annotation", "project", STAFF, "options", "uploads"),
    ("annotation", "project", STAFF, "post", "subtitles"),
    ("annotation", "project", LEAD, "get", "video-folders"),
    ("annotation", "project", LEAD, "post", "video-folder-start"),
    ("annotation", "video_folder", LEAD, "post", "video-folder-cancel video-folder-resume"),
    ("annotation", "video_upload", STAFF, "options", "upload"),
    ("annotation", "project", STAFF, "post", "captions-rewrite caption-decide caption-correct"),
    ("annotation", "project", STAFF, "post", "caption-undo train-set-start prompt-save prompt-discard"),
    ("annotation", "project", STAFF, "post", "queries-draw statistics-compute topic-new"),
    ("annotation", "topic", STAFF, "get", "topic"),
    ("annotation", "topic", STAFF, "post", "topic-change"),
    ("annotation", "train_set", STAFF, "get", "train-set-discard train-set-json train-set-parquet"),
)
DESK = area(
    ("judging", "project", ANNOTATOR, "get", "desk pair-next last-look own-grades"),
    ("judging", "project", ANNOTATOR, "post", "assignment-take assignment-finish assignment-return heartbeat leave"),
    ("judging", "project", EVERYONE, "get", "guideline"),
)
QUERIES = area(
    ("judging", "project", STAFF, "get", "overview find queries query-sets caption-edits rules"),
    ("judging", "project", STAFF, "get", "caption-edits-said caption-edits-csv candidates-csv"),
    ("judging", "project", STAFF, "post", "batches-open candidates-rank"),
    ("judging", "project", LEAD, "post", "query-set-create rules-change"),
    ("judging", "set", STAFF, "get", "query-set"),
    ("judging", "set", LEAD, "post", "query-set-change"),
)
POOLS = area(
    ("pools", "project", STAFF, "get", "pools"),
    ("pools", "project", STAFF, "post", "pool-create"),
    ("pools", "pooling", STAFF, "get", "pool pool-csv pool-overlap-csv"),
    ("pools", "pooling", STAFF, "post", "pool-open pool-discard"),
)
REVIEW = area(
    ("judging", "project", STAFF, "get", "review-queue flags flags-csv dropped dropped-csv withdrawn withdrawn-csv"),
    ("judging", "flagged", LEAD, "post", "flag-dismiss pair-recut pair-bounds"),
    ("judging", "pair", STAFF, "get", "pair-batch"),
    ("judging", "pair", LEAD, "post", "pair-withdraw"),
    ("judging", "withdrawn", LEAD, "post", "pair-restore"),
    ("judging", "batch", STAFF, "get", "batch"),
    ("judging", "batch", LEAD, "post", "batch-review"),
    ("judging", "closed", LEAD, "post", "review-undo"),
    ("judging", "project", LEAD, "get", "reviews-preview"),
    ("judging", "project", LEAD, "post", "reviews-accept"),
)
RELEASES = area(
    ("judging", "project", STAFF, "get", "releases judgments-csv release-words audit audit-csv audit-versions"),
    ("judging", "project", STAFF, "get", "audit-versions-csv"),
    ("judging", "project", LEAD, "post", "release-create release-words-save"),
    ("judging", "release", STAFF, "get", "release-download release release-changes release-changes-csv"),
    ("judging", "release", LEAD, "post", "release-retry"),
    ("models_runner", "project", RUNNERS, "get", "runs export run-new compare files"),
    ("models_runner", "run", STAFF, "get", "run run-download"),
    ("models_runner", "project", RUNNERS, "get", "ground-truths"),
    ("models_runner", "project", STAFF, "get", "ground-truth-new"),
    ("models_runner", "public_truth", RUNNERS, "get", "ground-truth ground-truth-csv ground-truth-file truth-run-new"),
    ("models_runner", "truth", STAFF, "get", "ground-truth-delete"),
    ("models_runner", "open_project", RUNNERS, "get", "case"),
    ("models_runner", "project", STAFF, "get", "economy"),
    ("models_runner", "project", STAFF, "post", "economy-study run-create"),
    ("models_runner", "studied", STAFF, "get", "economy-csv"),
    ("models_runner", "project", ADMIN, "get", "features features-hub"),
    ("models_runner", "filmed", ADMIN, "post", "feature-set-create feature-set-register"),
    ("models_runner", "features", ADMIN, "get", "feature-set-cancel feature-set-resume feature-set-model"),
    ("models_runner", "features", ADMIN, "get", "feature-set-delete"),
    ("models_runner", "release", RUNNERS, "get", "file"),
    ("models_runner", "project", LEAD, "get", "settings"),
    ("models_runner", "run", LEAD, "post", "run-withdraw"),
)
BENCHMARKS = area(
    ("models_runner", "project", STAFF, "get", "experiments search tables tables-export"),
    ("models_runner", "project", ADMIN, "get", "experiment-new experiment-grid settings-search-new"),
    ("models_runner", "experiment", STAFF, "get", "experiment"),
    ("models_runner", "experiment", ADMIN, "get", "experiment-delete"),
    ("models_runner", "training", STAFF, "get", "training"),
    ("models_runner", "settings_search", STAFF, "get", "settings-search settings-search-csv"),
    ("models_runner", "settings_search", ADMIN, "get", "settings-search-delete"),
    ("models_runner", "settings_search", ADMIN, "post", "settings-search-cancel settings-search-resume"),
    ("models_runner", "training", ADMIN, "post", "training-cancel training-resume"),
)
PEOPLE = area(
    ("judging", "project", ANNOTATOR, "get", "leave-project"),
    ("judging", "project", LEAD, "get", "people"),
    ("judging", "project", LEAD, "post", "invitation-create registration-switch staff-role"),
    ("judging", "invitation", LEAD, "get", "invitation-place"),
    ("judging", "invitation", LEAD, "post", "invitation-renew invitation-revoke"),
    ("judging", "member", LEAD, "get", "person person-erase"),
    ("judging", "member", LEAD, "post", "person-status person-password"),
)
QUALITY = area(
    ("judging", "project", STAFF, "get", "agreement agreement-csv alerts"),
    ("judging", "project", STAFF, "post", "agreement-compute"),
    ("judging", "member", STAFF, "get", "agreement-of"),
    ("judging", "alert", STAFF, "get", "alert"),
    ("judging", "alert", LEAD, "post", "alert-see"),
)
COVERAGE = area(
    ("judging", "project", STAFF, "get", "coverage"),
    ("judging", "project", STAFF, "post", "coverage-create"),
    ("judging", "study", STAFF, "get", "coverage-study coverage-svg coverage-csv"),
    ("judging", "study", STAFF, "post", "coverage-open coverage-discard"),
)
DRAWN = area(
    ("judging", "project", STAFF, "get", "figures tables tables-csv tables-tex"),
    ("judging", "grades", STAFF, "get", "figure"),
    ("judging", "partners", LEAD, "get", "figure figure-svg figure-csv"),
)
EXAMS = area(
    ("judging", "project", STAFF, "get", "exams"),
    ("judging", "project", LEAD, "post", "exam-create"),
    ("judging", "exam", STAFF, "get", "exam exam-csv"),
    ("judging", "exam", LEAD, "post", "exam-close"),
    ("judging", "known", STAFF, "get", "known-exam"),
    ("judging", "known", LEAD, "post", "known-explain known-retire known-anchor"),
    ("judging", "exam_attempt", STAFF, "get", "missed-exam"),
    ("judging", "exam_attempt", LEAD, "post", "missed-exam-count"),
    ("judging", "project", ANNOTATOR, "post", "attempt-start"),
)
SETTINGS = area(
    ("judging", "project", ANNOTATOR, "post", "guideline-confirm screening-start screening-answer"),
    ("judging", "project", EVERYONE, "get", "guideline-versions"),
    ("judging", "guideline", EVERYONE, "get", "guideline-version"),
    ("judging", "project", LEAD, "get", "guideline-edit guideline-review guideline-examples screening-question-new"),
    ("judging", "project", LEAD, "post", "guideline-save guideline-preview guideline-publish guideline-discard"),
    ("judging", "project", LEAD, "post", "guideline-example-set guideline-example-remove training-draw"),
    ("judging", "project", LEAD, "post", "screening-question-create screening-set policy-publish rules-change"),
    ("judging", "project", STAFF, "get", "training screening-questions screening-preview policy rules"),
    ("judging", "drawn", STAFF, "get", "training-pair"),
    ("judging", "drawn", LEAD, "post", "training-pair-grade training-pair-move training-pair-remove"),
    ("judging", "project", ANNOTATOR, "get", "screening"),
    ("judging", "question", LEAD, "get", "screening-question"),
    ("judging", "question", LEAD, "post", "screening-question-change screening-question-retire"),
)
PAY = area(
    ("judging", "project", LEAD, "get", "pay pay-csv forecast"),
    ("judging", "project", LEAD, "post", "pay-rate-set hours-correct"),
    ("judging", "member", LEAD, "get", "pay-person pay-person-csv"),
    ("judging", "writer", LEAD, "get", "pay-member pay-member-csv"),
    ("judging", "project", PAID, "get", "hours hours-csv"),
)
WEBHOOKS = area(
    ("judging", "project", LEAD, "get", "webhooks"),
    ("judging", "webhook", LEAD, "get", "webhook"),
    ("judging", "webhook", LEAD, "post", "webhook-ping webhook-switch"),
    ("judging", "delivery", LEAD, "get", "webhook-delivery"),
    ("judging", "delivery", LEAD, "post", "webhook-delivery-retry"),
    ("judging", "project", LEAD, "post", "webhook-create"),
)
COLLECTION = area(
    ("judging", "project", WRITER, "get", "writing-desk mark"),
    ("judging", "project", WRITER, "post", "clip-take"),
    ("judging", "project", STAFF, "get", "collection collection-figures collection-figure-svg collection-figure-csv"),
    ("judging", "project", READERS, "get", "written-queries"),
    ("judging", "project", LEAD, "post", "writing-round-create"),
    ("judging", "writing_round", STAFF, "get", "writing-round"),
    ("judging", "writing_round", LEAD, "post", "writing-round-change writing-round-members writing-round-clips"),
    ("judging", "writing_clip", LEAD, "post", "writing-clip-reopen"),
    ("judging", "project", LEAD, "post", "writer-change"),
    ("judging", "project", CHECKER, "get", "checking-desk query-to-check"),
    ("judging", "written_query", READERS, "get", "written-query-video"),
    ("judging", "written_query", CHECKER, "post", "query-check"),
)
VERIFICATION = area(
    ("judging", "project", STAFF, "get", "verification"),
    ("judging", "project", LEAD, "post", "verification-create"),
    ("judging", "verification_study", STAFF, "get", "verification-study verification-csv"),
    ("judging", "verification_study", LEAD, "post", "verification-change"),
    ("judging", "verification_pair", LEAD, "post", "verification-inspect"),
    ("judging", "verification_pair", READERS, "get", "verification-video"),
    ("judging", "project", CHECKER, "get", "verification-desk pair-to-inspect"),
    ("judging", "verification_study", CHECKER, "get", "pair-to-verify"),
    ("judging", "verification_inspection", CHECKER, "post", "verification-decide"),
)
MORE_ARGS = {
    "judging:collection-figure-svg": ["types"],
    "judging:collection-figure-csv": ["checks"],
    "models_runner:export": ["csv"],
    "models_runner:tables-export": ["csv"],
    "models_runner:file": ["video_corpus.json"],
}
ENDPOINTS = [*EXAMS, *CORPUS, *DESK, *QUERIES, *POOLS, *COVERAGE, *REVIEW, *RELEASES, *PEOPLE, *QUALITY, *DRAWN]
ENDPOINTS += [*SETTINGS, *PAY, *BENCHMARKS, *WEBHOOKS, *COLLECTION, *VERIFICATION]
HOLDER_ENDPOINTS = area(  # only who holds the assignment of the pair or clip learns that it exists
    ("judging", "pair", ANNOTATOR, "get", "pair"),
    ("judging", "pair", ANNOTATOR, "post", "judgment-create flag-set flag-withdraw"),
    ("judging", "exam_attempt", ANNOTATOR, "get", "attempt attempt-look"),
    ("judging", "exam_attempt", ANNOTATOR, "post", "attempt-hand-in"),
    ("judging", "known", ANNOTATOR, "get", "known-pair"),
    ("judging", "known", ANNOTATOR, "post", "known-grade"),
    ("judging", "query_check", CHECKER, "post", "query-check-undo"),
    ("judging", "verification_answers", CHECKER, "post", "verification-undo"),
    ("judging", "verification_assignment", CHECKER, "post", "verification-answer"),
    ("judging", "clip_assignment", WRITER, "get", "clip-video"),
    ("judging", "clip_assignment", WRITER, "post", "clip-draft query-submit clip-return clip-exhausted"),
)
OPEN = {  # routes that name nothing of anybody's: why, and where they are tried
    "home": "leads to the asker's own projects: TestOpenPages",
    "login": "is for everybody: TestOpenPages, tests/config/test_account",
    "login-code": "is of the log-in that was begun: tests/config/test_second_step",
    "logout": "ends the asker's own session: TestOpenPages",
    "help": "is for everybody: TestOpenPages",
    "healthz": "is for everybody: TestOpenPages",
    "readyz": "is for everybody and says little: tests/core/test_health",
    "metrics": "asks for a token of its own: tests/core/test_metrics",
    "account": "shows the asker's own: tests/config/test_account",
    "password-change": "changes the asker's own: tests/config/test_account",
    "password-forgotten": "answers everybody the same: tests/config/test_account",
    "password-choose": "is opened by the secret in it: tests/config/test_account",
    "person-export": "gives the asker's own: tests/judging/people/test_person_data",
    "sessions-end": "ends the asker's own: tests/config/test_browser_sessions",
    "tokens": "lists the asker's own: tests/config/test_tokens",
    "totp": "is of the asker's own: tests/config/test_second_step",
    "totp-begin": "is of the asker's own: tests/config/test_second_step",
    "totp-codes": "is of the asker's own: tests/config/test_second_step",
    "totp-off": "is of the asker's own: tests/config/test_second_step",
    "passkey-login": "is for everybody: tests/accounts/test_passkeys",
    "passkey-add": "is of the asker's own: tests/accounts/test_passkeys",
    "openid_connect_login": "is for everybody: tests/accounts/test_provider",
    "openid_connect_callback": "is of the log-in that was begun: tests/accounts/test_provider",
    "provider-unlink": "is of the asker's own: tests/accounts/test_provider",
    "account_reauthenticate": "is of the asker's own: tests/accounts/test_passkeys",
    "mfa_reauthenticate_webauthn": "is of the asker's own: tests/accounts/test_passkeys",
    **dict.fromkeys(
        ("account_login", "mfa_authenticate", "mfa_index"), "is the same page by the name that allauth asks for"
    ),
    "api-schema": "describes the API to everybody: tests/judging/api/test_statements",
    "api-docs": "describes the API to everybody: tests/judging/api/test_statements",
    "judging:invitation": "is opened by the secret in it: tests/judging/views",
    "judging:join": "is for whoever comes while a project is open: tests/judging/views",
    "judging:project-new": "is of no project yet: tests/judging/projects/test_project_new",
    "judging:collection-new": "is of no project yet: tests/judging/projects/test_project_new",
    "judging:judgment-imports": "lists the asker's own: tests/judging/imports/test_judgment_imports",
    "judging:judgment-import-new": "is of no project yet: tests/judging/imports/test_judgment_imports",
    "annotation:corpora": "lists what the asker runs: tests/annotation/corpora/test_import_views",
    "annotation:import-new": "is of no project yet: tests/annotation/corpora/test_import_views",
}
