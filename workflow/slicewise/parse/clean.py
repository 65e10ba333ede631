r"""First rungs of the ladder: Unicode, reasoning blocks, chat tokens, prompt echo, wrappers.

:func:`clean` gives the readers a text in which explicit marks (``<answer>``, ``\boxed``, box tags) still stand;
:func:`visible` gives what a person would see. Both are idempotent.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import reasoning, signals

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe0e\ufe0f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_DASHES = str.maketrans(
    {"\u2212": "-", "\u2010": "-", "\u2011": "-", "\ufe63": "-", "\uff0d": "-"}
)  # minus and hyphens
# A JSON decoder reads \b, \f and \t of LaTeX commands as control characters.
_EATEN = (("\x08oxed", "\\boxed"), ("\x0crac", "\\frac"), ("\text{", "\\text{"), ("\textbf{", "\\textbf{"))

_HEADER = re.compile(
    r"<\|im_start\|>\s{0,3}(?P<chatml>system|user|assistant|tool)\s?"
    r"|<\|start_header_id\|>\s{0,3}(?P<llama>system|user|assistant|ipython)\s{0,3}<\|end_header_id\|>"
    r"|<start_of_turn>\s{0,3}(?P<gemma>system|user|model)\s?"
    r"|<\|(?P<phi>system|user|assistant|model)\|>"
    r"|(?P<deepseek><\|(?:User|Assistant)\|>)"
    r"|(?P<inst>\[INST\]|\[/INST\])"
    r"|(?:^|(?<=\n))(?P<words>USER|ASSISTANT|Human|Assistant|### ?(?:Human|Assistant|Instruction|Response|User))\s?:\s?"
    r"|(?:\A|(?<=\n))(?P<bare>user|assistant|model|system)\n",
)
_REPLIES = frozenset({"assistant", "model", "[/inst]", "response"})
_END = re.compile(
    r"<\|(?:END_OF_TURN_TOKEN|END_RESPONSE|im_end|endoftext|eot_id|eom_id|end_of_text|end|return|end▁of▁sentence|turn_end|endofturn|EOT|eos)\|>"
    r"|</s>|<eos>|<end_of_turn>|<end_of_utterance>|<EOS>|\[EOS\]|<\|end of sentence\|>",
)
_TOKEN = re.compile(
    r"<\|(?:im_start|im_end|endoftext|begin_of_text|end_of_text|eot_id|eom_id|end|return|start|message"
    r"|channel|constrain|START_OF_TURN_TOKEN|END_OF_TURN_TOKEN|CHATBOT_TOKEN|USER_TOKEN|SYSTEM_TOKEN"
    r"|start_header_id|end_header_id|assistant|user|system|observation|model|begin▁of▁sentence|end▁of▁sentence|pad"
    r"|vision_start|vision_end|vision_pad|image_pad|video_pad|image|image_1|python_tag|turn_end|EOT|eos|bos|startoftext"
    r"|begin_of_solution|end_of_solution|media_start|media_end|START_RESPONSE|END_RESPONSE|media_pad"
    r"|fim_[a-z]+|image_[a-z]+)\|>"
    r"|</?s>|<(?:bos|eos|pad|unk|mask|BOS|EOS|PAD|UNK)>|<(?:start|end)_of_(?:turn|image|utterance)>|<image_soft_token>"
    r"|\[/?INST\]|<</?SYS>>|<image>|<img>|</img>|<IMG_CONTEXT>|<video>|<0x0A>|<unused\d{1,4}>|<grounding>"
    r"|\[(?:EOS|BOS|PAD)\]"
)
_WRAPPER = re.compile(
    r"</?(?:answer|final_answer|final|response|output|conclusion|solution|result)>|<\|(?:begin|end)_of_box\|>",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"<(?P<tag>conclusion|answer|final_answer)>(?P<body>.*?)(?:</(?P=tag)>|\Z)", re.IGNORECASE | re.DOTALL
)
_STAGED = re.compile(r"<(?:summary|caption)>", re.IGNORECASE)
_FENCE_OPEN = re.compile(r"\A\s*```[ \t]*[\w+-]{0,20}[ \t]*(?:\r?\n|(?=[\[{])|\Z)")
_FENCE_CLOSE = re.compile(r"(?:\A|\n|(?<=[\]}]))[ \t]*```\s*\Z")
_INLINE_FENCE = re.compile(r"\A\s*`([^`\n]{1,200})`\s*\Z")
_ERROR_TEXT = re.compile(r"\A\s*\[ERROR(?::|\])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clean:
    """A text after the first rungs.

    Attributes:
        text: Without reasoning, chat tokens and echo; explicit marks and box tags still stand.
        outcome: ``ok``, or why nothing is left: ``empty``, ``truncated``, ``api_error``.
        stage: The last rung that removed something.
        flags: What was noticed.
    """

    text: str
    outcome: Outcome = Outcome.OK
    stage: str = "plain"
    flags: tuple[str, ...] = ()


def normalise(text: str) -> str:
    """NFKC without invisible characters; lone surrogates and NULs are replaced; LaTeX commands that JSON ate return."""
    if text.isascii() and text.isprintable():
        return text
    for eaten, command in _EATEN:
        if eaten in text:
            text = text.replace(eaten, command)
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text).translate(_DASHES)
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)))
    return _CONTROL.sub(
        "", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\x85", "\n")
    )


def clean(text: str | None, *, prompt: str | None = None, prefilled: bool = True, cut: bool = False) -> Clean:
    """Run the first rungs.

    Args:
        text: What the model wrote; ``None`` when the reply had no content.
        prompt: The question as asked; a reply that repeats it at its head loses it.
        prefilled: See :func:`reasoning.remove`.
        cut: The reply is known to have met the token limit.
    """
    if text is None:
        return Clean("", Outcome.EMPTY, "empty", ("empty_output",))
    body = normalise(text).strip()
    flags = ["truncated"] if cut else []
    if not body:
        return Clean("", Outcome.TRUNCATED if cut else Outcome.EMPTY, "empty", (*flags, "empty_output"))
    if _ERROR_TEXT.match(body):
        return Clean("", Outcome.API_ERROR, "error_text", ("error_text",))
    stage = "plain"
    for _ in range(4):  # a removal can bring another mark together; the second pass normally changes nothing
        shown, rung, noticed = _rungs(body, prompt, prefilled)
        flags += noticed
        if shown == body:
            break
        stage, body = rung, shown
    if "unclosed_think" in flags and signals.loops(text):
        flags.append("loop")
    if not body:
        unfinished = cut or "unclosed_think" in flags
        outcome = Outcome.TRUNCATED if unfinished else Outcome.EMPTY
        return Clean("", outcome, stage, tuple(dict.fromkeys([*flags, "empty_output"])))
    return Clean(body, Outcome.OK, stage, tuple(dict.fromkeys(flags)))


def _rungs(body: str, prompt: str | None, prefilled: bool) -> tuple[str, str, list[str]]:
    """One pass over reasoning, chat tokens and echo: the text, the last rung that changed it, flags."""
    stage = "plain"
    flags: list[str] = []
    found = reasoning.remove(body, prefilled=prefilled)
    if found.stage != "plain":
        stage, body = found.stage, found.text.strip()
        flags += found.flags
    if "<" in body or "[" in body or "\n" in body or ":" in body:
        spoken, noticed = _turns(body)
        if spoken != body:
            stage, body = "chat_tokens", spoken
            flags += noticed
    rest = _without_echo(body, prompt) if prompt is not None else None
    if rest is not None:
        stage, body = "echo", rest
        flags.append("prompt_echo")
    return body, stage, flags


def _turns(text: str) -> tuple[str, list[str]]:
    """The first turn of the assistant, without chat tokens and without what follows its end."""
    flags: list[str] = []
    heads = list(_HEADER.finditer(text))
    if text.startswith("USER:") and "ASSISTANT:" in text:
        text, heads = text[text.rfind("ASSISTANT:") + 10 :], []
    if heads and (text[: heads[0].start()].strip() == "" or _is_echo_head(heads[0])):
        text = _reply(text, heads) or _TOKEN.sub("", text[: heads[0].start()])
    elif (
        heads
        and _TOKEN.sub("", text[: heads[0].start()]).strip()
        and heads[0]["words"] is None
        and heads[0]["bare"] is None
    ):
        text = text[: heads[0].start()]
        flags.append("extra_turns")
    for end in _END.finditer(text):
        if _TOKEN.sub("", text[: end.start()]).strip():
            if _TOKEN.sub("", text[end.end() :]).strip():
                flags.append("text_after_end")
            text = text[: end.start()]
            break
    return _TOKEN.sub("", text).strip(), flags


def _is_echo_head(head: re.Match[str]) -> bool:
    return (head["inst"] or "") == "[/INST]"


def _role(head: re.Match[str]) -> str:
    name = next(group for group in head.groups() if group)
    return name.lower().strip("<|>#: ").replace("### ", "")


def _reply(text: str, heads: list[re.Match[str]]) -> str:
    """The first non-empty turn of the assistant after the last prompt that precedes it."""
    for i, head in enumerate(heads):
        if _role(head) not in _REPLIES:
            continue
        stop = heads[i + 1].start() if i + 1 < len(heads) else len(text)
        turn = text[head.end() : stop]
        if _TOKEN.sub("", turn).strip():
            return turn
    if any(_role(head) in _REPLIES for head in heads):
        return ""
    return text


def _without_echo(text: str, prompt: str) -> str | None:
    """The text after a repeated prompt, or ``None`` when it does not begin with the prompt or is nothing else."""
    asked = normalise(prompt).strip()
    if len(asked) < 12 or not text.startswith(asked):
        return None
    rest = text[len(asked) :].strip()
    return rest or None


def peel(text: str) -> str:
    """The text without wrappers: answer tags and code fences around the whole, GLM's box tokens anywhere."""
    while True:
        peeled = _peel_once(text)
        if peeled == text:
            return text
        text = peeled


def _peel_once(text: str) -> str:
    text = text.strip()
    if "<" in text:
        if _STAGED.match(text):
            sections = list(_SECTION.finditer(text))
            if sections and sections[-1]["body"].strip():
                return str(sections[-1]["body"].strip())
        text = _WRAPPER.sub("", text).strip()
    if "`" not in text:
        return text
    inline = _INLINE_FENCE.match(text)
    if inline:
        return inline[1].strip()
    opened = _FENCE_OPEN.match(text)
    if opened:
        text = text[opened.end() :]
    closed = _FENCE_CLOSE.search(text[-64:]) if text.endswith("```") else None
    if closed and (opened or text.count("```") % 2 == 1):
        text = text[: len(text) - len(text[-64:]) + closed.start()] if len(text) > 64 else text[: closed.start()]
    return text.strip()


def visible(text: str | None, *, prompt: str | None = None, prefilled: bool = True, cut: bool = False) -> Reading[str]:
    """What the reader of a reply sees: no reasoning, no chat tokens, no wrappers.

    Returns:
        The text; or ``empty``, ``truncated`` (a reasoning block that never closes, or a reply cut before it began),
        ``refused`` (nothing but a refusal), ``api_error`` (the text is a harness's error message).
    """
    return see(clean(text, prompt=prompt, prefilled=prefilled, cut=cut))


def see(cleaned: Clean) -> Reading[str]:
    """:func:`visible` for a text that is clean already."""
    if cleaned.outcome is not Outcome.OK:
        return failed(cleaned.outcome, cleaned.stage, *cleaned.flags)
    shown = peel(cleaned.text)
    while shown != cleaned.text and (inner := clean(shown).text) != shown:
        shown = peel(inner)
    if not shown:
        return failed(Outcome.EMPTY, cleaned.stage, *cleaned.flags, "empty_output")
    flags = [*cleaned.flags]
    if signals.loops(shown):
        flags.append("loop")
    if only_refuses(shown):
        return failed(Outcome.REFUSED, "refusal", *flags, "refusal")
    return ok(shown, cleaned.stage, *flags)


_GOES_ON = re.compile(
    r"\b(?:however|but here|that said|nevertheless|nonetheless|based on|here is|here's|appears|shows)\b", re.I
)


def only_refuses(text: str) -> bool:
    """Whether a short text declines and does not go on to answer."""
    return len(text) <= 600 and signals.refuses(text) and _GOES_ON.search(text) is None
