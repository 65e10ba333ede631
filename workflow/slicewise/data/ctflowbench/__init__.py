"""CT-FlowBench (arXiv 2603.00123) built anew, because its items were never released.

``reports`` grades a report and takes the facts that hard evidence supports; ``content`` refuses what a chest CT
without contrast cannot answer; ``sop`` maps a fact to the tools that verify it; ``questions`` asks about it by place
alone; ``chest`` makes phantoms with reports; ``build`` puts items together.
"""
