"""The engines of bulk jobs, and a job that all of them can do."""

from __future__ import annotations

from typing import Any

TEXTS = [
    "IL-2 promoter activity in Jurkat T cells. The c-Rel protein binds it.",
    "",
    "NF-kappa B and AP-1 bind the IL-2 promoter; human B cells express CD28 mRNA.",
    "Nothing here.",
    "Activated T lymphocytes express the interleukin-2 receptor alpha chain gene.",
    "GATA-1, GATA-2 and the erythroid cell line K562. IL-2 promoter activity in Jurkat T cells.",
]
ENGINES: dict[str, dict[str, Any]] = {
    "this process": {"workers": 0},
    "processes": {"workers": 2},
    "as many processes as there are CPUs": {},
    "ray": {"engine": "ray", "workers": 1},
}
OPTIONS: dict[str, Any] = {"model": "genia", "shard_records": 2, "threshold": 0.4}
