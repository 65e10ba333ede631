"""3D-RAD (arXiv 2506.11147): the released CSV files, and 200 questions a task by one of two samplers.

The task is the number in the name of the file's folder: the project's README exchanges tasks 1 and 2, the folders and
the column ``Task`` do not. Whoever reports accuracy on this set must say how the questions were drawn: always
answering "No" is right for 82 of 100 questions of task 4 as released, and for 50 when answers are balanced.
"""

from __future__ import annotations

import csv
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.benchmarks.ct import RAD3D_CLOSED, CtBenchmark
from slicewise.data import ids
from slicewise.errors import UserError
from slicewise.params import Rad3dSettings

COLUMNS = ("Task", "Subtask", "VolumeName", "Question", "Answer", "QuestionType", "AnswerChoice")
CHOICES = ("A", "B", "C", "D")
UNUSED = "-"
ORDER_FLAG = "released_order:"  # the released letters of the options, as they are shown
_TASK = re.compile(r"task[ _-]*(?P<number>[1-6])", re.IGNORECASE)
_TEST = re.compile(r"(?:^|[^a-z])test(?:$|[^a-z])", re.IGNORECASE)
_ADDRESS = re.compile(r"\.nii(?:\.gz)?$|\.npy$")


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the released files.

    Attributes:
        task: ``t1`` to ``t6``.
        subtask: As released.
        volume_id: CT-RATE's name of the volume, without suffix.
        text: The question.
        answer: Gold text.
        letter: Gold letter as released; ``None`` for an open question.
        choices: Released letter to text.
    """

    task: str
    subtask: str
    volume_id: str
    text: str
    answer: str
    letter: str | None
    choices: tuple[tuple[str, str], ...]


def files(folder: Path, split: str = "test") -> list[Path]:
    """The CSV files of a split below a folder that name a task, sorted."""
    wanted = _TEST if split == "test" else re.compile(rf"(?:^|[^a-z]){split}(?:$|[^a-z])", re.IGNORECASE)
    found = (path for path in Path(folder).rglob("*.csv") if path.is_file())
    inside = ((path, path.relative_to(folder).as_posix()) for path in found)
    return sorted(path for path, name in inside if _TASK.search(name) and wanted.search(name))


def read(path: Path, folder: Path) -> list[Question]:
    """The questions of a file.

    Raises:
        UserError: A column is missing, the task of a row is not the folder's, or a row does not fit its type.
    """
    match = _TASK.search(path.relative_to(folder).as_posix())
    if match is None:
        raise UserError(f"{path}: its path names no task; expected a folder such as 'task4'.")
    with path.open(encoding="utf-8-sig", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = sorted(set(COLUMNS) - set(reader.fieldnames or ()))
        if missing:
            raise UserError(f"{path}: has no column {missing}, found {list(reader.fieldnames or ())}.")
        return [_question(row, f"t{match['number']}", f"{path}: row {place}") for place, row in enumerate(reader, 2)]


def _question(row: dict[str, Any], task: str, where: str) -> Question:
    named = _TASK.search(row["Task"] or "") or re.search(r"(?P<number>[1-6])", row["Task"] or "")
    if named and f"t{named['number']}" != task:
        raise UserError(f"{where}: column Task says '{row['Task']}', but its folder is task {task[1:]}.")
    choices = tuple((letter, text) for letter in CHOICES if (text := _choice(row, letter)) is not None)
    closed = task in RAD3D_CLOSED
    letter = (row["AnswerChoice"] or "").strip().rstrip(".").upper() if closed else None
    if closed and (len(choices) < 2 or letter not in dict(choices)):
        raise UserError(
            f"{where}: AnswerChoice is '{row['AnswerChoice']}' and the choices are {dict(choices)}; expected the "
            "letter of one of at least two choices."
        )
    volume = _ADDRESS.sub("", Path(row["VolumeName"].strip()).name)
    answer = (row["Answer"] or "").strip()
    return Question(task, (row["Subtask"] or "").strip(), volume, row["Question"].strip(), answer, letter, choices)


def _choice(row: dict[str, Any], letter: str) -> str | None:
    """The text of a choice; a hyphen or nothing means that the question has no such choice."""
    text = next((row[name] for name in (f"Choice {letter}", f"Choice{letter}") if row.get(name)), "").strip()
    return None if text in ("", UNUSED) else text


def build(
    settings: Rad3dSettings, declared: CtBenchmark, split: str = "test", slices: Path | None = None
) -> list[dict[str, Any]]:
    """Rows of the samples table.

    Args:
        settings: Where the files lie and how questions are drawn.
        declared: The benchmark, which names the sampler.
        split: ``test`` or ``train``.
        slices: Folder with a folder of slices for each volume, as `slicewise data slices` makes them.

    Raises:
        UserError: The files are missing or malformed.
    """
    found = files(settings.path, split)
    if not found:
        raise UserError(
            f"data.rad3d.path: '{settings.path}' has no CSV of the split '{split}'; expected the released folders such "
            "as 'task1/test.csv': run `slicewise data fetch rad3d`."
        )
    questions = [question for path in found for question in read(path, settings.path)]
    chosen = sample(questions, settings.per_task, declared.sampling or "released", settings.seed)
    made = rows(chosen, declared.id, settings.seed)
    if slices is None:
        return made
    from slicewise.data.ctflowbench.build import shown_slices

    frames = {name: list(shown_slices(slices / name)) for name in {row["volume_id"] for row in made}}
    return [{**row, "frames": frames[row["volume_id"]], "n_frames": len(frames[row["volume_id"]])} for row in made]


def sample(questions: Sequence[Question], per_task: int, sampling: str, seed: int) -> list[Question]:
    """So many questions of each task, stratified and seeded; all where there are fewer.

    ``released`` keeps the shares of subtask and answer; ``balanced`` takes equally many of each answer of a closed task
    and of each subtask of an open one.
    """
    by_task: dict[str, list[Question]] = defaultdict(list)
    for question in sorted(set(questions), key=_key):
        by_task[question.task].append(question)
    return [q for task in sorted(by_task) for q in _sample_task(by_task[task], per_task, sampling, f"{seed}:{task}")]


def _key(question: Question) -> tuple[str, ...]:
    return (question.task, question.subtask, question.volume_id, question.text, question.answer, question.letter or "")


def _sample_task(questions: Sequence[Question], count: int, sampling: str, seed: str) -> list[Question]:
    strata: dict[tuple[str, ...], list[Question]] = defaultdict(list)
    for question in questions:
        if sampling == "released":
            strata[(question.subtask, question.letter or "")].append(question)
        else:
            strata[(question.letter or question.subtask,)].append(question)
    sizes = {name: len(group) for name, group in strata.items()}
    shares = _proportional(sizes, count) if sampling == "released" else _equal(sizes, count)
    chosen = []
    for name in sorted(strata):
        draw = random.Random(f"{seed}:{'|'.join(name)}")  # noqa: S311 - a sample, not a secret
        chosen += draw.sample(strata[name], shares[name])
    return sorted(chosen, key=_key)


def _proportional(sizes: dict[tuple[str, ...], int], count: int) -> dict[tuple[str, ...], int]:
    """Shares by largest remainder."""
    total = sum(sizes.values())
    count = min(count, total)
    exact = {name: count * size / total for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    rest = sorted(sizes, key=lambda name: (shares[name] - exact[name], name))
    for name in rest[: count - sum(shares.values())]:
        shares[name] += 1
    return shares


def _equal(sizes: dict[tuple[str, ...], int], count: int) -> dict[tuple[str, ...], int]:
    """Equal shares; what a small stratum lacks goes to the others."""
    shares = dict.fromkeys(sizes, 0)
    left = min(count, sum(sizes.values()))
    while left:
        open_strata = [name for name in sorted(sizes) if shares[name] < sizes[name]]
        for name in open_strata[:left]:
            shares[name] += 1
        left = min(count, sum(sizes.values())) - sum(shares.values())
    return shares


def rows(questions: Sequence[Question], benchmark: str, seed: int) -> list[dict[str, Any]]:
    """Rows of the samples table; the options of closed questions stand in a seeded order of their own."""
    identities = [
        ids.Identity("chest", "volume", q.volume_id, None, q.task, [q.text, q.answer, list(map(list, q.choices))])
        for q in questions
    ]
    made = []
    for given, question in zip(ids.assign(identities), questions, strict=True):
        text, options, answer, order = _shown(question, f"{seed}:{given.id}")
        made.append(
            {
                "sample_id": given.id,
                "benchmark": benchmark,
                "level": "volume",
                "domain": "chest",
                "volume_id": question.volume_id,
                "modality": "CT",
                "task": question.task,
                "question_type": "open_ended" if question.letter is None else "single_choice",
                "question": text,
                "options": options,
                "answer": answer,
                "reasoning": None,
                "labels": [question.subtask] if question.subtask else [],
                "boxes": [],
                "frames": [],
                "n_frames": 0,
                "flags": [f"{ORDER_FLAG}{order}"] if order else [],
            }
        )
    return made


def _shown(question: Question, seed: str) -> tuple[str, dict[str, str] | None, str, str]:
    """Text, options, gold answer and the released letters in the order shown."""
    if question.letter is None:
        return question.text, None, question.answer, ""
    released = list(question.choices)
    random.Random(seed).shuffle(released)  # noqa: S311 - an order, not a secret
    options = dict(zip(CHOICES, (text for _, text in released), strict=False))
    order = "".join(letter for letter, _ in released)
    right = CHOICES[order.index(question.letter)]
    lines = [question.text, *(f"{letter}. {text}" for letter, text in options.items())]
    return "\n".join(lines), options, f"({right}) {options[right]}", order
