"""The audit finds what the printed tables contradict; a changed number would change a finding."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from slicewise.report.ct import audit
from slicewise.report.ct.finding import Finding, denominators


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    return {f"{one.paper}: {one.title}": one for one in audit.findings()}


@pytest.mark.parametrize(
    ("title", "verdict", "words"),
    [
        ("SGMRI-VQA: Averages", "consistent", "23 of 24"),
        ("SGMRI-VQA: Number of items, image detection", "note", "13 of 13 printed values fit n = 1492"),
        ("SGMRI-VQA: Number of items, volume counting", "note", "GPT-4o would need another n"),
        ("CT-Flow: Averages of Table 1", "consistent", "12 of 12"),
        ("CT-Flow: Averages of Table 4", "consistent", "15 of 15"),
        ("CT-Flow: Printed differences of Table 4", "contradiction", "90 of 91"),
        ("CT-Flow: Figure 3 against Tables 4 and 5", "contradiction", "22.46 and 14.0 mix fine-tuning with tools"),
        ("CT-Flow: Tables 1 and 5", "contradiction", "42/40/47/43.0 against 43/39/46/42.67"),
        ("CT-Flow: Text metrics of Tables 1 and 4", "contradiction", "23.69/31.78/78.20"),
        ("CT-Flow: Silent denominators", "contradiction", "from 138 to 199"),
        ("CT-Flow: Left-out cases counted as wrong", "note", "69.46 would be 59.67"),
        ("CT-Flow: Cases behind Table 2", "contradiction", "10 values"),
        ("CT-Flow: Highest average on CT-FlowBench", "contradiction", "Hulu-Med-7B has 47.0"),
        ("CT-Flow: Gains named in the text", "contradiction", "14.00 belongs to CT-Flow-8B"),
        ("CT-Flow: What the 41 % are", "note", "41.58 %"),
        ("CT-Flow: What the 95 % success are", "note", "95.87 %"),
        ("CT-Flow: Universal gain by tools", "contradiction", "-18.87"),
        ("CT-Flow: Who calls many tools", "contradiction", "Qwen3-VL-8B (11.196)"),
        ("CT-Flow: Equal scores in all scenarios", "note", "M3D scores exactly 17"),
        ("CT-Flow: How much the averages can tell", "note", "9.7 points"),
    ],
)
def test_findings(found: dict[str, Finding], title: str, verdict: str, words: str) -> None:
    one = found[title]
    assert one.verdict == verdict
    assert words in one.text


def test_denominators_are_exact() -> None:
    assert denominators(Decimal("78.99"), 200)[0] == (109, 138)
    assert denominators(Decimal("50.00"), 4) == [(2, 4), (1, 2)]
    assert denominators(Decimal("0.01"), 200) == []


def test_the_page_is_the_same_bytes(tmp_path: Path) -> None:
    audit.write(tmp_path / "a")
    audit.write(tmp_path / "b")
    page = (tmp_path / "a" / "audit.md").read_text()
    assert page == (tmp_path / "b" / "audit.md").read_text()
    assert page.count("\n## ") == len(audit.findings())
