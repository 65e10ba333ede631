"""The baselines beside one's own answers are those of the run."""

from __future__ import annotations

from pathlib import Path

from slicewise import params
from slicewise.cli import score_answers
from slicewise.cli.score_card import Declared
from slicewise.models import BaselineModel

ROOT = Path(__file__).parents[2]


def test_a_baseline_draws_as_in_the_run() -> None:
    settings = params.load(ROOT / "params.yaml")
    declared = Declared("abs_xywh_original", None, 1)
    models = score_answers._models(settings, Path("mine.csv"), declared)
    drawn = {model.name: model.seed for model in models if isinstance(model, BaselineModel)}
    (random,) = [model for model in settings.models if model.name == "random"]
    assert isinstance(random, BaselineModel)
    assert drawn["random"] == random.seed != BaselineModel.model_fields["seed"].default
