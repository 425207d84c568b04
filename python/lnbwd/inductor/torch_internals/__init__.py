# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that the backend uses of torch._inductor: private names, which differ among versions of
PyTorch. Nothing else in :mod:`lnbwd.inductor` names them, and this imports :mod:`lnbwd.program`.
"""

from torch._inductor import ir
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.cuda_combined_scheduling import CUDACombinedScheduling
from torch._inductor.codegen.triton import TritonScheduling
from torch._inductor.compile_fx import compile_fx_inner
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._triton import has_triton

from .attempts import LeftError, attempt, compile_again
from .fusion import CompiledKernel, compiled_kernels, own_kernels
from .graph import (
    as_of_cpu,
    dtype_of,
    first_element,
    fused_nodes,
    hint_of,
    is_apart,
    is_changed,
    is_local,
    is_scatter,
    layout_of,
    memory_name,
    memory_order,
    names_of,
    results_of,
    scheduled,
    write_call,
    write_header,
    writes_cpp,
)
from .loops import FloorDiv, LoopBody
from .registration import (
    adds_in_order,
    compile_graph,
    lowering_options,
    option,
    options_of,
    register_backend,
    registered,
    whole_embeddings,
    without_scatters,
)

__all__ = ["CUDACombinedScheduling", "CompiledKernel", "CppScheduling", "CustomGraphPass",
           "FloorDiv", "LeftError", "LoopBody", "TritonScheduling", "V", "adds_in_order",
           "as_of_cpu", "attempt", "compile_again", "compile_fx_inner", "compile_graph",
           "compiled_kernels", "dtype_of", "first_element", "fused_nodes", "get_hash_for_files",
           "has_triton", "hint_of", "ir", "is_apart", "is_changed", "is_local", "is_scatter",
           "layout_of", "lowering_options", "memory_name", "memory_order", "names_of", "option",
           "options_of", "own_kernels", "register_backend", "registered", "results_of", "scheduled",
           "unset_fake_temporarily", "whole_embeddings", "without_scatters", "write_call",
           "write_header", "writes_cpp"]
