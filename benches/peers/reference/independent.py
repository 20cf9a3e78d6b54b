"""IQL and VDN: every agent's own value, learned alone or as a summand."""

from q_learning import own_values
from weights import half_square


def iql_loss(online, target, batch):
    values, next_values = own_values(online, target, batch)
    return half_square(values - batch["rewards"] - batch["discounts"][:, None] * next_values)


def vdn_loss(online, target, batch):
    values, next_values = own_values(online, target, batch)
    targets = batch["rewards"].mean(1) + batch["discounts"] * next_values.sum(1)
    return half_square(values.sum(1) - targets)
