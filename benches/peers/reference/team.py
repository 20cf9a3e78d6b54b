"""The team of three that learns from joint transitions, and the rule it learns by."""

import itertools

AGENTS, FEATURES, BATCH, UPDATES = 3, 2, 5, 6
STATE = AGENTS * FEATURES
PAIRS = list(itertools.combinations(range(AGENTS), 2))
RULE = {"lr": 3e-3, "tau": 0.1, "max_norm": 0.5, "average_rate": 0.02, "gamma": 0.9}
