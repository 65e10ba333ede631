"""The baselines beside one's own answers are those of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from slicewise import params
from slicewise.cli import score_answers
from slicewise.cli.score_card import Declared
from slicewise.errors import UserError
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


def test_answers_on_ct_are_sent_to_a_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'ctflowbench-demo' is on CT.*backend 'file'"):
        score_answers.run(
            tmp_path / "mine.csv",
            ROOT / "params.yaml",
            "ctflowbench-demo",
            Declared("abs_xywh_original", None, 1),
            tmp_path / "out",
            ar=False,
            threads=1,
        )
