"""Score stage: one engine per metric; every value has its sufficient statistics and the signature of its settings."""
