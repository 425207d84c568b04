//===- TensorTile.h - Tiles that tensor copies bring ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How tensor copies bring tiles of a matrix to workgroup memory, and how wgmma
// is told where they lie.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_PRODUCTTOGPU_TENSORTILE_H
#define LNBWD_LIB_CONVERSION_PRODUCTTOGPU_TENSORTILE_H

#include "ProductKernel.h"

namespace lnbwd {

/// A tile lies in boxes of rows of 128 bytes, whose blocks of 16 bytes are
/// exclusive-ored with the number of their row, modulo 8. Where the matrix'
/// rows go along the sum there is one box, and a row for each i; else as many
/// as 64 i go into the tile's, one behind the other, with a row for each l.
///
/// A copy reads what a tensor map says: an object in device memory that names
/// the matrix, its sizes and those of a box. The kernel makes it, since a
/// launch has buffers and one number only. Beyond the matrix' end copies write
/// 0 without reading.
class TensorTile {
public:
  struct Matrix {
    ProductSource source;
    /// How many i a tile has.
    int64_t side;
    mlir::Type element;
    /// The address of its tensor map.
    mlir::Value map;
  };

  /// Of a tensor map.
  static constexpr int64_t mapBytes = 128;

  explicit TensorTile(IndexBuilder &b) : b(b) {}

  /// The address of the memory that the launch asks for. Addresses in
  /// workgroup memory are numbers here.
  mlir::Value getLaunchedMemory();
  mlir::Value getPointer(mlir::Value address);
  mlir::Value getI32(int64_t value);

  /// Makes the tensor map, by a whole wave, whose work-items are `lane`, in
  /// 128 bytes of workgroup memory at `scratch`.
  void makeMap(const Matrix &matrix, mlir::Value scratch, mlir::Value lane);
  /// Starts the copy of the tile that begins with the i `first` and the l
  /// `depth`, to `place`; `barrier` counts its bytes.
  void copy(const Matrix &matrix, mlir::Value first, mlir::Value depth,
            mlir::Value place, mlir::Value barrier);

  /// What wgmma wants to know of the tile at `place`.
  mlir::Value getDescriptor(const Matrix &matrix, mlir::Value place);
  /// What wgmma wants to know of the `step`-th 16 l of a tile, from its
  /// `descriptor`.
  mlir::Value advance(const Matrix &matrix, mlir::Value descriptor,
                      int64_t step);

private:
  void callOnMap(llvm::StringRef field, mlir::ValueRange arguments);

  IndexBuilder &b;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_PRODUCTTOGPU_TENSORTILE_H
