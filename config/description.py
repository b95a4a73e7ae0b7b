"""How an endpoint is described: by its first line, under the people it is for, with what every endpoint refuses."""

from typing import Any

from drf_spectacular.openapi import AutoSchema

from accounts.tokens import scope_needed

FOR = {
    "judging.work.api": "For annotators",
    "judging.review.api": "For leads and admins",
    "judging.releases.api": "For leads and admins",
    "judging.projects.api": "For leads and admins",
    "judging.collection.api": "For leads and admins",
    "judging.checking.api": "For checkers",
    "judging.verification.api": "For leads and admins",
    "judging.guidelines.api": "For leads and admins",
    "judging.people.api": "For leads and admins",
    "judging.webhooks.api": "For leads and admins",
    "annotation.corpora.api": "For leads and admins",
    "annotation.captions.api": "For leads and admins",
    "annotation.proposals.api": "For leads and admins",
    "annotation.queries.api": "For leads and admins",
    "annotation.topics.api": "For leads and admins",
    "annotation.train_sets.api": "For leads and admins",
    "models_runner.pools.api": "For leads and admins",
    "models_runner.search.api": "For leads and admins",
    "models_runner.experiments.api": "For leads and admins",
    "models_runner.tuning.api": "For leads and admins",
    "models_runner.features.api": "For leads and admins",
    "models_runner.ground_truths.api": "For participants, leads and admins",
    "models_runner.leaderboard.api": "For participants, leads and admins",
}
ALWAYS = {
    "400": "The request cannot be read.",
    "401": "Nobody is named, or by a token that is unknown, revoked or expired.",
    "403": "Not for this role, or not for a token of these scopes.",
    "404": "There is nothing here, or it is not yours to see.",
    "411": "The body came in chunks.",
    "413": "The request is too large.",
    "429": "Too often within a while.",
}
WITH_BODY = {"415": "The body is of another media type.", "422": "A field is missing, wrong or unknown."}
PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


class Description(AutoSchema):
    def get_summary(self) -> str:
        return self.get_description().partition("\n")[0].rstrip(".")

    def get_tags(self) -> list[str]:
        return [FOR[type(self.view).__module__]]

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        needed = scope_needed(self.view, self.method)
        operation["x-token-scope"] = needed
        operation["description"] = f"{operation.get('description', '')}\n\nA token needs the scope `{needed}`.".strip()
        refusals = ALWAYS | (WITH_BODY if self.method in ("POST", "PUT", "PATCH") else {})
        for status, words in refusals.items():
            operation["responses"].setdefault(status, {"content": PROBLEM, "description": words})
        return operation
