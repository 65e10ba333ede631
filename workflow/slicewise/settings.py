"""The base of every settings block, and the kind of name that may become a folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slicewise.errors import did_you_mean

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class Settings(BaseModel):
    """Base of every block: unknown keys are errors, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class UniqueKeys(yaml.SafeLoader):
    """YAML in which no key is written twice: the last one would win in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """The mapping as it is written. Raises a ``YAMLError`` when a key is there twice."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value in lines:
                raise yaml.YAMLError(f"'{key.value}' stands in lines {lines[key.value]} and {line}; remove one.")
            if isinstance(key, yaml.ScalarNode):
                lines[key.value] = line
        return node


def known(where: str, found: str, expected: Iterable[str]) -> None:
    """Make sure that a name refers to something; ``where`` is its place in the settings.

    Raises:
        ValueError: It does not; a validator turns this into one sentence for the user.
    """
    names = list(expected)
    if found not in names:
        raise ValueError(f"{where}: '{found}' is not one of {sorted(names)}.{did_you_mean(found, names)}")
