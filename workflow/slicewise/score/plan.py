"""What the judges of a benchmark will cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from slicewise import artifacts
from slicewise.benchmarks import ct
from slicewise.benchmarks.sgmri import AR_TASKS
from slicewise.jobs import ScoreJob
from slicewise.llm import plan
from slicewise.llm.plan import Line
from slicewise.llm.request import Request
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.score import ct_text
from slicewise.score.judge import JudgeItem
from slicewise.score.judge_llm import CardJudge, ReleasedJudge, declared, members_of
from slicewise.score.paths import Paths
from slicewise.score.texts import card_texts

ASSUMED_CHARS = 600  # length of an answer that does not exist yet
REPLY_GUESS = 30  # tokens of a verdict


def lines(job: ScoreJob, models: Sequence[str], root: Path, store: Store | None) -> list[Line]:
    """The calls of each judge over the answers of all models; none where the judge is a proxy.

    Answers that are parsed already are planned as they are; the others with a text of an assumed length. A second
    call for an unreadable verdict is not planned.

    Raises:
        UserError: The samples are missing.
    """
    if job.judge is None or job.judge.kind == "proxy":
        return []
    items: list[JudgeItem] = []
    assumed = 0
    for model in models:
        paths = Paths(root, job.benchmark, model)
        if paths.parsed.is_file():
            items += _parsed(job, paths)
        else:
            made = list(_assumed(paths))
            assumed += len(made)
            items += made
    notes = (f"{assumed} answers do not exist yet: {ASSUMED_CHARS} characters each",) if assumed else ()
    judges = members_of(declared(job, root))
    return [
        plan.line(
            "score", job.benchmark, name, _requests(judge, items), settings.endpoint, store,
            guess=REPLY_GUESS, notes=notes,
        )
        for name, judge, settings in judges
    ]  # fmt: skip


def _requests(judge: CardJudge | ReleasedJudge, items: Iterable[JudgeItem]) -> list[Request]:
    if isinstance(judge, ReleasedJudge):
        return [judge.request(item, own=own) for item in items for own in (False, True)]
    return [judge.request(item) for item in items if item.candidate.strip()]


def _parsed(job: ScoreJob, paths: Paths) -> Iterator[JudgeItem]:
    for batch in ct_text.answers(paths) if ct.is_ct(job.benchmark) else card_texts(job, paths):
        for item in batch:
            if item.outcome is Outcome.OK:
                yield JudgeItem(item.sample_id, item.question, item.pair[1], item.pair[0])


def _assumed(paths: Paths) -> Iterator[JudgeItem]:
    columns = ["sample_id", "task", "question", "answer"]
    for row in artifacts.read_rows(paths.samples, columns=columns):
        if row["task"] in AR_TASKS or row["task"] in ct.RAD3D_OPEN:
            # The id makes each assumed text a call of its own.
            text = f"{paths.model} {row['sample_id']}".ljust(ASSUMED_CHARS, "x")
            yield JudgeItem(row["sample_id"], row["question"], row["answer"], text)
