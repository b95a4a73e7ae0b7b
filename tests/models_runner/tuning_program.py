"""Stands in for the program that searches: writes the folders of trials as it would, and ends as it is told to.

The word behind its name: "done"; "waits" (at the second trial, until it is asked to end), "crashes" (at the second
trial), "fails" (every trial), "half" (the second trial fails), "refuses" (the search as it stands).
"""

import json
import os
import signal
import sys
from pathlib import Path

from moment_retrieval.training.trials import TRIAL, Tuning, trial_folder

*words, folder_name = sys.argv[1:]
folder, how = Path(folder_name), (words or ["done"])[0]
tuning = Tuning.read(folder)
if how == "refuses":
    sys.stderr.write("error: nothing is known of speed\n")
    sys.exit(2)
for number, settings in enumerate(tuning.settings(), start=1):
    own = trial_folder(folder, number)
    if (own / TRIAL).exists():
        continue
    own.mkdir(exist_ok=True)
    (own / "plan.json").write_text(json.dumps(tuning.plan_with(settings).__dict__))

    def log_event(kind: str, *, path: Path = own / "events.jsonl", **values: object) -> None:
        with path.open("a") as file:
            file.write(json.dumps({"kind": kind, **values}) + "\n")

    def stop(*signal_and_frame: object) -> None:
        log_event("stopped", step=2)
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    log_event("start", samples=8, steps_per_epoch=2, steps=4, device="cpu", resumed_from_step=0)
    log_event("step", step=2, epoch=1, loss=0.5, seconds_per_step=0.5, eta_s=1, memory_mb=100)
    log_event("evaluation", step=2, epoch=1, split="val", metrics={"ndcg@20_0.5": 0.1 * number}, loss=0.7, best=True)
    if number == 2 and how == "crashes":
        os.kill(os.getpid(), signal.SIGKILL)
    while number == 2 and how == "waits":
        signal.pause()
    if how == "fails" or (how == "half" and number == 2):
        log_event("failed", reason="The loss is not a number.", step=2)
        continue
    log_event("done", step=4, best_step=2, metrics={})
    curve = [0.1 * number]
    trial = {"settings": settings, "state": "finished", "best": max(curve), "curve": curve, "reason": ""}
    (own / TRIAL).write_text(json.dumps({"number": number, **trial, "plan": {}}))
