"""Devices of a training of this worker, by identity: GPUs by their UUIDs, the processor by its host. Whatever
they are called where the worker runs (`auto`, `cuda:0`, another host's name in each container), two workers that would
meet on a device name it alike."""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

VISIBLE = "CUDA_VISIBLE_DEVICES"
BOOT = Path("/proc/sys/kernel/random/boot_id")  # of the host's kernel, which its containers share
PATIENCE_S = 60  # for the driver to answer


def devices_shown(device: str, gpus: int) -> str:
    """The GPUs of a worker on ``device``: from its number on as many as a training takes; empty where it has none."""
    kind, _, number = device.partition(":")
    if kind != "cuda" or not number.isdecimal():
        return ""
    return ",".join(str(int(number) + offset) for offset in range(gpus))


def devices_used(device: str, gpus: int) -> list[str]:
    """All that a training takes for itself, in the order in which it is to be locked."""
    gpu_uuids = [] if device == "cpu" else gpus_seen()
    visible = "" if VISIBLE in os.environ else devices_shown(device, gpus)  # as the program sees it
    first = int(visible.split(",")[0]) if visible else 0
    return sorted(f"GPU-{uuid}" for uuid in gpu_uuids[first : first + gpus]) or [f"cpu-{_host()}"]


def devices_named(devices: Sequence[str]) -> str:
    """For people, and for the table: no two of them at the same time."""
    return f"{socket.gethostname()}/{' '.join(devices)}"[:100]


def _host() -> str:
    try:
        return BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()


def gpus_seen() -> list[str]:
    """UUIDs of the GPUs that CUDA shows to programs of this worker, by their numbers. Another process asks: what CUDA
    found once it tells for as long as a process lives."""
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-I", __file__], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return process.stdout.split()


def _gpus() -> list[str]:
    """List the GPUs of CUDA's driver; none where it is missing or can do nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [_uuid(driver, number) for number in range(count.value)]


def _uuid(driver: ctypes.CDLL, number: int) -> str:
    ask = getattr(driver, "cuDeviceGetUuid_v2", driver.cuDeviceGetUuid)  # the first tells parts of a GPU apart
    device, uuid_bytes = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    if driver.cuDeviceGet(ctypes.byref(device), number) or ask(ctypes.byref(uuid_bytes), device):
        raise RuntimeError(f"CUDA does not say what GPU {number} is.")
    return str(UUID(bytes=bytes(uuid_bytes)))


if __name__ == "__main__":
    sys.stdout.write("\n".join(_gpus()))
