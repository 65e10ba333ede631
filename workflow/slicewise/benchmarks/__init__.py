"""Declarations only: what the benchmarks ask, which metric applies to which item, and the published rows."""
