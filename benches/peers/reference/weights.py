"""Weights, layers and losses that every learner is written with, in double precision."""

import math

import torch
from torch.nn import functional as F


def single(tensor):
    """The same numbers as single precision holds them."""
    return tensor.float().double()


def normal(*shape):
    return single(torch.randn(*shape))


def initial(shapes):
    """Weights under the names of our checkpoints: layers as (name, inputs, outputs)."""
    weights = {}
    for name, inputs, outputs in shapes:
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
            numbers = (2 * torch.rand(*shape) - 1) / math.sqrt(inputs)
            weights[f"{name}.{part}"] = single(numbers).requires_grad_()
    return weights


def linear(weights, name, x):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def perceptron(weights, name, layers, x):
    """Rectified layers `name.0`, `name.1`, …; the last one is linear."""
    for layer in range(layers - 1):
        x = F.relu(linear(weights, f"{name}.{layer}", x))
    return linear(weights, f"{name}.{layers - 1}", x)


def numbers(value):
    """What JSON is given: nine digits name a number of single precision."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    if isinstance(value, torch.Tensor):
        return numbers(value.tolist())
    return float(f"{value:.9g}") if isinstance(value, float) else value


def flat(weights):
    return {name: tensor.detach().clone().flatten() for name, tensor in weights.items()}


def copy(weights):
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def follow(slow, fast, rate):
    with torch.no_grad():
        for name, tensor in slow.items():
            tensor += rate * (fast[name] - tensor)


def taken(values, actions):
    return values.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def half_square(error):
    return 0.5 * error.square().mean()
