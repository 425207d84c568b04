//===- KernelPart.cpp - Which part of a kernel an operation is in ---------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A note is the metadata of a fused location, which keeps the one it is about:
// messages name the source as before.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/KernelPart.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace lnbwd;

unsigned KernelPart::encode() const {
  return 1 + (unsigned(kind) | unsigned(scalars) << 4 | unsigned(reload) << 5 |
              groups << 6);
}

KernelPart KernelPart::decode(unsigned code) {
  code -= 1;
  KernelPart part;
  part.kind = Kind(code & 15);
  part.scalars = code >> 4 & 1;
  part.reload = code >> 5 & 1;
  part.groups = code >> 6;
  return part;
}

Location KernelPart::note(Location location) const {
  MLIRContext *context = location.getContext();
  auto type = IntegerType::get(context, 32, IntegerType::Unsigned);
  return FusedLoc::get(context, {location}, IntegerAttr::get(type, encode()));
}

std::optional<KernelPart> KernelPart::get(Location location) {
  std::optional<KernelPart> part;
  location->walk([&](Location inner) {
    auto fused = dyn_cast<FusedLoc>(inner);
    auto code = fused ? dyn_cast_or_null<IntegerAttr>(fused.getMetadata())
                      : IntegerAttr();
    if (!code || !code.getType().isUnsignedInteger(32))
      return WalkResult::advance();
    part = decode(unsigned(code.getUInt()));
    return WalkResult::interrupt();
  });
  return part;
}
