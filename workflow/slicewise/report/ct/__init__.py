"""The report of a CT suite: the published tables and figures of CT-Flow with ours beside them, and the audit."""
