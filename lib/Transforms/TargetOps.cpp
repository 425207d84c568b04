//===- TargetOps.cpp - Operations that only some chips have ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each vendor's chips have; the base class says what the others do
// instead, or that they cannot.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Transforms/TargetOps.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lnbwd;

TargetOps::~TargetOps() = default;

[[noreturn]] static void cannot() {
  llvm_unreachable("the chip table says that the chip cannot do this");
}

bool TargetOps::avoidsRepeatedReads() const { return false; }
bool TargetOps::canDropLoads() const { return false; }
Value TargetOps::loadWithin(ImplicitLocOpBuilder &, Type, Value, Value, Value,
                            Value) const {
  cannot();
}
void TargetOps::keepOrder(ImplicitLocOpBuilder &) const {}
void TargetOps::barrier(ImplicitLocOpBuilder &b) const {
  gpu::BarrierOp::create(b);
}
Value TargetOps::makeUniform(ImplicitLocOpBuilder &, Value value) const {
  return value;
}
void TargetOps::allowNextKernel(ImplicitLocOpBuilder &) const { cannot(); }
void TargetOps::waitForPreviousKernel(ImplicitLocOpBuilder &) const {
  cannot();
}
void TargetOps::initByteBarriers(ImplicitLocOpBuilder &, Value) const {
  cannot();
}
void TargetOps::expectBytes(ImplicitLocOpBuilder &, Value, Value, Value) const {
  cannot();
}
void TargetOps::bulkCopy(ImplicitLocOpBuilder &, Value, ValueRange, Value,
                         ValueRange, Value, Value, Value) const {
  cannot();
}
void TargetOps::waitForBytes(ImplicitLocOpBuilder &, Value, Value,
                             Value) const {
  cannot();
}

void TargetOps::arriveAtCluster(ImplicitLocOpBuilder &) const { cannot(); }
void TargetOps::waitForCluster(ImplicitLocOpBuilder &) const { cannot(); }
void TargetOps::sendToPeer(ImplicitLocOpBuilder &, Value, Value, Value, Value,
                           Value, Value) const {
  cannot();
}

/// `offset`, counted from the first element of `buffer`, from where its memory
/// begins: a workgroup's group of rows lies within the whole.
static Value addOffsetOf(ImplicitLocOpBuilder &b, Value buffer, Value offset) {
  auto layout = dyn_cast<StridedLayoutAttr>(
      cast<MemRefType>(buffer.getType()).getLayout());
  if (!layout || layout.getOffset() == 0)
    return offset;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, buffer);
  return arith::AddIOp::create(b, metadata.getOffset(), offset);
}

/// The address of an element, as NVVM's operations take it. Strides are those
/// of the identity layout.
static Value getAddress(ImplicitLocOpBuilder &b, Value buffer,
                        ValueRange indices, unsigned addressSpace) {
  auto type = cast<MemRefType>(buffer.getType());
  Value offset = arith::ConstantIndexOp::create(b, 0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (dim > 0) {
      Value size = arith::ConstantIndexOp::create(b, type.getDimSize(dim));
      offset = arith::MulIOp::create(b, offset, size);
    }
    offset = arith::AddIOp::create(b, offset, index);
  }
  offset = addOffsetOf(b, buffer, offset);
  Value bytes =
      arith::ConstantIndexOp::create(b, type.getElementTypeBitWidth() / 8);
  offset = arith::MulIOp::create(b, offset, bytes);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  Value address = arith::IndexCastOp::create(
      b, b.getI64Type(), arith::AddIOp::create(b, base, offset));
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), addressSpace);
  return LLVM::IntToPtrOp::create(b, pointer, address);
}

namespace {

class NVIDIATargetOps : public TargetOps {
public:
  StringRef getHardwareFunction(HardwareFunction function) const override {
    switch (function) {
    case HardwareFunction::Exp2:
      return "llvm.nvvm.ex2.approx.ftz";
    case HardwareFunction::Log2:
      return "llvm.nvvm.lg2.approx.ftz.f";
    case HardwareFunction::Reciprocal:
      return "llvm.nvvm.rcp.approx.ftz.f";
    case HardwareFunction::ReciprocalRoot:
      return "llvm.nvvm.rsqrt.approx.ftz.f";
    case HardwareFunction::Root:
      return "llvm.nvvm.sqrt.approx.ftz.f";
    }
    llvm_unreachable("all functions are listed");
  }

  /// From 1/2 to 2 its error is an absolute one, 2^-22.
  bool isLog2RelativelyAccurate() const override { return false; }

  void allowNextKernel(ImplicitLocOpBuilder &b) const override {
    NVVM::GriddepcontrolOp::create(b,
                                   NVVM::GridDepActionKind::launch_dependents);
  }

  void waitForPreviousKernel(ImplicitLocOpBuilder &b) const override {
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  }

  void initByteBarriers(ImplicitLocOpBuilder &b,
                        Value barriers) const override {
    Value one = arith::ConstantIntOp::create(b, 1, 32);
    int64_t count = cast<MemRefType>(barriers.getType()).getDimSize(0);
    for (int64_t i = 0; i < count; ++i) {
      Value index = arith::ConstantIndexOp::create(b, i);
      NVVM::MBarrierInitOp::create(b, getShared(b, barriers, index), one,
                                   /*predicate=*/Value());
    }
    NVVM::FenceMbarrierInitOp::create(b);
  }

  void expectBytes(ImplicitLocOpBuilder &b, Value barriers, Value index,
                   Value bytes) const override {
    NVVM::MBarrierArriveExpectTxOp::create(
        b, TypeRange(), ValueRange{getShared(b, barriers, index), bytes});
  }

  void bulkCopy(ImplicitLocOpBuilder &b, Value target, ValueRange targetIndices,
                Value source, ValueRange sourceIndices, Value bytes,
                Value barriers, Value index) const override {
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, getShared(b, target, targetIndices),
        getAddress(b, source, sourceIndices, globalSpace),
        getShared(b, barriers, index), bytes, /*multicastMask=*/Value(),
        /*l2CacheHint=*/Value());
  }

  void waitForBytes(ImplicitLocOpBuilder &b, Value barriers, Value index,
                    Value phase) const override {
    Value ticks = arith::ConstantIntOp::create(b, 10000000, 32);
    NVVM::MBarrierTryWaitParityOp::create(b, getShared(b, barriers, index),
                                          phase, ticks);
  }

  void arriveAtCluster(ImplicitLocOpBuilder &b) const override {
    NVVM::ClusterArriveOp::create(b, /*aligned=*/b.getUnitAttr());
  }

  void waitForCluster(ImplicitLocOpBuilder &b) const override {
    NVVM::ClusterWaitOp::create(b, /*aligned=*/b.getUnitAttr());
  }

  void sendToPeer(ImplicitLocOpBuilder &b, Value value, Value buffer,
                  Value place, Value barriers, Value index,
                  Value peer) const override {
    auto pointer =
        LLVM::LLVMPointerType::get(b.getContext(), sharedClusterSpace);
    Value rank = arith::IndexCastOp::create(b, b.getI32Type(), peer);
    auto atPeer = [&](Value local, Value place) -> Value {
      return NVVM::MapaOp::create(b, pointer, getShared(b, local, place), rank);
    };
    Value barrier = atPeer(barriers, index);
    int64_t count = cast<VectorType>(value.getType()).getNumElements();
    // The instruction takes two or four elements at once, or one.
    int64_t width = count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
    for (int64_t first = 0; first < count; first += width) {
      Value at = first
                     ? Value(arith::AddIOp::create(
                           b, place, arith::ConstantIndexOp::create(b, first)))
                     : place;
      SmallVector<Value> operands{atPeer(buffer, at), barrier};
      std::string registers;
      for (int64_t i = 0; i < width; ++i) {
        operands.push_back(
            vector::ExtractOp::create(b, value, ArrayRef<int64_t>{first + i}));
        registers += (i ? ", $" : "$") + std::to_string(2 + i);
      }
      std::string code =
          "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes";
      if (width > 1)
        code += ".v" + std::to_string(width);
      code += ".f32 [$0], " + (width > 1 ? "{" + registers + "}" : registers) +
              ", [$1];";
      NVVM::InlinePtxOp::create(b, TypeRange(), operands, ValueRange(), code,
                                /*predicate=*/Value());
    }
  }

private:
  static constexpr unsigned globalSpace = 1;
  static constexpr unsigned sharedSpace = 3;
  static constexpr unsigned sharedClusterSpace = 7;

  static Value getShared(ImplicitLocOpBuilder &b, Value buffer,
                         ValueRange indices) {
    return getAddress(b, buffer, indices, sharedSpace);
  }
};

class AMDTargetOps : public TargetOps {
public:
  bool avoidsRepeatedReads() const override { return true; }

  StringRef getHardwareFunction(HardwareFunction function) const override {
    switch (function) {
    case HardwareFunction::Exp2:
      return "llvm.amdgcn.exp2";
    case HardwareFunction::Log2:
      return "llvm.amdgcn.log";
    case HardwareFunction::Reciprocal:
      return "llvm.amdgcn.rcp";
    case HardwareFunction::ReciprocalRoot:
      return "llvm.amdgcn.rsq";
    case HardwareFunction::Root:
      return "llvm.amdgcn.sqrt";
    }
    llvm_unreachable("all functions are listed");
  }

  bool isLog2RelativelyAccurate() const override { return true; }

  bool canDropLoads() const override { return true; }

  /// A buffer load, whose descriptor has the bounds.
  Value loadWithin(ImplicitLocOpBuilder &b, Type type, Value buffer,
                   Value begin, Value count, Value offset) const override {
    auto source = cast<MemRefType>(buffer.getType());
    Type element = source.getElementType();
    int64_t elementBytes = source.getElementTypeBitWidth() / 8;
    auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic,
                                         /*strides=*/{1});
    auto elements = MemRefType::get({ShapedType::kDynamic}, element, layout,
                                    source.getMemorySpace());
    Value part = memref::ReinterpretCastOp::create(
        b, elements, buffer, OpFoldResult(addOffsetOf(b, buffer, begin)),
        ArrayRef<OpFoldResult>{OpFoldResult(count)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    Value bytes = arith::IndexCastOp::create(
        b, b.getI64Type(),
        arith::MulIOp::create(b, count,
                              arith::ConstantIndexOp::create(b, elementBytes)));
    Value bounded = amdgpu::FatRawBufferCastOp::create(
        b, part, bytes, /*cacheSwizzleStride=*/Value(), /*boundsCheck=*/true,
        /*resetOffset=*/true);
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return memref::LoadOp::create(b, bounded, offset);
    int64_t width = vector.getNumElements() * elementBytes;
    return vector::LoadOp::create(
        b, vector, bounded, offset, /*nontemporal=*/false,
        llvm::MaybeAlign(std::min<int64_t>(width, 16)));
  }

  void keepOrder(ImplicitLocOpBuilder &b) const override {
    ROCDL::SchedBarrier::create(b, /*mask=*/0);
  }

  /// gpu.barrier would wait for stores to device memory, and empty a cache.
  void barrier(ImplicitLocOpBuilder &b) const override {
    amdgpu::LDSBarrierOp::create(b);
  }

  /// A scalar register: addresses and loads that depend on it become scalar.
  Value makeUniform(ImplicitLocOpBuilder &b, Value value) const override {
    return ROCDL::ReadfirstlaneOp::create(b, value.getType(), value);
  }
};

} // namespace

const TargetOps &TargetOps::get(Backend backend) {
  static const NVIDIATargetOps nvidia;
  static const AMDTargetOps amd;
  switch (backend) {
  case Backend::AMDGPU:
    return amd;
  case Backend::NVPTX:
    return nvidia;
  }
  llvm_unreachable("all backends are listed");
}

bool lnbwd::dropsLoads(ScheduleAttr schedule, const TargetOps &target) {
  return target.canDropLoads() &&
         (schedule.getPrefetch() || schedule.getUnroll() > 1);
}
