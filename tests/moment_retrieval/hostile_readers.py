"""A reader as ``limited`` starts it, which does what a file made for a C library may have it do."""

import json
import os
import signal
import sys
from typing import IO


def serve(request: IO[bytes], output: IO[bytes]) -> None:
    what = request.read().decode()
    output.write(b"begun\n")
    output.flush()
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "memory":
        _ = bytearray(2**30)
    elif what == "time":
        while True:
            pass
    elif what == "fault":
        raise KeyError("a secret of the host")
    elif what == "wait":
        signal.pause()
    elif what == "surroundings":
        output.write(json.dumps({"environment": dict(os.environ), "path": sys.path}).encode() + b"\n")
