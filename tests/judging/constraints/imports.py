"""Files on their way into a corpus, or into a project."""

from annotation.models import CorpusImport, TopicImport
from judging.models import JudgmentImport
from tests.factories import ProjectFactory, UserFactory
from tests.judging.constraints.writes import Refused, again, change, maker

FILE = {"file": "imports/x", "owner": UserFactory}
MAKERS = {
    "corpus_import": maker(CorpusImport, corpus_name="c", format="csv", file_name="x.csv", **FILE),
    "topic_import": maker(
        TopicImport, project=ProjectFactory, format="tsv", split="test", query_set="x", file_name="x.tsv", **FILE
    ),
    "judgment_import": maker(JudgmentImport, project_name="p", mapping={}, file_name="x.json", **FILE),
}
REFUSED: Refused = {
    f"{name}_{rule}": prepare
    for name, make in MAKERS.items()
    for rule, prepare in {
        "one_at_work_per_owner": again(make, owner=UserFactory),
        "state_is_known": change(make, state="lost"),
        "waiting_has_its_file": change(make, file=""),
        "failed_says_why": change(make, state="failed"),
        "read_within_total": change(make, bytes_read=1),
    }.items()
} | {"topic_import_split_is_judged": change(MAKERS["topic_import"], split="train")}
