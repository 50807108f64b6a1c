"""The paper, reproduced: its datasets, its scenarios, its figures and its claims."""
