"""NVIDIA GPUs: which device files a sandbox needs, and how its libraries are told which GPU is theirs."""

from __future__ import annotations

from pathlib import Path

from sandmle.errors import BadInput

__all__ = ["check_gpus", "gpu_environment", "gpu_files"]

_SHARED = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


def check_gpus(gpus: tuple[str, ...]) -> tuple[str, ...]:
    """The numbers of GPUs, as in ``/dev/nvidia0`` and ``nvidia-smi``.

    Raises:
        BadInput: one is no number.
    """
    for gpu in gpus:
        if not (gpu.isascii() and gpu.isdigit()):
            raise BadInput(f"GPU {gpu!r}: name GPUs by their number, as nvidia-smi shows it, for instance 0")
    return gpus


def gpu_files(gpu: str | None) -> list[str]:
    """Names below ``/dev`` of what the driver needs for this one GPU; empty where there is none."""
    if gpu is None or not Path(f"/dev/nvidia{gpu}").exists():
        return []
    return [f"nvidia{gpu}", *(name for name in _SHARED if Path("/dev", name).exists())]


def gpu_environment(gpu: str | None, *, alone: bool) -> dict[str, str]:
    """Variables that show libraries one GPU, or none. Where its file is ``alone`` to be seen, the driver calls it 0."""
    if gpu is None:
        return {"CUDA_VISIBLE_DEVICES": ""}
    return {"CUDA_VISIBLE_DEVICES": "0" if alone else gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
