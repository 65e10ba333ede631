"""Tools over the Model Context Protocol: thin faces of :mod:`slicewise.imaging` for a model or a desktop client."""
