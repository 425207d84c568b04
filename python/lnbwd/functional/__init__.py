# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions for users: drop-in replacements of PyTorch's, which check their arguments.

One file has one family of functions; this one names them all. It may import :mod:`lnbwd.core`,
:mod:`lnbwd.program` and :mod:`lnbwd.ops`.
"""

from . import quantized
from .channel_norms import batch_norm, group_norm, instance_norm
from .dropout_norms import dropout_add_layer_norm, dropout_add_rms_norm
from .gated import gated_rms_norm, geglu, swiglu
from .linear_losses import linear_cross_entropy
from .norms import layer_norm, rms_norm
from .quantized import *  # noqa: F403 (all of its functions)
from .rotary import rms_norm_rope
from .softmaxes import cross_entropy, log_softmax, softmax

__all__ = ["batch_norm", "cross_entropy", "dropout_add_layer_norm", "dropout_add_rms_norm",
           "gated_rms_norm", "geglu", "group_norm", "instance_norm", "layer_norm",
           "linear_cross_entropy", "log_softmax", "rms_norm", "rms_norm_rope", "softmax", "swiglu"]
__all__ += quantized.__all__
