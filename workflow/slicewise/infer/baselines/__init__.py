"""Backend ``baseline``: rules and one small vision method that answer in text like any model.

=============== =====================================================================================================
``oracle``      writes the gold through the declared box convention and frame wording: proves the whole way back
``blank``       writes nothing
``always-yes``  ``Yes`` to yes-or-no questions, one fixed sentence to everything else
``majority``    the most frequent gold of the benchmark itself per level, anatomy, task and type: an upper bound of
                blind rules, because it has seen the gold that it is scored on
``random``      uniform over the item's options or yes and no, a count or text of another item, a uniform box
``prior-box``   the majority and the mean gold box of all other volumes: a blind rule that has not seen its own gold
``blind-rules`` fixed rules for the choices on CT that read the question and no image
``blob``        looks at the pixels (:mod:`slicewise.infer.blob`)
=============== =====================================================================================================
"""

from __future__ import annotations

from slicewise.infer.baselines.base import BaselineBackend, Rule
from slicewise.infer.baselines.blind import AlwaysYesRule, BlankRule, RandomRule
from slicewise.infer.baselines.blob import BlobRule
from slicewise.infer.baselines.ct import CtBlindRule
from slicewise.infer.baselines.oracle import OracleRule
from slicewise.infer.baselines.prior import MajorityRule, PriorBoxRule
from slicewise.jobs import InferJob
from slicewise.params import BaselineModel

__all__ = ["RULES", "BaselineBackend", "Rule", "backend"]

RULES: dict[str, type[Rule]] = {
    "oracle": OracleRule,
    "blank": BlankRule,
    "always-yes": AlwaysYesRule,
    "majority": MajorityRule,
    "random": RandomRule,
    "prior-box": PriorBoxRule,
    "blob": BlobRule,
    "blind-rules": CtBlindRule,
}


def backend(job: InferJob) -> BaselineBackend:
    """The backend of a model declared with ``backend: baseline``."""
    if not isinstance(job.model, BaselineModel):
        raise TypeError(f"model '{job.model.name}' is no baseline")
    return BaselineBackend(job.model, RULES[job.model.baseline])
