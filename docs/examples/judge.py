"""Judge a batch from a program; needs Python and the library of this project (pip install .).

MOMENTJUDGE_TOKEN=mj_... python docs/examples/judge.py http://127.0.0.1:8000
"""

import os
import sys

from moment_retrieval.client import Client


def judge(client, project, grade_of):
    """Grade one batch by ``grade_of(query, pair)`` and finish it; how many grades were given."""
    assignment = client.assignment_take(project)
    if assignment is None:
        return 0
    n_grades = 0
    for pair in assignment["pairs"]:
        if pair["grade"] is None and pair["flag"] is None and not pair["withdrawn"]:
            client.judgment(pair["uuid"], grade=grade_of(assignment["query"], pair), key=pair["key"])
            n_grades += 1
    client.assignment_finish(project)
    return n_grades


if __name__ == "__main__":
    client = Client(sys.argv[1], os.environ["MOMENTJUDGE_TOKEN"])
    mine = next(project for project in client.projects() if "annotator" in project["roles"])
    ask = lambda query, pair: int(input(f"{query}\n{pair['previews']['gif']}\nGrade? "))  # noqa: E731
    print(judge(client, mine["uuid"], ask), "grades given")
