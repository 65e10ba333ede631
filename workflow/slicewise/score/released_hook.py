"""The judge hook of the released scorer, from replies that are already there."""

from __future__ import annotations

from collections.abc import Callable

from slicewise.reference import ar_score


def released_hook(candidate: str, reference: str, reply: str | None, self_reply: str | None) -> Callable[[str], str]:
    """The hook that gives the released scorer the two stored replies; no reply is a call that failed."""
    replies = {
        ar_score.judge_prompt(reference, reference): self_reply,
        ar_score.judge_prompt(candidate, reference): reply,
    }

    def judge(prompt: str) -> str:
        text = replies[prompt]
        if text is None:
            raise ar_score.JudgeFailure
        return text

    return judge
