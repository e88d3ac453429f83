"""The Django application of the working day: a small shop."""
