# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm and RMSNorm whose backward pass is machine code of the lnbwd compiler.

With PyTorch::

    y = lnbwd.layer_norm(x, (4096,), weight, bias)   # as torch.nn.functional.layer_norm
    layer = lnbwd.nn.LayerNorm(4096)                 # as torch.nn.LayerNorm
    lnbwd.patch(model)                               # all of a model's, in place

    @lnbwd.rowwise                                   # an operation of your own, with its gradient
    def scaled(x: lnbwd.Rows, gamma: lnbwd.Columns):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * gamma

Without it::

    k = lnbwd.compile("layer_norm_bwd", n=4096, dtype="bf16", chip="gfx942")
    k.save("layer_norm_bwd.hsaco")

``import lnbwd`` imports neither torch nor numpy; names that need torch import it when used.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .core import runtime
from .core.base import errors
from .core.base import operations as operations
from .core.base import schedule as schedule
from .core.base.errors import CacheWarning, CompileError, LibraryError, LnbwdError
from .core.base.settings import batch_invariant
from .core.base.version import __version__ as __version__
from .core.compile import compiler
from .core.compile.compiler import Gradient, compile_mlir, differentiate
from .core.compile.kernels import CompiledKernel, Report, compile, precompile, report
from .core.compile.store import kernel_cache, set_cache_folder
from .core.compile.tuning import autotune
from .core.runtime import RuntimeStatusError

if TYPE_CHECKING:
    from . import distributed, functional, inductor, nn
    from .functional import layer_norm, rms_norm
    from .functional.linear import layer_norm_linear, rms_norm_linear
    from .nn.patching import patch, unpatch
    from .ops.aten import override_aten
    from .ops.launching import simulate
    from .ops.row_functions import Columns, Parts, Rows, Scalars, Seed, rowwise, uniform

__all__ = ["CacheWarning", "Columns", "CompileError", "CompiledKernel", "Gradient", "LibraryError",
           "LnbwdError", "Parts", "Report", "Rows", "RuntimeStatusError",
           "Scalars", "Seed", "autotune", "batch_invariant", "compile", "compile_mlir", "compiler",
           "differentiate", "distributed", "errors", "functional", "inductor", "kernel_cache",
           "layer_norm", "layer_norm_linear", "nn", "override_aten", "patch", "precompile",
           "report", "rms_norm", "rms_norm_linear", "rowwise", "runtime", "set_cache_folder",
           "simulate", "uniform", "unpatch"]

# Modules that users import by these names, as os.path is one.
for _module in (compiler, errors, operations, runtime, schedule):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module

# Names that need torch, and the modules that have them; and modules that need it.
_WITH_TORCH = {"layer_norm": "functional", "rms_norm": "functional", "simulate": "ops.launching",
               "layer_norm_linear": "functional.linear", "rms_norm_linear": "functional.linear",
               "override_aten": "ops.aten", "patch": "nn.patching", "unpatch": "nn.patching",
               **dict.fromkeys(("Columns", "Parts", "Rows", "Scalars", "Seed", "rowwise",
                                "uniform"), "ops.row_functions")}
_MODULES = {"linear": "functional.linear", **{name: name for name in (
    "distributed", "functional", "inductor", "nn", "regions_op")}}
# Names of before, and what has taken their place.
_GONE = {"KernelSpec": "lnbwd.compile and lnbwd.precompile take its fields as arguments"}


def __getattr__(name: str) -> Any:
    path = _MODULES.get(name) or _WITH_TORCH.get(name)
    if path is None:
        instead = _GONE.get(name)
        raise AttributeError(f"module 'lnbwd' has no attribute {name!r}"
                             + (f" any more; {instead}" if instead else ""))
    try:
        module = importlib.import_module(f".{path}", __name__)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"lnbwd.{name} needs PyTorch, which is not installed; without it there "
                          "are lnbwd.compile and CompiledKernel.run") from error
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
