//===- PartsToLocations.cpp - Parts of a kernel as notes in locations -----===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From here on operations are merged, split and replaced by upstream's passes
// and by the code generator, which hand on locations and nothing else.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/Lane/IR/LaneDialect.h"

namespace lnbwd {
#define GEN_PASS_DEF_PARTSTOLOCATIONSPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

static void noteParts(Region &region, lane::PartAttr around) {
  for (Operation &op : region.getOps()) {
    lane::PartAttr part = around;
    if (auto own = dyn_cast_or_null<lane::PartAttr>(
            op.removeDiscardableAttr(lane::partAttr)))
      part = own.within(around);
    // What an operation with regions does beside them is work of what is
    // around it.
    op.setLoc(lane::notePart(op.getLoc(), op.getNumRegions() ? around : part));
    for (Region &inner : op.getRegions())
      noteParts(inner, part);
  }
}

namespace {
class PartsToLocations
    : public lnbwd::impl::PartsToLocationsPassBase<PartsToLocations> {
public:
  void runOnOperation() override {
    noteParts(getOperation().getBody(),
              lane::PartAttr::get(&getContext(), lane::PartKind::Setup));
  }
};
} // namespace
