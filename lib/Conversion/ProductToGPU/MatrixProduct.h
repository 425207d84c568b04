//===- MatrixProduct.h - Products by matrix instructions --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of matrix instructions share: which part of the sum is a
// workgroup's, which part of the tile a wave's, how fragments are multiplied,
// and how the tile is stored. How tiles come to workgroup memory, those who
// derive from it say.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_MATRIXPRODUCT_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_MATRIXPRODUCT_H

#include "WaveProduct.h"

#include "lnbwd/Analysis/ProductTiling.h"

namespace lnbwd {

class MatrixProduct : public ProductKernel {
protected:
  /// What not all kernels have.
  struct Extras {
    /// How many waves share an instruction, and its rows.
    int64_t waveGroup = 1;
    /// Work-items beside those that multiply.
    int64_t threads = 0;
    /// See Frame.
    int64_t workgroups = 0;
  };
  /// `launchedBytes`: of workgroup memory that the launch asks for.
  MatrixProduct(ProductOp op, mlir::gpu::GPUModuleOp module,
                const ChipInfo &chip, int64_t launchedBytes,
                const Extras &extras);

  /// What the loop over the sum goes over.
  struct Range {
    mlir::Value begin, end, lastTile;
  };

  /// Finds the wave's piece of the tile; before anything else in the body.
  void placeWave();
  /// The part of the sum that is the workgroup's.
  Range getRange();

  int64_t getRowFragments() const { return waveRows / fragmentSize; }
  int64_t getColumnFragments() const {
    return tiling.getWaveColumns() / fragmentSize;
  }
  /// The wave's sums before anything is added.
  llvm::SmallVector<mlir::Value> makeZeroSums();
  /// Adds to `sums` the products of all fragments of A with all of B.
  void multiplyFragments(llvm::ArrayRef<mlir::Value> as,
                         llvm::ArrayRef<mlir::Value> bs,
                         llvm::MutableArrayRef<mlir::Value> sums);
  void storeResult(mlir::ValueRange sums);
  /// What of a fragment of the result the lane stores.
  virtual llvm::SmallVector<ResultRun> getRuns(mlir::ValueRange fragment) {
    return wave->getRuns(fragment, lane);
  }

  const ChipInfo &chip;
  TilingAttr tiling;
  mlir::Type element;
  /// Rows of the tile that a single wave has.
  int64_t waveRows;
  std::unique_ptr<WaveProduct> wave;
  mlir::Value lane, waveRow, waveColumn;

private:
  void storeRun(const ResultRun &run, mlir::Value row, mlir::Value column);
  void finishResult(mlir::ValueRange sums);
  /// Elements of an access to the result, of a run of so many.
  int64_t getAccessWidth(int64_t elements) const;
  mlir::Value takeElements(mlir::Value vector, int64_t begin, int64_t count);
  mlir::ValueRange getFragment(mlir::ValueRange sums, int64_t i, int64_t j);
  /// The first row and column of a run of that fragment.
  mlir::Value getRow(const ResultRun &run, int64_t i);
  mlir::Value getColumn(const ResultRun &run, int64_t j);
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_MATRIXPRODUCT_H
