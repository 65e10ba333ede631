"""Slicewise: how well vision-language models read medical volumes.

Research use, not for clinical decisions.
"""

__version__ = "0.1.0"
