"""The page of a run: one static file, no script, no network; figures by relative links."""
