# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that works without PyTorch: kernels are compiled, kept, loaded and launched here.

Three layers, lowest first: :mod:`.base`, :mod:`.runtime`, :mod:`.compile`. Nothing in this
folder imports PyTorch, nor another folder of the package.
"""
