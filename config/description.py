"""How an endpoint is described: by its first line, under the people it is for."""

from drf_spectacular.openapi import AutoSchema

FOR = {
    "judging.api.annotator": "For annotators",
    "judging.api.lead": "For leads and admins",
    "judging.api.releases": "For leads and admins",
    "judging.api.train_sets": "For leads and admins",
    "models_runner.api.searching": "For leads and admins",
    "models_runner.api.experiments": "For leads and admins",
    "models_runner.api.features": "For leads and admins",
    "models_runner.api.runs": "For participants, leads and admins",
}


class Description(AutoSchema):
    def get_summary(self) -> str:
        return self.get_description().partition("\n")[0].rstrip(".")

    def get_tags(self) -> list[str]:
        return [FOR[type(self.view).__module__]]
