"""Judge a batch from a program; needs nothing but Python.

MOMENTJUDGE_TOKEN=mj_... python docs/examples/judge.py http://127.0.0.1:8000
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request


class RefusedError(Exception):
    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.code = code


class Site:
    def __init__(self, address, token):
        self.address = address
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method, path, body=None, tries=5):
        """The answer. A broken connection is tried again: a repeated request is answered as the first one was."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/api/v1/{path}", data, self.headers, method=method)
        for attempt in range(1, tries + 1):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.loads(answer.read() or "null")
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    raise RefusedError(error.code, **json.load(error)) from None
                broken = error
            except (OSError, http.client.HTTPException) as error:
                broken = error
            time.sleep(0.5 * attempt)
        raise broken


def judge(site, project, grade_of):
    """Grade one batch by ``grade_of(query, pair)`` and finish it; how many grades were given."""
    assignment = site.call("POST", f"projects/{project}/assignment/")
    n_grades = 0
    for pair in assignment["pairs"] if assignment else []:
        if pair["grade"] is None and pair["flag"] is None and not pair["withdrawn"]:
            grade = {"grade": grade_of(assignment["query"], pair), "key": pair["key"]}
            site.call("POST", f"pairs/{pair['uuid']}/judgment/", grade)
            n_grades += 1
    if assignment:
        site.call("POST", f"projects/{project}/assignment/finish/")
    return n_grades


if __name__ == "__main__":
    site = Site(sys.argv[1].rstrip("/"), os.environ["MOMENTJUDGE_TOKEN"])
    mine = next(project for project in site.call("GET", "projects/") if "annotator" in project["roles"])
    ask = lambda query, pair: int(input(f"{query}\n{pair['previews']['gif']}\n0 to 4? "))  # noqa: E731
    print(judge(site, mine["uuid"], ask), "grades given")
