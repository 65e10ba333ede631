"""Tables, figures and the page of a run: the last stage, which reads scores and reaches nothing back."""
