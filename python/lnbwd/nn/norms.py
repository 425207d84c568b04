# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LayerNorm and RMSNorm as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..core.base.operations import LAYER_NORM, RMS_NORM
from ..ops.arguments import RMS_EPSILONS, check_eps, check_sizes
from ..ops.launching import falls_back
from ..ops.norms import NORMS as OPERATORS
from ..ops.norms import normalise

_LAYER, _RMS = OPERATORS[LAYER_NORM], OPERATORS[RMS_NORM]


def _refuse_script(self: torch.nn.Module) -> None:
    raise TypeError(f"torch.jit.script: expected modules that TorchScript can compile, got "
                    f"lnbwd.nn.{type(self).__name__}; script the model before its norms are "
                    "replaced, or take torch.compile or torch.export")


class LayerNorm(torch.nn.LayerNorm):
    """torch.nn.LayerNorm by lnbwd's kernels.

    It takes the same arguments, has the same parameters and the same state_dict, and is an
    instance of torch.nn.LayerNorm. On the CPU PyTorch computes it, with one warning, so that a
    model can be evaluated or exported there.
    """

    __prepare_scriptable__ = _refuse_script

    def __init__(self, normalized_shape: Sequence[int] | int, eps: float = 1e-5,
                 *arguments: Any, **options: Any) -> None:
        super().__init__(check_sizes(normalized_shape), check_eps(eps), *arguments, **options)

    def forward(self, input: Tensor) -> Tensor:
        """Normalises ``input``; see :func:`lnbwd.layer_norm`."""
        # (What stands for a tensor, as in a torch.fx trace, is the function's business.)
        if isinstance(input, Tensor) and input.is_cpu and falls_back():
            return super().forward(input)
        # (Each that Module.__getattr__ finds takes 0.4 microseconds.)
        own = self._parameters
        parameters = ((own["weight"], own["bias"]) if "weight" in own and "bias" in own
                      else (self.weight, self.bias))
        return normalise(_LAYER, input, self.normalized_shape, parameters, self.eps)


class RMSNorm(torch.nn.RMSNorm):
    """torch.nn.RMSNorm by lnbwd's kernels; see :class:`LayerNorm`."""

    __prepare_scriptable__ = _refuse_script

    def __init__(self, normalized_shape: Sequence[int] | int, eps: float | None = None,
                 *arguments: Any, **options: Any) -> None:
        super().__init__(check_sizes(normalized_shape),
                         None if eps is None else check_eps(eps), *arguments, **options)

    def forward(self, x: Tensor) -> Tensor:
        """Normalises ``x``; see :func:`lnbwd.rms_norm`."""
        if isinstance(x, Tensor) and x.is_cpu and falls_back():
            return super().forward(x)
        own = self._parameters
        parameters = (own["weight"],) if "weight" in own else (self.weight,)
        eps = RMS_EPSILONS.get(x.dtype) if self.eps is None and isinstance(x, Tensor) else self.eps
        return normalise(_RMS, x, self.normalized_shape, parameters, eps)


NORMS: dict[str, type[torch.nn.Module]] = {LAYER_NORM: LayerNorm, RMS_NORM: RMSNorm}
"""The modules of PyTorch's norms, whose base is PyTorch's own."""
