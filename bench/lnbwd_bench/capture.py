# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles models as far as the fused nodes of Inductor's scheduler, on fake tensors of a GPU.

No GPU is needed, and no kernel is made (PyTorch without CUDA needs a C++ compiler).
"""

# Inductor's inside has few types.
# mypy: ignore-errors
from __future__ import annotations

import functools
import importlib.util
import json
import math
import operator
import pathlib
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._inductor import compile_fx, config, ir
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Node
from torch.utils import _pytree as pytree

from lnbwd.program.graphs.nodes import is_reduction
from lnbwd.program.row_program import reached

_DEPTHS = ("num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers "
           "num_encoder_layers num_decoder_layers")
_TORCHVISION = (
    "nms qnms roi_align qroi_align _roi_align_backward ps_roi_align _ps_roi_align_backward "
    "roi_pool _roi_pool_backward ps_roi_pool _ps_roi_pool_backward deform_conv2d "
    "_deform_conv2d_backward box_iou_rotated")
_BATCH, _TOKENS, _IMAGES = 8, 512, 32
MODES = ("training autocast", "training float32", "inference bfloat16")
Pattern = dict[str, Any]

# What Inductor asks of a GPU.
_GPU = types.SimpleNamespace(
    name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, warp_size=32,
    regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, max_threads_per_block=1024,
    shared_memory_per_block_optin=232448, total_memory=80 << 30, L2_cache_size=50 << 20,
    gcnArchName="")
# What needs no measurement, with a reduction as one node.
_CONFIG = {"shape_padding": False, "online_softmax": False, "split_reductions": False,
           "triton.mix_order_reduction_non_strict_mode": True}
_CONVOLUTIONS = {torch.ops.aten.convolution.default, torch.ops.aten.convolution_backward.default}
_LIBRARY = torch.library.Library("aten", "IMPL")
# A GPU's device, streams and events, which do nothing.
_HOOKS = """
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
namespace c10::impl {
struct Guard : NoOpDeviceGuardImpl<DeviceType::CUDA> {
  Device getDevice() const override { return {DeviceType::CUDA, 0}; }
  Stream getStream(Device) const noexcept override { return Stream(Stream::DEFAULT, getDevice()); }
  void record(void **, const Stream &, DeviceIndex, EventFlag) const override {}
  void block(void *, const Stream &) const override {}
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)
}
namespace {
struct Hooks : at::CUDAHooksInterface {
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isAvailable() const override { return true; }
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex) const override { return true; }
  at::DeviceIndex deviceCount() const override { return 1; }
  at::DeviceIndex getCurrentDevice() const override { return 0; }
};
auto *hooks = new (const_cast<at::CUDAHooksInterface *>(&at::detail::getCUDAHooks())) Hooks;
} // namespace
"""


def _convolution_format(operand: torch.Tensor, weight: torch.Tensor, _: Any) -> torch.memory_format:
    """How cuDNN, which PyTorch without CUDA has not, lays out images."""
    is_last = any(one.dim() == 4 and one.is_contiguous(memory_format=torch.channels_last)
                  and not one.is_contiguous() for one in (operand, weight))
    return torch.channels_last if is_last else torch.contiguous_format


def pretend_gpu() -> None:
    """Lets fake tensors be on a GPU, and Inductor ask for what it has, without one."""
    if torch.cuda.is_available():
        return
    from torch._dynamo.device_interface import CudaInterface
    from torch._inductor import scheduler, utils
    from torch.utils import cpp_extension
    if torch.version.cuda is None:
        cpp_extension.load_inline("lnbwd_no_gpu", _HOOKS, is_python_module=False,
                                  no_implicit_headers=True)
    # Inductor folds constants with tensors that are not fake.
    _LIBRARY.impl("empty.memory_format", lambda size, dtype=None, **_: torch.empty(
        size, dtype=dtype), "CUDA")
    for name, value in (("current_device", 0), ("get_device_properties", _GPU),
                        ("get_device_capability", (9, 0)), ("get_compute_capability", 90),
                        ("is_bf16_supported", True)):
        setattr(torch.cuda, name, lambda *_, value=value: value)
        for interface in (CudaInterface, CudaInterface.Worker):
            setattr(interface, name, staticmethod(lambda *_, value=value: value))
    CudaInterface.is_available = staticmethod(lambda: True)
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch._C._conv_determine_backend_memory_format = _convolution_format
    scheduler.has_triton = utils.has_triton = lambda *_: True


def _encoded(item: Any, places: dict[Node, int]) -> Any:
    """An argument of a node as a pattern has it."""
    if isinstance(item, Node):
        return {"node": places[item]}
    if isinstance(item, (list, tuple)):
        return [_encoded(part, places) for part in item]
    if isinstance(item, torch.device):
        return {"device": 0}
    if isinstance(item, (torch.dtype, torch.layout, torch.memory_format)):
        return {"torch": str(item).removeprefix("torch.")}
    return {"float": str(item)} if isinstance(item, float) and not math.isfinite(item) else item


def _pattern(nodes: list[Node], outputs: list[Node], model: str) -> Pattern:
    inside = set(nodes)
    inputs = {one: one.meta["val"] for node in nodes for one in node.all_input_nodes
              if one not in inside}
    places = {node: place for place, node in enumerate((*inputs, *nodes))}
    return {"model": model, "inputs": [
                [str(value.dtype).removeprefix("torch."), list(value.shape), list(value.stride())]
                for value in inputs.values()],
            "nodes": [["getitem" if not isinstance(node.target, torch._ops.OpOverload)
                       else str(node.target), _encoded(node.args, places),
                       {key: _encoded(value, places) for key, value in node.kwargs.items()}]
                      for node in nodes],
            "outputs": [places[node] for node in outputs], "seen": False}


def parts_of(nodes: set[Node]) -> Iterator[set[Node]]:
    """What one kernel may compute of Inductor's origins of one, with the convolutions beside it.
    What leads to one operand of a convolution has among its origins what leads to the others."""
    def beside(node: Node) -> set[Node]:
        read = {one for one in node.all_input_nodes if one not in nodes}
        return {*node.all_input_nodes, *node.users, *(user for one in read for user in one.users)}

    def results(node: Node) -> list[Node]:
        return node.all_input_nodes if node.target is operator.getitem else [
            user for user in node.users if user.target is operator.getitem]

    convolved = reached((n for n in nodes if n.target in _CONVOLUTIONS), results) & nodes
    left = nodes - convolved
    while left:
        part = reached([min(left)], lambda node: left & beside(node))  # noqa: B023
        left = left - part
        yield part | reached(convolved & {o for n in part for o in beside(n)}, results) & nodes


def patterns_of(graph: GraphLowering, model: str, has_pointwise: bool = False) -> Iterator[Pattern]:
    """The computations of a graph's fused nodes: of those with a reduction, or of all nodes, each
    with "reduces", whether its node has one."""
    order = {node: place for place, node in enumerate(graph.module.graph.nodes)}
    groups = []
    for fused in graph.scheduler.nodes:
        parts = [n for n in fused.get_nodes() if isinstance(n.node, ir.ComputedBuffer)]
        origins = {o for part in parts for o in part.node.get_origins()
                   if o in order and o.op == "call_function"}
        origins |= {user for o in origins for user in o.users if user.target is operator.getitem}
        groups.append((origins, any(part.is_reduction() for part in parts)))
    for origins, reduces in groups:
        if not (has_pointwise or reduces):
            continue
        outputs = {node for node in origins if any(
            user not in origins and not any(user in g and node in g for g, _ in groups)
            for user in node.users)}
        wanted = reached(outputs, lambda node: origins & {*node.all_input_nodes})  # noqa: B023
        for part in parts_of(wanted):
            if not (has_pointwise or any(map(is_reduction, part))):
                continue  # It is only beside one in the kernel.
            ends = {n for n in part if n in outputs or (wanted - part).intersection(n.users)}
            pattern = _pattern(*(sorted(some, key=order.__getitem__) for some in (part, ends)),
                               model)
            yield {**pattern, "reduces": reduces} if has_pointwise else pattern


def key_of(pattern: Pattern) -> str:
    """What patterns have in common that differ in shapes alone: several integers are sizes."""
    text = json.dumps([pattern["nodes"], [dtype for dtype, *_ in pattern["inputs"]]])
    return re.sub(r"\[-?\d+(, -?\d+)+\]", lambda sizes: str(sizes[0].count(",")), text)


class Capture:
    """Compiles, up to the fused nodes, and keeps what ``take`` finds in each scheduled graph."""

    def __init__(self, take: Callable[[GraphLowering], Iterable[Any]]) -> None:
        self.take = take
        self.found: list[Any] = []

    def compile(self, module: Any, inputs: Any, is_inference: bool = False,
                is_backward: bool = False, **_: Any) -> Any:
        """In the place of Inductor's inner compiler."""
        compile_fx.view_to_reshape(module)
        with torch.no_grad():
            mode = compile_fx.fake_tensor_prop(module, inputs)
        compile_fx._recursive_record_original_output_strides(module)
        with config.patch(_CONFIG), V.set_fake_mode(mode):
            compile_fx._recursive_post_grad_passes(module, is_inference=is_inference)
            graph = GraphLowering(module, example_inputs=inputs, shape_env=module.shape_env,
                                  is_inference=is_inference, is_backward=is_backward)
            with (V.set_graph_handler(graph), V.set_extern_kernel_nodes([]),
                  V.set_debug_handler(DebugContext())):
                graph.run(*inputs)
                graph._update_scheduler()
                self.found += self.take(graph)
        context = torch._guards.TracingContext.try_get()
        if context and context.output_strides is not None:
            context.output_strides += [
                tuple(map(int, out.get_stride())) if isinstance(out, ir.IRNode)
                and out.has_tensor_output() else None for out in graph.graph_outputs]
        values = [n.meta["val"] if isinstance(n, Node) else n
                  for n in module.graph.output_node().args[0]]

        def call(arguments: list[Any]) -> list[Any]:
            arguments.clear()
            return [torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device=v.device)
                    if isinstance(v, torch.Tensor) else v for v in values]

        call._boxed_call = True
        return call

    def __call__(self, module: Any, inputs: Any) -> Any:
        """The backend of torch.compile."""
        with config.patch(_CONFIG):
            return compile_fx.compile_fx(module, inputs, inner_compile=self.compile)


def capture(take: Callable[[GraphLowering], Iterable[Any]], mode: str, model: torch.nn.Module,
            *arguments: Any, **options: Any) -> list[Any]:
    """What ``take`` finds of a model and its arguments, both on the device meta."""
    torch._dynamo.reset()
    backend, training = Capture(take), "training" in mode
    layout = torch.channels_last if "channels-last" in mode else torch.preserve_format
    half = torch.bfloat16 if "bfloat16" in mode else None

    def on_gpu(value: torch.Tensor) -> torch.Tensor:
        dtype = half if half and value.is_floating_point() else value.dtype
        return torch.empty(value.shape, dtype=dtype, device="cuda").to(memory_format=layout)

    model.to(dtype=half, memory_format=layout)
    with FakeTensorMode(allow_non_fake_inputs=True):
        model.to_empty(device="cuda")
        if hasattr(model, "tie_weights"):
            model.tie_weights()
        compiled = torch.compile(model.train(training), backend=backend, dynamic=False)
        arguments, options = pytree.tree_map_only(torch.Tensor, on_gpu, (arguments, options))
        with (torch.set_grad_enabled(training),
              torch.autocast("cuda", torch.bfloat16, enabled="autocast" in mode)):
            result = compiled(*arguments, **options)
        if training:
            (result if isinstance(result, torch.Tensor) else result[0]).float().sum().backward()
    return backend.found


def define_missing_names() -> torch.library.Library:
    """Defines the names of torchvision's operators, without which timm cannot be imported, where
    they are compiled for another build of PyTorch. The library has to be kept."""
    [folder] = importlib.util.find_spec("torchvision").submodule_search_locations
    library = torch.library.Library("torchvision", "FRAGMENT")
    try:
        for file in pathlib.Path(folder).glob("_C*.so"):
            torch.ops.load_library(file)
    except OSError:
        for name in _TORCHVISION.split():
            library.define(f"{name}() -> ()")
    return library


def shorten(model: torch.nn.Module) -> None:
    """Leaves out all but two of equal layers that follow each other."""
    for layers in [*model.modules()]:
        if isinstance(layers, (torch.nn.Sequential, torch.nn.ModuleList)):
            texts = [*map(str, layers)]
            for place in range(len(texts) - 1, 1, -1):
                if texts[place] == texts[place - 1] == texts[place - 2]:
                    del layers[place]


def capture_published(name: str, mode: str, has_pointwise: bool) -> list[Pattern]:
    """The patterns of a class of transformers or a model of timm."""
    take = functools.partial(patterns_of, model=f"{name} {mode}", has_pointwise=has_pointwise)
    with torch.device("meta"):
        if not name[0].isupper():
            import timm
            model = timm.create_model(name)
            shorten(model)
            return capture(take, mode, model,
                           torch.empty(_IMAGES, *model.default_cfg["input_size"]))
        import transformers
        kind = getattr(transformers, name)
        published = kind.config_class()
        for field in _DEPTHS.split():
            if hasattr(published, field):
                setattr(published, field, 2)
        if getattr(published, "layer_types", None):
            published.layer_types = published.layer_types[:2]
        longest = getattr(published, "max_position_embeddings", None) or _TOKENS + 2
        ids = torch.empty(_BATCH, min(_TOKENS, longest - 2), dtype=torch.int64)  # Some from 2 on.
        return capture(take, mode, kind(published), input_ids=ids, use_cache=False,
                       **({"labels": ids} if "training" in mode else {}))
