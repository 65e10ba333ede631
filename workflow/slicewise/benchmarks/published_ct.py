"""The published numbers of CT-Flow (arXiv 2603.00123v1), as printed.

Table 1 (main), Table 2 (tool use), Tables 4 and 5 (by task and scenario, with and without tools), the printed
differences under Tables 4 and 5, and Figure 3. Figure 4 carries no printed number. The row of Claude in Table 1 is
typeset ``85.718.85`` and read as 85.71 and 8.85, because Table 4 gives 85.71.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

CITATION = "CT-Flow, arXiv 2603.00123v1"
Name = Literal["table1", "table2", "table4", "table4_printed_deltas", "table5", "table5_printed_deltas", "fig3"]
_WORDS = ("group", "model", "mode")
# One model under all its printed names; the first is used here.
ALIASES = {
    "GPT-5.2": ("GPT-5.2", "Gpt-5.2"),
    "Gemini-3-Pro": ("Gemini-3-Pro", "Gemini-3-Pro-Preview"),
    "Claude-4.5": ("Claude-Sonnet-4.5", "Claude-4.5-Sonnet", "Claude-Opus", "Claude"),
    "Qwen3-VL-235B": ("Qwen3-VL-235B", "Qwen3-VL-235B-A22B-Instruct"),
    "GLM4.6-V": ("GLM4.6-V",),
    "Qwen3-VL-8B": ("Qwen3-VL-8B", "Qwen3-VL-8B-Instruct"),
    "CT-Flow-8B": ("CT-Flow-8B", "CT-Flow(8B)"),
    "CT-Flow-7B": ("CT-Flow-7B",),
    "Qwen2.5-VL-7B": ("Qwen2.5-VL-7B-Instruct",),
    "M3D-LaMed": ("M3D-LaMed-Llama-2-7B", "M3D"),
    "M3D-RAD": ("M3D-RAD", "3D-RAD"),
    "Hulu-Med-7B": ("Hulu-Med-7B",),
}


class Row(NamedTuple):
    """A printed row.

    Attributes:
        model: As printed.
        words: Its other texts, such as ``mode``.
        values: Column to printed number.
    """

    model: str
    words: dict[str, str]
    values: dict[str, Decimal]

    @property
    def one_name(self) -> str:
        """The model under one name; the fine-tuned Qwen3-VL-8B of Tables 4 and 5 is CT-Flow-8B."""
        name = next((one for one, all_ in ALIASES.items() if self.model in all_), self.model)
        return "CT-Flow-8B" if self.words.get("mode") == "finetuned" else name


@cache
def printed(name: Name) -> tuple[Row, ...]:
    """The rows of a table or figure, in the printed order."""
    file = resources.files("slicewise.benchmarks").joinpath(f"published_ct_{name}.csv")
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return tuple(
        Row(
            row["model"],
            {key: value for key, value in row.items() if key in _WORDS and key != "model"},
            {key: Decimal(value) for key, value in row.items() if key not in _WORDS},
        )
        for row in rows
    )
