"""Build a collection from a folder of videos and a table of moments: from nothing to a release.

MOMENTJUDGE_TOKEN=mj_... python docs/examples/build.py http://127.0.0.1:8000 films/
MOMENTJUDGE_TOKEN=mj_... python docs/examples/build.py http://127.0.0.1:8000 films/ UUID-OF-THE-PROJECT

The folder holds films/*.mp4 and films/moments.csv, with the columns video, start, end and description. The first
command prints the links of four annotators; the second, once they have judged, fetches the release. Whoever runs them
is lead or admin of some project of the site, and their token may read and manage.
"""

import os
import sys
from pathlib import Path

from moment_retrieval.client import Client

ANNOTATORS = 4  # as many as a pair may need


def build(client, folder, name):
    """A project whose batches are open, and the links of its annotators."""
    project = client.project_create(name)["uuid"]
    for video in sorted(folder.glob("*.mp4")):
        upload = client.video_send(project, video)["uuid"]
        client.wait_until_ready(lambda upload=upload: client.video_upload(upload))
    moments = client.corpus_import_upload(folder / "moments.csv", corpus_name=name)["uuid"]
    client.wait_until_ready(lambda: client.corpus_import(moments))  # it is checked
    client.corpus_import_confirm(moments)
    client.wait_until_ready(lambda: client.corpus_import(moments))
    client.captions_rewrite(project, provider="rules")
    client.wait_until_ready(lambda: client.captions(project)["rewriting"])
    client.wait_until(lambda: client.project(project)["previews"]["missing"] == 0)  # only what can be watched is ranked
    client.queries_draw(project, val="25%", test="25%", seed=1)
    job = client.batches_open(project)["uuid"]
    client.wait_until_ready(lambda: client.job(job))
    invitations = [client.invitation_create(project, qualifies=True) for _ in range(ANNOTATORS)]  # without an exam
    return project, [invitation["link"] for invitation in invitations]


def release(client, project, folder):
    """The archive of a release of all that is judged; queries that wait for a lead are closed."""
    for batch in client.batches(project, state="done"):
        if batch["decision"] is None:
            client.batch_review(batch["uuid"], decision="close", reason="one batch each")
    uuid = client.release_create(project)["uuid"]
    row = client.wait_until_ready(lambda: client.release(uuid))
    return client.release_zip(uuid, folder / f"release-{row['version']}.zip")


if __name__ == "__main__":
    address, folder, *projects = sys.argv[1:]
    client = Client(address, os.environ["MOMENTJUDGE_TOKEN"])
    if projects:
        print(release(client, projects[0], Path(folder)))
    else:
        project, links = build(client, Path(folder), Path(folder).name)
        print("project", project, *links, sep="\n")
