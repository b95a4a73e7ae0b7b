"""Files on their way into a corpus, or into a project."""

from annotation.models import CorpusImport
from judging.models import JudgmentImport
from tests.factories import UserFactory
from tests.judging.constraints.writes import More, Refused, again, change


def corpus_import(**values: object) -> CorpusImport:
    fields = {"corpus_name": "c", "format": "csv", "file": "imports/x", "file_name": "x.csv"}
    return CorpusImport.objects.create(owner=values.pop("owner", None) or UserFactory(), **fields, **values)


def export(**values: object) -> JudgmentImport:
    fields = {"project_name": "p", "mapping": {}, "file": "imports/x", "file_name": "x.json"}
    return JudgmentImport.objects.create(owner=values.pop("owner", None) or UserFactory(), **fields, **values)


REFUSED: Refused = {
    "corpus_import_one_at_work_per_owner": again(corpus_import, owner=UserFactory),
    "corpus_import_state_is_known": change(corpus_import, state="lost"),
    "corpus_import_waiting_has_its_file": change(corpus_import, file=""),
    "corpus_import_failed_says_why": change(corpus_import, state="failed"),
    "corpus_import_read_within_total": change(corpus_import, bytes_read=1),
    "judgment_import_one_at_work_per_owner": again(export, owner=UserFactory),
    "judgment_import_state_is_known": change(export, state="lost"),
    "judgment_import_waiting_has_its_file": change(export, file=""),
    "judgment_import_failed_says_why": change(export, state="failed"),
    "judgment_import_read_within_total": change(export, bytes_read=1),
}
MORE: More = {}
TRIGGERS: set[str] = set()
