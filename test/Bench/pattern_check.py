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
from torch._inductor import inductor_prims
from torch._inductor.utils import fresh_cache
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import lnbwd
import lnbwd.inductor
from lnbwd.inductor.torch_internals import fusion
from lnbwd.ops import native, regions
from lnbwd.program.evaluation import random_numbers
from lnbwd_bench import results
from lnbwd_bench.patterns import graph_of
from lnbwd_bench.random_inputs import random_inputs

# Operators whose first or second argument is a shape.
_SHAPED = {f"{name}.default" for name in (
    "aten.reshape", "aten.expand", "aten.full", "aten.repeat", "prims.inductor_random")}
_MOST_ELEMENTS = 10_000_000  # Of all tensors of a pattern together.
_COMPARED = 1 << 26  # Elements at a time.
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


def inputs_of(pattern, device="cpu", seed=1, has_special=False):
    """Random inputs as a pattern wants them."""
    with FakeTensorMode():
        graph = graph_of(pattern, device).graph
    values = [node.meta["val"] for node in graph.find_nodes(op="placeholder")]
    return random_inputs(graph, values, torch.Generator(device).manual_seed(seed), has_special)


def _seeds(count, device):
    """What Inductor draws, of all integers; its operation by itself draws positive ones."""
    return torch.randint(-(2 ** 63), 2 ** 63 - 1, [count], device=device)


def _draw(size, seed, mode):
    """What kernels of Inductor draw; its operation by itself draws PyTorch's random numbers."""
    return random_numbers(seed, 1, math.prod(size)).reshape(size)


def _in_own_types(target, types):
    """An operation that PyTorch has not in float64, on arguments and with results of float64."""
    def compute(*arguments, **options):
        results = target(*(value.to(dtype) if dtype and dtype.is_floating_point else value
                           for value, dtype in zip(arguments, types, strict=True)), **options)
        return pytree.tree_map_only(
            torch.Tensor, lambda x: x.double() if x.is_floating_point() else x, results)

    return compute


def runnable(module, is_exact=False):
    """A pattern's graph, to be run by PyTorch; if it is to be exact, in float64, but for attention,
    whose operations PyTorch has in the types of rows alone."""
    for node in module.graph.nodes:
        if is_exact and "attention" in str(node.target):
            node.target = _in_own_types(node.target, [
                getattr(value.meta.get("val"), "dtype", None) if isinstance(value, torch.fx.Node)
                else None for value in node.args])

    def wider(item):
        return (torch.float64 if is_exact and isinstance(item, torch.dtype)
                and item.is_floating_point else item)

    for node in module.graph.nodes:
        node.meta = {}
        node.args = torch.fx.node.map_aggregate(node.args, wider)
        node.kwargs = torch.fx.node.map_aggregate(node.kwargs, wider)
        if node.target is inductor_prims.random:
            node.target = _draw
        elif node.target is inductor_prims.seeds:
            node.target = _seeds
    module.recompile()
    return module


def _add_biases(graph):
    """Has the biases of convolutions be added behind them, as torch.compile has it on a GPU: the
    results of both are rounded."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.convolution.default):
        if (bias := node.args[2]) is not None:
            node.update_arg(2, None)
            with graph.inserting_after(node):
                row = graph.call_function(torch.ops.aten.reshape.default, (
                    bias, [-1] + [1] * (node.meta["val"].dim() - 2)))
            with graph.inserting_after(row):
                whole = graph.call_function(torch.ops.aten.add.Tensor, (node, row))
            node.replace_all_uses_with(whole, lambda user, whole=whole: user is not whole)


def expected(pattern, inputs):
    """What PyTorch computes, operation by operation, in the pattern's types and in float64."""
    device = inputs[0].device.type if inputs else (
        "cuda" if torch.cuda.is_available() else "cpu")
    found = []
    for is_exact in (False, True):
        with FakeTensorMode():
            module = graph_of(pattern, device)
        _add_biases(module.graph)
        torch.manual_seed(0)
        found.append(runnable(module, is_exact)(*(
            x.double() if is_exact and x.is_floating_point() else x for x in inputs)))
    return found


def faults(got, eager, exact):
    """What is wrong with outputs: in the norm, twice eager's error and a few roundings are right.
    What is finite in one of the two references may be finite."""
    found = []
    for place, (mine, theirs, want) in enumerate(zip(got, eager, exact, strict=True)):
        if not isinstance(mine, torch.Tensor) or mine.is_complex():
            continue
        if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
            found.append(f"output {place}: expected {theirs.dtype} {tuple(theirs.shape)}, got "
                         f"{mine.dtype} {tuple(mine.shape)}")
            continue
        wrong, whole, ours, eagers = 0, 0.0, 0.0, 0.0
        # Some tensors are large beside a GPU's memory.
        for part in zip(*(t.reshape(-1).split(_COMPARED) for t in (mine, theirs, want)),
                        strict=True):
            of_mine, of_theirs, of_want = (t.isfinite() for t in part)
            wrong += int(((of_mine != of_theirs) & (of_mine != of_want)).sum())
            both = of_mine & of_theirs & of_want
            got_here, eager_here, exactly = (t[both].double() for t in part)
            whole, ours, eagers = map(math.hypot, (whole, ours, eagers), (
                t.norm().item() for t in (exactly, got_here - exactly, eager_here - exactly)))
        if wrong:
            found.append(f"output {place}: {wrong} of {mine.numel()} are finite that should not "
                         "be, or the reverse")
        rounding = torch.finfo(mine.dtype).eps if mine.is_floating_point() else 0.0
        if ours > 2 * eagers + (4 * rounding + 1e-6) * whole:
            found.append(f"output {place}: an error of {ours / (whole or 1):.1e}, eager's is "
                         f"{eagers / (whole or 1):.1e}")
    return found


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
