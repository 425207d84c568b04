# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of torch.compile without its code generation, and regions in them.

Graphs are captured as Inductor's hooks get them: after AOTAutograd, with Inductor's decompositions,
its random numbers and its partitioner. They are then run as they are, operation by operation, which
shows the same regions as Inductor itself and takes a fraction of its time.
"""

import torch
from functorch.compile import min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch._inductor import inductor_prims
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.fx_passes.replace_random import replace_random_passes
from torch._inductor.virtualized import V

import lnbwd.inductor
from lnbwd.inductor.graph_pass import Partition, RecomputePass, RegionPass
from lnbwd.row_evaluation import random_numbers


def inputs_mode(module):
    return next(n.meta["val"].fake_mode for n in module.graph.nodes
                if isinstance(n.meta.get("val"), torch.Tensor))


def draw(size, seed, mode):
    """What kernels of Inductor draw; its operation by itself draws PyTorch's random numbers."""
    assert mode == "rand"
    return random_numbers(seed, 1, torch.Size(size).numel()).reshape(size)


class Captured:
    """A backend that runs graphs as they are, with the pass or without, and keeps them."""

    def __init__(self, with_regions, region_pass=None):
        self.graphs = []
        self.joint = []  # Forward and backward pass together.
        region_pass = region_pass or RegionPass()

        def compiler(module, inputs):
            if with_regions:
                region_pass(module.graph)
            for node in module.graph.nodes:
                if node.target is inductor_prims.random:
                    node.target = draw
            module.recompile()
            self.graphs.append(module.graph)
            return module

        def partition(module, inputs, **options):
            with V.set_fake_mode(inputs_mode(module)):
                replace_random_passes(module)
            if with_regions:
                RecomputePass()(module.graph)
            self.joint.append(module.graph)
            divide = Partition() if with_regions else min_cut_rematerialization_partition
            return divide(module, inputs, **options)

        self.backend = aot_autograd(fw_compiler=compiler, bw_compiler=compiler,
                                    inference_compiler=compiler,
                                    decompositions=select_decomp_table(),
                                    partition_fn=partition)


def taken():
    return [d for d in lnbwd.inductor.decisions() if d.taken]


def reasons():
    return [d.reason for d in lnbwd.inductor.decisions() if not d.taken]


def run_captured(function, *arguments, dynamic=False, region_pass=None):
    torch._dynamo.reset()
    captured = Captured(True, region_pass)
    result = torch.compile(function, backend=captured.backend, dynamic=dynamic)(*arguments)
    return result, captured


def check_against_double(function, arguments, dynamic=False, tolerance=4e-3):
    """Runs a function with its regions as kernels, and holds it to itself in float64."""
    got, captured = run_captured(function, *arguments, dynamic=dynamic)
    want = function(*(t.double() if t.is_floating_point() else t for t in arguments))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        assert (g.double() - w.double()).norm() <= tolerance * w.double().norm() + 1e-12
    return captured


def operands(device, *kinds, leading=(2, 3), n=64, seed=0):
    """Random rows "r", columns "c", positive row scalars "s", and masks "m"."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"r": (*leading, n), "m": (*leading, n), "c": (n,), "s": (*leading, 1)}
    result = []
    for kind in kinds:
        value = torch.randn(shapes[kind], generator=generator)
        result.append((value.abs() + 0.5 if kind == "s" else value > -0.5 if kind == "m"
                       else value).to(device))
    return result
