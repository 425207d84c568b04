//===- RowKernelEmitter.h - The body of a row program's kernel --*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one lowering of row programs: writes the kernel of a scheduled program
// in the upstream dialects, from the region and the schedule alone.
//
// Words used here. A *chunk* is what the lanes of a row cover with one access
// each; a lane sees vectors of `vector_width` elements. A *phase* is what lies
// between two exchanges of row sums: a value belongs to the phase in which it
// can first be computed. A *group* is the set of lanes of a workgroup that
// share a row. A workgroup's *slice* is its part of a row that several
// workgroups share, or the whole row.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_TRANSFORMS_ROWKERNELEMITTER_H
#define LNBWD_LIB_TRANSFORMS_ROWKERNELEMITTER_H

#include "lnbwd/Transforms/TargetOps.h"

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/ChipInfo.h"
#include "lnbwd/Transforms/KernelPart.h"
#include "lnbwd/Transforms/RowPhases.h"
#include "lnbwd/Transforms/ScheduleLimits.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

namespace lnbwd {

class RowKernelEmitter {
public:
  /// Emits at the end of the entry block of `func`. `buffers` has one memref
  /// for each operand of `op`; `rows` and `workgroups` are index values.
  RowKernelEmitter(RowwiseOp op, const ChipInfo &chip,
                   mlir::gpu::GPUFuncOp func, mlir::ValueRange buffers,
                   mlir::Value rows, mlir::Value workgroups);

  void emit();

private:
  /// While it lives, what is emitted is noted to be of a part of the kernel:
  /// one of its own, or the one around it with something changed.
  class PartScope {
  public:
    PartScope(RowKernelEmitter &emitter, KernelPart part)
        : b(emitter.b), before(b.getLoc()) {
      b.setLoc(part.note(emitter.op.getLoc()));
    }
    PartScope(RowKernelEmitter &emitter,
              llvm::function_ref<void(KernelPart &)> change)
        : b(emitter.b), before(b.getLoc()) {
      KernelPart part = KernelPart::get(before).value_or(KernelPart());
      change(part);
      b.setLoc(part.note(emitter.op.getLoc()));
    }
    ~PartScope() { b.setLoc(before); }
    PartScope(const PartScope &) = delete;
    PartScope &operator=(const PartScope &) = delete;

  private:
    mlir::ImplicitLocOpBuilder &b;
    mlir::Location before;
  };

  /// Where a lane's vector of one chunk lies.
  struct Chunk {
    /// First column of the vector.
    mlir::Value column;
    /// The same, moved to a place that exists where `valid` is false.
    mlir::Value loadColumn;
    /// The latter, counted from the first column of the workgroup's slice.
    mlir::Value sliceColumn;
    /// Whether the columns exist; null if they always do.
    mlir::Value valid;
  };

  /// One row at work: its inputs and all that was computed from them.
  struct Row {
    mlir::Value index;
    /// Whether the row exists; null if it surely does.
    mlir::Value valid;
    /// Values of the region that are scalars: inputs, row sums, and the rest.
    llvm::DenseMap<mlir::Value, mlir::Value> scalars;
    /// Values of the region that are rows, one map for each chunk.
    llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> vectors;
  };

  // Set-up.
  void emitGeometry();
  Chunk makeChunk(mlir::Value column, bool mayExceed);
  bool sharesRows() const { return schedule.getWorkgroupsPerRow() > 1; }
  /// Whether all lanes of a wave work on the same row.
  bool hasUniformRows() const {
    return schedule.getThreadsPerRow() % chip.waveSize == 0;
  }
  void loadColumnOperands();
  void allocateExchange();

  // The row loop (RowKernelLoops.cpp).
  mlir::Value getFullRows();
  llvm::SmallVector<mlir::Value>
  emitInBlocks(mlir::Value begin, mlir::Value end, mlir::Value step,
               mlir::ValueRange carried, bool isEntered,
               llvm::function_ref<llvm::SmallVector<mlir::Value>(
                   mlir::Value, mlir::Value, mlir::ValueRange)>
                   emitLoop);
  llvm::SmallVector<mlir::Value> foldSums(mlir::Value turn,
                                          mlir::ValueRange totals);
  void emitRowLoop();
  void emitPairedRowLoop(mlir::Value begin, mlir::Value step,
                         mlir::Value fullRows);
  void emitIndependentRowLoop();
  void emitTailRow();
  llvm::SmallVector<mlir::Value> loadVectors(mlir::Value rowIndex);
  llvm::SmallVector<mlir::Value> loadScalars(mlir::Value rowIndex);
  llvm::SmallVector<mlir::Value> loadAhead(mlir::Value rowIndex);
  llvm::SmallVector<mlir::Value> loadAheadIf(mlir::Value condition,
                                             mlir::Value set);
  llvm::SmallVector<mlir::Value> loadDropped(mlir::Value set,
                                             mlir::Value count);
  Row makeRow(mlir::Value rowIndex, mlir::Value valid, mlir::ValueRange inputs);
  Row makeRowAhead(mlir::Value rowIndex, mlir::Value valid,
                   mlir::ValueRange inputs);

  // Rows that bulk copies bring to workgroup memory (RowStaging.cpp).
  void startStaging();
  mlir::Value getShift(unsigned operand, mlir::Value firstRow);
  void startCopies(mlir::Value firstRow, mlir::Value stage);
  llvm::SmallVector<mlir::Value> receiveStaged();
  void refillStage();

  // A row.
  void emitRow(Row &row);
  void emitScalars(Row &row, unsigned phase);
  void emitPhase(Row &row, unsigned phase);
  void emitReloadPhase(Row &row, unsigned phase);
  void storeScalars(Row &row, unsigned phase);

  // Values of the region.
  mlir::Value getScalar(Row &row, mlir::Value value);
  mlir::Value getVector(Row &row, mlir::Value value, const Chunk &chunk,
                        llvm::DenseMap<mlir::Value, mlir::Value> &known);
  mlir::Value maskedTerm(Row &row, mlir::Operation *sum, const Chunk &chunk,
                         llvm::DenseMap<mlir::Value, mlir::Value> &known);
  mlir::Value load(unsigned operand, mlir::ValueRange indices);
  void storeRow(Row &row, unsigned output, const Chunk &chunk,
                mlir::Value value);

  // Sums (RowKernelSums.cpp).
  mlir::Value combine(bool maximum, mlir::Value lhs, mlir::Value rhs);
  mlir::Value neutral(bool maximum, mlir::Type type);
  mlir::Value reduceLane(mlir::Operation *sum, mlir::Value vector);
  void exchange(Row &row, unsigned phase, mlir::ValueRange partials);
  llvm::SmallVector<mlir::Value>
  exchangeInWorkgroup(unsigned phase, mlir::Value base, mlir::Value mine);
  llvm::SmallVector<mlir::Value>
  exchangeInCluster(unsigned phase, mlir::Value base, mlir::Value mine);
  llvm::SmallVector<mlir::Value> combineSlots(unsigned phase,
                                              mlir::ValueRange slots);
  mlir::Value reduceInWave(bool maximum, mlir::Value partial, int64_t lanes);
  mlir::Value addByPairs(llvm::SmallVector<mlir::Value> terms);
  void accumulate(Row &row, unsigned phase);
  void combineGroups();
  void storeColumnSums();

  // Small things.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value addIndex(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mulIndex(mlir::Value lhs, int64_t rhs);
  mlir::Value lessThan(mlir::Value lhs, mlir::Value rhs);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  mlir::Value isFirstThread();
  void ifTrue(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::VectorType laneVector(mlir::Type element);
  mlir::Type getPackedType(mlir::VectorType type);
  /// A lane's vector as it is carried along, and back.
  mlir::Value pack(mlir::Value vector);
  mlir::Value unpack(mlir::Value vector, mlir::Type element);
  llvm::MaybeAlign laneAlignment(mlir::Value memory);
  mlir::Value addWorkgroupMemory(int64_t elements, mlir::Type element);
  unsigned outputOperand(unsigned output) const;

  RowwiseOp op;
  ScheduleAttr schedule;
  const ChipInfo &chip;
  const TargetOps &target;
  mlir::gpu::GPUFuncOp func;
  mlir::ImplicitLocOpBuilder b;
  llvm::SmallVector<mlir::Value> buffers;
  mlir::Value rows;
  mlir::Value workgroups;

  unsigned numInputs;
  RowPhases phases;

  mlir::Value workgroup;
  /// Which slice of the row is the workgroup's; its first column. Null if that
  /// is the whole row.
  mlir::Value slice;
  mlir::Value sliceBegin;
  mlir::Value lane;
  mlir::Value group;
  llvm::SmallVector<Chunk> chunks;
  /// Column operands as loaded, by chunk.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> columnOperands;

  /// Workgroup memory of the exchange between the waves of a row, a slot for
  /// each; null if a row fits a wave. `parity` selects one of its two halves,
  /// in turn: it is where the half begins, or, where workgroups share rows, the
  /// number of rows before.
  mlir::Value exchangeBuffer;
  int64_t exchangeHalf = 0;
  int64_t exchangeSlots = 0;
  /// Barriers that count what peers send; for two rows in turn, by phase.
  mlir::Value exchangeBarriers;
  mlir::Value parity;

  /// Set while the loop's row is staged. The stage that it lies in, the phase
  /// of that stage's copy barrier, the set's first row, and what the loop's
  /// limits are, which the refill needs.
  struct Staging {
    llvm::SmallVector<mlir::Value> buffers;
    mlir::Value barriers;
    mlir::Value stage;
    mlir::Value phase;
    mlir::Value firstRow;
    mlir::Value step;
    mlir::Value end;
    bool refilled = false;
  };
  std::optional<Staging> staging;

  /// Accumulators of the column sums: [sum][chunk], flattened.
  llvm::SmallVector<mlir::Value> sums;
};

} // namespace lnbwd

#endif // LNBWD_LIB_TRANSFORMS_ROWKERNELEMITTER_H
