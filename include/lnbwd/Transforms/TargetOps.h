//===- TargetOps.h - Operations that only some chips have -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel says in a target's own dialect, behind one interface: loads
// that may be dropped, order and barriers, values that a wave shares, the
// hand-over between two kernels, bulk copies into shared memory, and workgroups
// that share rows.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TRANSFORMS_TARGETOPS_H
#define LNBWD_TRANSFORMS_TARGETOPS_H

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace lnbwd {

/// Functions of float32 that every chip computes in one instruction, nearly.
enum class HardwareFunction { Exp2, Log2, Reciprocal, ReciprocalRoot, Root };

/// What chips of a vendor differ in, the chip table answers; asking for what a
/// chip cannot do is a mistake of the caller. What a vendor's code generator
/// can do is answered here.
class TargetOps {
public:
  virtual ~TargetOps();
  static const TargetOps &get(Backend backend);

  /// Whether to keep the number of bytes that lanes ask for down where lanes
  /// side by side ask for the same: read statistics once a wave and columns
  /// once a workgroup, and do not prefetch behind the last row. AMD's chips pay
  /// for each request. NVIDIA's serve such requests from a cache, and their
  /// assembler moves loads that are read-only, or under a branch, behind the
  /// next barrier, where they are waited for.
  virtual bool avoidsRepeatedReads() const;

  /// Whether loadWithin() is there.
  virtual bool canDropLoads() const;
  /// Loads `type` from the elements of `buffer` that begin with the one that
  /// `begin` numbers, `offset` behind it; where that is not below `count`, the
  /// load is dropped: no memory is asked for, and the result may not be used.
  /// `begin` and `count` are the same in all lanes of a wave. No branch says
  /// whether there is such a load, so that the code generator can count the
  /// loads on their way.
  virtual mlir::Value loadWithin(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                                 mlir::Value buffer, mlir::Value begin,
                                 mlir::Value count, mlir::Value offset) const;

  /// The intrinsic of LLVM for one float32 that is the chip's instruction and
  /// nothing else: subnormal numbers are 0 to it.
  virtual llvm::StringRef
  getHardwareFunction(HardwareFunction function) const = 0;
  /// Whether the hardware's log2 is off by some units in the last place of its
  /// result near 1 as well, where that is near 0.
  virtual bool isLog2RelativelyAccurate() const = 0;

  /// What is before this point is issued before what is behind it.
  virtual void keepOrder(mlir::ImplicitLocOpBuilder &b) const;

  /// A barrier of the workgroup. What its work-items have written to workgroup
  /// memory before can be seen behind it; of device memory nothing is said,
  /// whose accesses need not end before.
  virtual void barrier(mlir::ImplicitLocOpBuilder &b) const;

  /// `value`, known to be the same in all lanes of a wave, in a form that
  /// the code generator knows it of as well.
  virtual mlir::Value makeUniform(mlir::ImplicitLocOpBuilder &b,
                                  mlir::Value value) const;

  /// The next kernel of the stream may start from here on.
  virtual void allowNextKernel(mlir::ImplicitLocOpBuilder &b) const;
  /// Waits until the kernel before has ended and its writes can be seen.
  virtual void waitForPreviousKernel(mlir::ImplicitLocOpBuilder &b) const;

  /// Prepares `barriers` (workgroup memory, i64) to count the bytes of copies
  /// or of what peers send; by one thread, before a barrier of all that wait on
  /// them, copy or send.
  virtual void initByteBarriers(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value barriers) const;
  /// Announces `bytes` (i32) to the barrier at `index`; they may be on their
  /// way already.
  virtual void expectBytes(mlir::ImplicitLocOpBuilder &b, mlir::Value barriers,
                           mlir::Value index, mlir::Value bytes) const;
  /// Starts the copy of `bytes` (i32) from `source` at `sourceIndices` to
  /// `target` (workgroup memory, of the same element) at `targetIndices`.
  virtual void bulkCopy(mlir::ImplicitLocOpBuilder &b, mlir::Value target,
                        mlir::ValueRange targetIndices, mlir::Value source,
                        mlir::ValueRange sourceIndices, mlir::Value bytes,
                        mlir::Value barriers, mlir::Value index) const;
  /// Waits until all bytes have come; `phase` (i32) is 0 the first time that
  /// the barrier is waited for, then 1, 0, ...
  virtual void waitForBytes(mlir::ImplicitLocOpBuilder &b, mlir::Value barriers,
                            mlir::Value index, mlir::Value phase) const;

  /// The barrier of the workgroups that share rows, in two halves: what was
  /// written before the one is seen in all of them after the other.
  virtual void arriveAtCluster(mlir::ImplicitLocOpBuilder &b) const;
  virtual void waitForCluster(mlir::ImplicitLocOpBuilder &b) const;
  /// Sends the vector `value` (f32) to `buffer` (workgroup memory) at `place`,
  /// in the workgroup of the cluster that `peer` (index) numbers, and counts
  /// its bytes there on the barrier at `index`.
  virtual void sendToPeer(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                          mlir::Value buffer, mlir::Value place,
                          mlir::Value barriers, mlir::Value index,
                          mlir::Value peer) const;
};

/// Whether the rows of a program come by loads that are dropped, without a
/// branch, where there are no such rows.
bool dropsLoads(ScheduleAttr schedule, const TargetOps &target);

} // namespace lnbwd

#endif // LNBWD_TRANSFORMS_TARGETOPS_H
