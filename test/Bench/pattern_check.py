# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what backend="lnbwd" makes of patterns of real models with PyTorch in float64.

Where a pattern allows it, its sizes are made smaller, so that the simulator runs the kernels. As a
command it says what is wrong, and how many patterns it could check; with --programs PyTorch's
operations compute the row programs, without kernels.

  pattern_check.py [--only PLACE ...] [--programs] [--chip CHIP] [--patterns FILE]
"""

import argparse
import contextlib
import copy
import json
import logging
import math
import pathlib
import sys
from unittest import mock

import torch
from torch._inductor.utils import fresh_cache
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import lnbwd
import lnbwd.inductor
from lnbwd.ops import native, regions
from lnbwd.program.torch_internals import fusion
from lnbwd_bench import results
from lnbwd_bench.patterns import expected, faults, graph_of, inputs_of

# Operators whose first or second argument is a shape.
_SHAPED = {f"{name}.default" for name in (
    "aten.reshape", "aten.expand", "aten.full", "aten.repeat", "prims.inductor_random")}
_MOST_ELEMENTS = 10_000_000  # Of all tensors of a pattern together.
_SAMPLES_OF_TOKENS, _TOKENS, _SAMPLES_OF_IMAGES = 8, 512, 32


def _fewer(count, rest=lambda size: size):
    """Makes a first dimension of samples ``count`` times smaller, and the others by ``rest``."""
    def change(shape):
        first = shape[0]
        if len(shape) > 1 and first % count == 0 and (
                first == _SAMPLES_OF_IMAGES or math.prod(shape[1:]) != 1):
            first //= count
        return [rest(size) for size in (first, *shape[1:])]
    return change


def _without(*primes):
    """Takes prime factors out of all sizes, so that dimensions that were joined still are."""
    def change(size):
        for prime in primes if size > 0 else ():
            while size % prime == 0:
                size //= prime
        return size
    return change


def _of_tokens(shape):
    """Two samples of four tokens each, of eight of 512."""
    few = {_TOKENS: 4, _TOKENS - 1: 3, _TOKENS + 1: 5}
    first, *rest = shape
    if first > 0 and first % (_SAMPLES_OF_TOKENS * _TOKENS) == 0:
        return [first // 512, *rest]
    if first == _SAMPLES_OF_TOKENS * (_TOKENS - 1):
        return [6, *rest]
    if rest and (first == 1 or (first % _SAMPLES_OF_TOKENS == 0 and first <= _TOKENS)):
        return [first if first == 1 else first // 4, *(few.get(size, size) for size in rest)]
    return shape


def _smaller(pattern, change):
    """A pattern with other sizes; strides are as far apart as before."""
    def strided(shape, strides):
        sizes = change(shape) if shape else []
        return [sizes, [
            stride * math.prod(new for new, other in zip(sizes, strides, strict=True)
                               if 0 < other < stride)
            // math.prod(old for old, other in zip(shape, strides, strict=True)
                         if 0 < other < stride) for stride in strides]]

    result = copy.deepcopy(pattern)
    for operand in result["inputs"]:
        operand[1:] = strided(*operand[1:])
    for target, arguments, _ in result["nodes"]:
        if target == "aten.as_strided.default":
            arguments[1:3] = strided(*arguments[1:3])
        elif target == "prims.iota.default":
            arguments[0] = change([1, arguments[0]])[1]
        elif target == "aten.embedding.default" and (place := arguments[0]["node"]) < len(
                result["inputs"]):
            table = result["inputs"][place][1]
            table[0] = min(table[0], 1024)  # Indices are 0 and 1, or positions.
        elif target in _SHAPED:
            arguments[:2] = [change(item) if isinstance(item, list) and item
                             and all(type(size) is int for size in item) else item
                             for item in arguments[:2]]
    return result


def _elements(pattern):
    with FakeTensorMode():
        nodes = graph_of(pattern).graph.nodes
    return sum(n.meta["val"].numel() for n in nodes if isinstance(n.meta.get("val"), torch.Tensor))


def on_few_rows(pattern):
    """The pattern with small sizes; None if none of those that are tried fit."""
    # PyTorch writes where the indices say, and random ones may lie outside.
    if any("max_pool2d_with_indices_backward" in target for target, *_ in pattern["nodes"]):
        return None
    of_images = [_fewer(16, _without(7)), _fewer(8, _without(7)), _fewer(16),
                 _fewer(1, _without(2, 7)), _fewer(1, _without(7))]
    of_tokens = [_of_tokens, lambda shape: _of_tokens(shape) if len(shape) > 1 else shape,
                 _fewer(4), _fewer(512)]
    for change in (*(of_images if pattern["model"][0].islower() else of_tokens),
                   _fewer(1, _without(2)), list):
        # Not all sizes fit one another then.
        with contextlib.suppress(RuntimeError, IndexError, ValueError, AssertionError, TypeError):
            small = _smaller(pattern, change)
            if _elements(small) <= _MOST_ELEMENTS:
                return small
    return None


@contextlib.contextmanager
def no_kernels():
    """Row programs are computed by PyTorch's operations."""
    with (mock.patch.object(regions, "load_kernel", lambda *_: None),
          mock.patch.object(regions, "find_kernel", lambda *_: None),
          mock.patch.object(native, "make_region_call", lambda *_: None)):
        yield


def check(pattern, has_kernels=True):
    """What is wrong with a pattern's results with kernels, or those of its row programs; None if it
    cannot be checked."""
    pattern = on_few_rows(pattern)
    if not pattern:
        return None
    torch._dynamo.reset()
    with FakeTensorMode():
        module = graph_of(pattern)
    for node in module.graph.nodes:
        node.meta.clear()
    found = []
    lnbwd.inductor.decisions(clear=True)
    # Small nodes are fused as large ones are.
    with (contextlib.nullcontext() if has_kernels else no_kernels(), fresh_cache(),
          mock.patch.object(fusion, "LEAST_FUSED", 1)):
        compiled = torch.compile(module, backend="lnbwd", fullgraph=True, dynamic=False)
        for has_special in (False, True):
            inputs = inputs_of(pattern, has_special=has_special)
            try:
                eager, exact = expected(pattern, inputs)
            except (RuntimeError, IndexError):  # A convolution, or an index that is too large.
                return None
            torch.manual_seed(0)
            found += [f"{'NaN and infinities: ' if has_special else ''}{fault}"
                      for fault in faults(compiled(*inputs), eager, exact)]
    is_taken = any(one.taken for one in lnbwd.inductor.decisions(clear=True))
    return found if is_taken else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", type=pathlib.Path, default=results.PATTERNS)
    parser.add_argument("--only", type=int, nargs="+", metavar="PLACE")
    parser.add_argument("--programs", action="store_true", help="row programs, without kernels")
    parser.add_argument("--chip", default="gfx942")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Sizes that do not fit one another.
    patterns = list(map(json.loads, results.patterns(options.patterns)))
    counts = {"right": 0, "wrong": 0, "not checked": 0}
    with lnbwd.simulate(options.chip), torch.no_grad():
        for place in options.only or range(len(patterns)):
            try:
                found = check(patterns[place], not options.programs)
            except Exception as error:
                found = [repr(error)]
            counts["not checked" if found is None else "wrong" if found else "right"] += 1
            for fault in found or ():
                print(f"{place} {patterns[place]['model']}: {fault}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
