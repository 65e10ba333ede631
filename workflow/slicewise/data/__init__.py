"""Samples: loaders of released files, builders from annotations, and the phantoms of the demo.

Whatever the source, the result is one table of the declared ``samples`` schema per benchmark.
"""
