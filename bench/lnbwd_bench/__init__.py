# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the programs of bench/ share: ours, the peers and the memory stream in one run."""

PEERS = {"eager": "PyTorch", "compile": "torch.compile", "liger": "Liger", "cudnn": "cuDNN",
         "quack": "Quack", "aiter": "AITER"}
"""The peers beside ours, and their names on pages (peers.py), where no PyTorch is needed."""
