# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of tensors with few different sizes, drawn by a number: what tells dimensions apart by
their sizes takes one for another in them.

Run as a program, it compares drawn functions with themselves in float64 for some time:
``drawn_graphs.py CHIP SEED SECONDS``.
"""

import contextlib
import itertools
import math
import random
import sys
import time
import traceback

import torch
import torch.nn.functional as F

import lnbwd
import lnbwd.inductor

STEPS = ["bin", "bin", "bin", "un", "un", "red", "red", "keep", "keep", "perm", "resh", "where",
         "scale", "cat", "slice", "clone", "gn", "ln", "expand", "group", "softmax"]
TYPES = [torch.float32] * 4 + [torch.bfloat16, torch.float16]
MOST_ELEMENTS, MOST_DIMS = 4000, 5
FAILURES = ("error in lnbwd", "no kernel")
"""Parts of the reasons for which no node should be left."""


class Drawn:
    """A function with its operands.

    Attributes:
        function: gives a list of tensors.
        operands: of float32 or less, in some layout.
        has_gradient: whether it is differentiated.
        is_dynamic: whether it is compiled for sizes that are not known.
    """

    def __init__(self, number):
        draw = random.Random(number)
        rank = draw.choice([2, 3, 3, 4, 4])
        sizes = [draw.choice([1, 2, 3, 4, 4, 6, 8, 8, 12, 16]) for _ in range(rank)]
        if draw.random() < .85:
            sizes[-1] = draw.choice([4, 8, 8, 16, 12, 6])
        layouts = [draw_operand(draw, sizes, place) for place in range(draw.randint(2, 4))]
        steps = [(draw.choice(STEPS), [draw.randrange(1000) for _ in range(6)])
                 for _ in range(draw.randint(3, 9))]
        dtype = draw.choice(TYPES)
        self.has_gradient = draw.choice(["plain", "plain", "plain", "nograd"]) == "plain"
        generator = torch.Generator().manual_seed(number)
        self.operands = [laid_out(shape, layout, generator, number, dtype)
                         for shape, layout in layouts]
        self.is_dynamic = draw.random() < .15
        self.function = lambda *operands: computed(steps, operands)

    def results(self, function, dtype=None):
        """What a function gives, and its gradients."""
        operands = [one.detach().to(dtype or one.dtype).requires_grad_(self.has_gradient)
                    for one in self.operands]
        with contextlib.nullcontext() if self.has_gradient else torch.no_grad():
            results = function(*operands)
        if not self.has_gradient:
            return results
        generator = torch.Generator().manual_seed(3)
        total = sum((result.double() * torch.randn(
            result.shape, generator=generator, dtype=torch.float64).to(result.device)).sum()
                    for result in results)
        gradients = torch.autograd.grad(total, operands, allow_unused=True)
        return [result.detach() for result in results] + list(gradients)

    def difference(self):
        """What is wrong with its results; empty: nothing."""
        torch._dynamo.reset()
        compiled = torch.compile(self.function, backend="lnbwd", dynamic=self.is_dynamic)
        found = zip(self.results(compiled), self.results(self.function),
                    self.results(self.function, torch.float64), strict=True)
        for place, (got, plain, exact) in enumerate(found):
            if got is None or plain is None:
                if got is not plain:
                    return f"result {place}: expected {plain}, got {got}"
                continue
            if (got.shape, got.dtype) != (plain.shape, plain.dtype):
                return (f"result {place}: expected {plain.dtype} {list(plain.shape)}, got "
                        f"{got.dtype} {list(got.shape)}")
            finite = plain.isfinite()
            if not torch.equal(got.isfinite(), finite):
                return f"result {place}: expected {plain}, got {got}"
            error, bound = ((one.double() - exact)[finite].abs().amax() if finite.any() else 0.
                            for one in (got, plain))
            scale = exact[finite].abs().amax() if finite.any() else 0.
            if error > 4 * bound + scale * (2e-5 if got.dtype == torch.float32 else 2e-2) + 1e-6:
                return f"result {place}: expected an error of {bound} of {scale}, got {error}"
        return ""


def draw_operand(draw, sizes, place):
    """A shape that is spread over some sizes, and a layout."""
    shape, kind = list(sizes), draw.random()
    if place and kind < .55:
        for dim in range(len(sizes)):
            if draw.random() < .5:
                shape[dim] = 1
    while place and kind < .8 and shape and shape[0] == 1 and len(shape) > 1 and (
            draw.random() < .5):
        shape = shape[1:]
    return tuple(shape), draw.choice(["c", "c", "c", "perm", "cl", "slice", "exp"])


def laid_out(shape, layout, generator, number, dtype):
    """Random numbers in a layout."""
    value = torch.randn(shape, generator=generator).to(dtype)
    rank = value.dim()
    if layout == "perm" and rank > 1:
        dims = list(range(rank))
        random.Random(number).shuffle(dims)
        return value.permute(dims).contiguous().permute([dims.index(dim) for dim in range(rank)])
    if layout == "cl" and rank == 4:
        return value.to(memory_format=torch.channels_last)
    if layout == "cl" and rank == 3:
        return value.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "slice":
        wide = torch.randn((*shape[:-1], shape[-1] * 2), generator=generator).to(dtype)
        return wide[..., :shape[-1]]
    return value[:1].expand(shape) if layout == "exp" and rank > 1 else value


def is_spread(first, second):
    """Whether two tensors are spread over one another."""
    return all(size == other or 1 in (size, other)
               for size, other in zip(reversed(first.shape), reversed(second.shape), strict=False))


def computed(steps, operands):
    """What steps compute of operands."""
    values, results, rows = list(operands), [], [operands[0]]
    for name, numbers in steps:
        made = step(name, numbers, rows[-1 - numbers[0] % min(3, len(rows))],
                    values[numbers[1] % len(values)])
        if made is None:
            continue
        kind, value = made
        if kind == "result":
            results.append(value)
        elif kind == "small":
            values.append(value)
        elif value.numel() <= MOST_ELEMENTS and value.dim() <= MOST_DIMS:
            rows.append(value)
            values.append(value)
    results += rows[-2:]
    if len(rows) > 2:
        results.append(rows[-1].sum(list(range(rows[-1].dim() - 1))))
    return results


def step(name, numbers, a, other):
    """What one step makes of a tensor, and perhaps of another one: a kind and a value."""
    _, q, r, s, t, _ = numbers
    if name in ("red", "keep"):
        return reduced(name, numbers, a)
    if name in ("bin", "where") and not is_spread(a, other):
        return None
    if name == "bin":
        return "row", [lambda: a + other, lambda: a * other, lambda: a - other,
                       lambda: torch.maximum(a, other), lambda: torch.minimum(a, other),
                       lambda: a / (other.abs() + 1)][r % 6]()
    if name == "un":
        return "row", [torch.tanh, torch.sigmoid, F.relu, F.gelu,
                       lambda x: (x * .3).exp().clamp(max=9), lambda x: x.square() * .2,
                       torch.sin][r % 7](a)
    if name == "where":
        return "row", torch.where(other > .1, a, a * .5 if r % 2 else 0.)
    if name == "scale":
        return "row", a * (1 + q % 3) + .1
    if name == "softmax":
        return "row", a.softmax(q % a.dim())
    if name in ("gn", "ln", "group"):
        return normed(name, q, r, a)
    return moved(name, (q, r, s, t), a)


def reduced(name, numbers, a):
    """Sums and the like, alone or with what follows from them."""
    _, q, r, s, t, _ = numbers
    dims = [dim for dim in range(a.dim()) if (q >> dim) & 1] or [a.dim() - 1]
    value = [lambda: a.sum(dims, keepdim=True), lambda: a.mean(dims, keepdim=True),
             lambda: a.amax(dims, keepdim=True),
             lambda: a.var(dims, correction=0, keepdim=True),
             lambda: a.square().sum(dims, keepdim=True)][r % 5]()
    if name == "red":
        return "result", value.squeeze(dims) if s % 2 else value
    if t % 4 == 0:
        return "small", value
    return "row", [lambda: a - value, lambda: a * torch.sigmoid(value),
                   lambda: a / (value.abs() + 1)][s % 3]()


def normed(name, q, r, a):
    """Norms."""
    if name == "ln":
        shape = tuple(a.shape[-(1 + q % 2 if a.dim() > 1 else 1):])
        return "row", F.layer_norm(a, shape) if r % 2 else F.rms_norm(a, shape, eps=1e-5)
    if a.dim() < (3 if name == "gn" else 2):
        return None
    if name == "group":
        return "row", a - a.flatten(1).mean(1).view(-1, *[1] * (a.dim() - 1))
    counts = [count for count in (1, 2, 4, a.shape[1]) if a.shape[1] % count == 0]
    groups = counts[q % len(counts)]
    return None if a[0].numel() // groups < 2 else ("row", F.group_norm(a, groups))


def moved(name, numbers, a):
    """What changes the shape, or where elements lie."""
    q, r, s, t = numbers
    shape = list(a.shape)
    if name == "perm":
        orders = list(itertools.permutations(range(a.dim())))
        value = a.permute(orders[q % len(orders)])
        return "row", value.contiguous() if r % 2 else value
    if name == "resh":
        if q % 3 == 0 and len(shape) > 1:
            dim = r % (len(shape) - 1)
            shape[dim:dim + 2] = [math.prod(shape[dim:dim + 2])]
        elif q % 3 == 1:
            dim, count = r % len(shape), [2, 4, 3][s % 3]
            if shape[dim] % count or len(shape) > 4:
                return None
            parts = [count, shape[dim] // count]
            shape[dim:dim + 1] = parts if t % 2 else parts[::-1]
        else:
            shape = [shape[0], -1] if len(shape) > 1 else [1, *shape]
        return "row", a.reshape(shape)
    if name == "cat":
        return "row", torch.cat((a, a * 2), r % a.dim()) if q % 2 else F.pad(a, (1, 0))
    if name == "slice":
        dim = q % a.dim()
        size = shape[dim]
        return "row", a.narrow(dim, r % size if size > 1 else 0, max(1, (size - r % size) // 2))
    if name == "clone":
        return "row", [lambda: a.flip(q % a.dim()),
                       lambda: a.transpose(0, -1).contiguous().transpose(0, -1), a.clone][r % 3]()
    value = a.unsqueeze(q % (a.dim() + 1))
    shape = list(value.shape)
    shape[q % value.dim()] = 2
    return "row", value.expand(shape)


def main():
    chip, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    end, tried, taken = time.time() + seconds, 0, 0
    with lnbwd.simulate(chip):
        for number in itertools.count(seed * 100000):
            if time.time() > end:
                break
            try:
                drawn = Drawn(number)
                drawn.function(*drawn.operands)
            except (RuntimeError, ValueError, IndexError):
                continue  # PyTorch has no such function.
            lnbwd.inductor.decisions(clear=True)
            try:
                difference = drawn.difference()
            except Exception:
                difference = traceback.format_exc()
            tried += 1
            for decision in lnbwd.inductor.decisions():
                taken += decision.taken
                if any(what in decision.reason for what in FAILURES):
                    print(f"{number}: {decision.kernel}: {decision.reason[:300]}", flush=True)
            if difference:
                print(f"{number}: {difference}", flush=True)
    print(f"{tried} graphs, {taken} nodes taken")


if __name__ == "__main__":
    main()
