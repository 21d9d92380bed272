"""What a measurement ran on."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path


def facts() -> dict[str, str | int | float]:
    """The machine, its software, and how busy it was when the measurement began."""
    described = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 0,
        "memory_gb": round(memory / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load_before": round(os.getloadavg()[0], 2),
    }
