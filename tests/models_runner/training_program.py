"""Stands in for the program that trains: reads the plan, tells and leaves what it would, and ends as it is told to.

``how``, in the plan or as the first word behind its name: "done"; "fails", "crashes" (always), "crashes once" (then
goes on), "crashes forward" (behind a checkpoint each time), "waits" (until it is asked to end), "deaf" (does not
listen).
"""

import json
import os
import signal
import sys
from pathlib import Path

*words, folder_name = sys.argv[1:]
folder = Path(folder_name)
plan = json.loads((folder / "plan.json").read_text())
how, checkpoint = plan.get("how", *words or ["done"]), folder / "last" / "step"


def log_event(kind: str, **values: object) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write(json.dumps({"kind": kind, **values}) + "\n")


def stop(*signal_and_frame: object) -> None:
    log_event("stopped", step=2)
    sys.exit(4)


signal.signal(signal.SIGTERM, signal.SIG_IGN if how == "deaf" else stop)
begun = int(checkpoint.read_text()) if checkpoint.exists() else 0
log_event("start", samples=8, steps_per_epoch=2, steps=4, device="cpu", resumed_from_step=begun)
(folder / "log.txt").open("a").write(f"begins at step {begun}\n")
for step in range(begun + 1, 5):
    log_event("step", step=step, epoch=step / 2, loss=1 / step, seconds_per_step=0.5, eta_s=90, memory_mb=100)
    if (how == "crashes" and step > 2) or (how == "crashes once" and checkpoint.exists() and not begun):
        sys.stderr.write("about to die\n")
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 2 or how == "crashes forward":
        checkpoint.parent.mkdir(exist_ok=True)
        checkpoint.write_text(str(step))
        log_event("checkpoint", step=step, which="last")
    if how == "crashes forward":
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 2:
        log_event("evaluation", step=2, epoch=1, split="val", metrics={"ndcg@20_0.5": 0.25}, loss=0.7, best=True)
        if how == "fails":
            log_event("failed", reason="The loss is not a number.", step=2)
            sys.exit(3)
        while how in ("waits", "deaf"):
            signal.pause()
for split in ("val", "test"):
    if plan[split]:
        queries = {row["query_id"]: row["query"] for row in json.loads(Path(plan[split]).read_text())}
        rows = [["alpha", 1.0, 2.5, 3.0], ["beta", 0.0, 3.0, 1.0]]
        answers = [{"query_id": number, "query": text, "predictions": rows} for number, text in queries.items()]
        (folder / f"predictions.{split}.json").write_text(json.dumps(answers))
(folder / "best").mkdir(exist_ok=True)
(folder / "best" / "meta.json").write_text("{}")
log_event("evaluation", step=4, epoch=2, split="val", metrics={"ndcg@20_0.5": 0.5}, loss=0.6, best=True)
log_event("done", step=4, best_step=4, metrics={"val": {}, "test": {}})
