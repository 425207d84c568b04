//===- PlaceNumbers.cpp - Where lanes stand, in numbers -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceNumbers.h"

#include "lnbwd/Conversion/LaneToGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace lnbwd;

static Value makeIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// Columns beyond the end are read at the last vector before it, and never
/// written.
static AccessColumns makeAccess(ImplicitLocOpBuilder &b, lane::PlaceOp op,
                                int64_t access, Value firstOfLane) {
  lane::PlaceType type = op.getPlace().getType();
  Value column = arith::AddIOp::create(
      b, firstOfLane, makeIndex(b, access * type.getAccessColumns()));
  auto getOwn = [&](Value column) -> Value {
    return op.getFirst() ? arith::SubIOp::create(b, column, op.getFirst())
                         : column;
  };
  if (!type.mayExceed(access))
    return {column, column, getOwn(column), Value()};
  Value end = makeIndex(b, type.getRowLength());
  if (type.mayExceedWorkgroup()) {
    Value behind = arith::AddIOp::create(b, op.getFirst(),
                                         makeIndex(b, type.getColumns()));
    end = type.mayExceedRow() ? arith::MinUIOp::create(b, end, behind) : behind;
  }
  Value exists =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, column, end);
  Value last = arith::SubIOp::create(b, end, makeIndex(b, type.getWidth()));
  Value loadColumn = arith::MinUIOp::create(b, column, last);
  return {column, loadColumn, getOwn(loadColumn), exists};
}

/// `group`, which all lanes of a wave share, as the code generator can know it.
static Value makeUniform(ImplicitLocOpBuilder &b, Value group,
                         const ChipInfo &chip) {
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), group);
  if (chip.backend == Backend::AMDGPU)
    narrow = ROCDL::ReadfirstlaneOp::create(b, narrow.getType(), narrow);
  return arith::IndexCastOp::create(b, b.getIndexType(), narrow);
}

/// Which lane of which group this is, as numbers.
static Place makeGroup(ImplicitLocOpBuilder &b, lane::PlaceType type,
                       const ChipInfo &chip) {
  Place place{type, {}, {}, {}, {}};
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  if (type.getGroups() == 1) {
    place.lane = thread;
    place.group = makeIndex(b, 0);
    return place;
  }
  Value lanes = makeIndex(b, type.getLanes());
  place.lane = arith::RemUIOp::create(b, thread, lanes);
  place.group = arith::DivUIOp::create(b, thread, lanes);
  if (type.getLanes() % chip.waveSize == 0)
    place.group = makeUniform(b, place.group, chip);
  return place;
}

/// A place whose lanes are those of `around`, if that is given.
static Place makePlace(lane::PlaceOp op, const Place *around,
                       const ChipInfo &chip) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  lane::PlaceType type = op.getPlace().getType();
  Place place{type, {}, {}, {}, {}};
  if (around)
    place = {type, around->lane, around->group, {}, {}};
  else
    place = makeGroup(b, type, chip);
  place.first = op.getFirst();
  Value column = place.lane;
  if (type.getWidth() != 1)
    column = arith::MulIOp::create(b, column, makeIndex(b, type.getWidth()));
  if (op.getFirst())
    column = arith::AddIOp::create(b, op.getFirst(), column);
  for (int64_t i = 0; i < type.getAccesses(); ++i)
    place.accesses.push_back(makeAccess(b, op, i, column));
  return place;
}

/// `place` as the operands of a cast: lane, group, then for each access its
/// columns and, where the type says that they may exceed the row, whether they
/// exist; the workgroup's first column last, if there is one.
static SmallVector<Value> flatten(const Place &place) {
  SmallVector<Value> numbers{place.lane, place.group};
  for (const AccessColumns &access : place.accesses) {
    numbers.append({access.column, access.loadColumn, access.ownColumn});
    if (access.exists)
      numbers.push_back(access.exists);
  }
  if (place.first)
    numbers.push_back(place.first);
  return numbers;
}

std::optional<Place> lnbwd::lookupPlace(Value value) {
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  if (!cast || cast.getNumOperands() < 2)
    return std::nullopt;
  auto type = mlir::cast<lane::PlaceType>(value.getType());
  ValueRange numbers(cast.getInputs());
  Place place{type, numbers[0], numbers[1], {}, {}};
  numbers = numbers.drop_front(2);
  for (int64_t i = 0; i < type.getAccesses(); ++i) {
    size_t count = type.mayExceed(i) ? 4 : 3;
    if (numbers.size() < count)
      return std::nullopt;
    place.accesses.push_back({numbers[0], numbers[1], numbers[2],
                              count == 4 ? numbers[3] : Value()});
    numbers = numbers.drop_front(count);
  }
  if (!numbers.empty())
    place.first = numbers.front();
  return place;
}

void lnbwd::computePlaces(gpu::GPUFuncOp kernel, const ChipInfo &chip) {
  SmallVector<lane::PlaceOp> ops;
  kernel.walk<WalkOrder::PreOrder>(
      [&](lane::PlaceOp op) { ops.push_back(op); });
  // Places within loops have the lanes and groups of the kernel's own.
  SmallVector<Place> outer;
  for (lane::PlaceOp op : ops) {
    lane::PlaceType type = op.getPlace().getType();
    const Place *around = llvm::find_if(outer, [&](const Place &place) {
      return place.type.getLanes() == type.getLanes() &&
             place.type.getGroups() == type.getGroups();
    });
    Place place = makePlace(op, around != outer.end() ? around : nullptr, chip);
    ImplicitLocOpBuilder b(op.getLoc(), op);
    op.getPlace().replaceAllUsesWith(
        UnrealizedConversionCastOp::create(b, type, flatten(place))
            .getResult(0));
    if (op->getParentOp() == kernel)
      outer.push_back(place);
    op.erase();
  }
}

void lnbwd::eraseUnusedCasts(gpu::GPUFuncOp kernel) {
  // Stages go first: they have places.
  for (bool ofPlaces : {false, true})
    kernel.walk([&](UnrealizedConversionCastOp op) {
      Type type = op->getResultTypes().front();
      if (op->use_empty() &&
          (ofPlaces ? isa<lane::PlaceType>(type) : isa<lane::StagesType>(type)))
        op.erase();
    });
}
