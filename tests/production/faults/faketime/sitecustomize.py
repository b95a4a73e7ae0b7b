"""Python sleeps until an absolute time of the steady clock, which libfaketime 0.9.10 misreads when it leaves that clock
alone; for so long is the same to both."""

import select
import time


def sleep(seconds: float) -> None:
    select.select([], [], [], max(0.0, seconds))


time.sleep = sleep
