"""Small released SGMRI-VQA files, written in either layout.

Question stems, field names and answer shapes are those of the released generator; coordinates are fastMRI+ literals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

BRAIN, KNEE = "file_brain_AXT1_202_2020517", "file1000005"
EDEMA = {"x": 52, "y": 82, "width": 111, "height": 197, "label": "Edema"}
OPTIONS = "\n(A) Mass\n(B) Edema\n(C) Cyst\n(D) Infarct"


def image(anatomy: str = "brain", /, **changes: Any) -> dict[str, Any]:
    """An image record; ``changes`` replace fields, and ``...`` removes one."""
    volume = BRAIN if anatomy == "brain" else KNEE
    record = {
        "volume_id": volume,
        "slice_num": 7,
        "modality": "T1" if anatomy == "brain" else "knee",
        "image_path": f"../data/val_labeled_raw_by_modality/T1/{volume}/{volume}_slice_007.png",
        "level": "slice",
        "task": "detection",
        "type": "closed_ended",
        "question": "Is there an abnormality in this MRI image?",
        "answer": "Yes",
        "reasoning": "There is edema.",
        "ground_truth": {"labels": ["Edema"], "diagnosis": ["Edema"], "bboxes": [dict(EDEMA)]},
    }
    return {name: value for name, value in {**record, **changes}.items() if value is not ...}


def volume(anatomy: str = "brain", /, **changes: Any) -> dict[str, Any]:
    """A volume record; as :func:`image`."""
    record = {
        "volume_id": BRAIN if anatomy == "brain" else KNEE,
        "modality": "T1" if anatomy == "brain" else "knee",
        "num_slices": 16 if anatomy == "brain" else 30,
        "level": "volume",
        "step": 0,
        "task": "detection",
        "type": "closed_ended",
        "question": "Is there evidence of a craniotomy in this brain MRI volume?",
        "answer": "Yes.",
        "reasoning": "Seen on Frame 3.",
        "ground_truth": {"final_diagnosis": ["Craniotomy"]},
    }
    return {name: value for name, value in {**record, **changes}.items() if value is not ...}


LAYOUTS = {
    "folders": "{domain}/{split}/{level}_qa/questions.json",
    "first release": "{domain}/gpt4o_{domain}_{split}_{level}_qa_{level}_qa_pairs.json",
    "generators": "qa_reasoning_data/{domain}/gpt4o_{domain}_{split}_{level}_qa_slice_qa_pairs.json",
}


def path(root: Path, domain: str, level: str, split: str = "test", layout: str = "folders") -> Path:
    """Path of one released file."""
    return root / LAYOUTS[layout].format(domain=domain, split=split, level=level)


def write(root: Path, domain: str, level: str, records: Any, split: str = "test", layout: str = "folders") -> Path:
    """Write one released file."""
    target = path(root, domain, level, split, layout)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(records), encoding="utf-8")
    return target


def frames(root: Path, volume_id: str, count: int, size: tuple[int, int] = (320, 320), parent: str = "any") -> Path:
    """Write a volume's PNG frames."""
    folder = root / parent / volume_id
    folder.mkdir(parents=True)
    for number in range(1, count + 1):
        Image.new("L", size, number).save(folder / f"{volume_id}_slice_{number:03d}.png")
    return folder
