//===- Passes.td - Passes from level to level --------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the passes, in the order in which the pipeline runs them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_CONVERSION_PASSES_TD
#define LNBWD_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistributeRowsPass : Pass<"lnbwd-distribute-rows", "::mlir::ModuleOp"> {
  let summary = "Distribute scheduled row programs and products over lanes";
  let description = [{
    Each row program of a function becomes one kernel of a `gpu.module` named
    after the function, and is replaced by a `gpu.launch_func`. The kernel's
    body is at the lane level: a row becomes a lane's fragment of it, so that
    elementwise operations only change their type, in a loop over the rows.

    Expects memrefs, a schedule on every row program but products, final column sums only
    where one workgroup processes all rows (see lnbwd-finalize-column-sums), and
    operands that are arguments of the function or allocations in it. Fails,
    naming the operation, on operations in a region that are neither elementwise
    nor reductions.

    Of a product and what is done after it a workgroup makes a tile of 64 x 64
    elements. Tiles of A and B go through registers to workgroup memory, 128
    bytes of each row at a time, in blocks of 16 bytes that are swizzled so that
    the lanes of an access have no bank conflicts; a matrix whose rows are not
    along the sum is transposed in registers. A wave has fragments of 16 x 16
    elements of the result, to which it adds products (`lane.multiply`); the
    chip's instruction says what a lane has of them:

    | chips | elements of a fragment of the result in a lane |
    |---|---|
    | CDNA | 4 neighbours of a row |
    | RDNA 3 | 8 of every second row |
    | RDNA 4 | 8 neighbours of a row |
    | NVIDIA | two neighbours of a row, four times |
    | others; float32 but on CDNA | one; a wave is 256 work-items |

    Two matrices of f16 or of bf16 are multiplied as they are, other types as
    float32. Elements out of bounds count as 0, so that any size is correct.

    With `prefetch_before_dependency` a kernel may start before the preceding
    one has ended, and cannot load anything before `nvvm.griddepcontrol wait`,
    since that one may still write it. Before the wait stands `lane.prefetch_rows`
    of the tiles that a workgroup has in flight before the end of its first
    iteration: `stages` tiles of rows, or two with `prefetch`, or `unroll`. Their
    addresses are computed before the wait as well.

    A kernel that adds up the partial sums of an allocation and is the last to
    read it ends with `lane.discard`; the vendor's patterns decide which cache
    lines it discards.

    Kernel parameters are bare pointers, each typed as the first row of its
    buffer, then the row count and the workgroup count as 64-bit integers
    (docs/runtime.md). Of a program with groups of rows these are the counts of
    one group, which is the grid's third dimension; in the kernel the buffers
    begin with the group's own rows.

    Before:

    ```mlir
    lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x512xf32>) outs(%y[m, n] : memref<?x512xf32>)
        attributes {schedule = #lnbwd.schedule<threads_per_row = 64, row_groups = 2, ...>} {
    ^bb0(%xr: vector<512xf32>):
      %s = vector.reduction <add>, %xr : vector<512xf32> into f32
      %sv = vector.broadcast %s : f32 to vector<512xf32>
      %yr = arith.mulf %xr, %sv : vector<512xf32>
      lnbwd.yield %yr : vector<512xf32>
    }
    ```

    After, in the kernel:

    ```mlir
    %layout = lane.layout : !lane.layout<row_length = 512, lanes = 64, groups = 2, width = 4>
    %first = lane.first_iteration : !lane.iteration
    %iterations = lane.for_rows %tile = %begin to %rows step %step at %layout carrying(%iteration = %first)
        : !lane.layout<...>, !lane.iteration {
      %row = lane.row %tile at %layout : !lane.layout<...>
      %x = lane.load %xs[%row] at %layout : ... -> vector<2x4xf32>
      %partial = lane.fold [#vector.kind<add>] %x at %layout : ... -> vector<4xf32>
      %s = lane.reduce [#vector.kind<add>] %partial at %layout iteration %iteration phase 0 : ... -> f32
      %sv = vector.broadcast %s : f32 to vector<2x4xf32>
      %y = arith.mulf %x, %sv : vector<2x4xf32>
      lane.store %y, %ys[%row] at %layout : ...
      %next = lane.next_iteration %iteration : !lane.iteration
      lane.yield %next : !lane.iteration
    }
    ```

    and around it:

    ```mlir
    gpu.module @f_kernels {
      gpu.func @k(%x: memref<1x512xf32, #gpu.address_space<global>>, ...,
                  %rows: i64, %workgroups: i64) kernel
          attributes {known_block_size = array<i32: 128, 1, 1>,
                      lnbwd.kernel_info = #lnbwd.kernel_info<entry = "k", ...>} {...}
    }
    func.func @f(%x: memref<?x512xf32>, ...) {
      %m = lnbwd.row_count %x : memref<?x512xf32>
      %w = lnbwd.workgroup_count %m schedule <...>
      gpu.launch_func @f_kernels::@k blocks in (%w, %c1, %c1) threads in (%c128, %c1, %c1)
          args(...)
    }
    ```
  }];
  let dependentDialects = [
    "::lnbwd::lane::LaneDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels made">];
}

def LaneToGPUPass : Pass<"lnbwd-convert-lane-to-gpu", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Lower kernels of the lane level to upstream's dialects";
  let description = [{
    Lowers the remaining operations of the lane level to `gpu`, `vector`, `scf`,
    `memref` and `arith` operations, and, where a target has better ones, to
    those of `amdgpu`, `rocdl` or `nvvm`.

    Expects split fragments, and neither row reductions nor partial tiles: run
    `lnbwd-pipeline-rows`, `lnbwd-block-column-sums`, `lnbwd-split-fragments`
    and `lnbwd-lower-row-reductions` before.

    Before:

    ```mlir
    %layout = lane.layout : !lane.layout<row_length = 512, lanes = 64, groups = 1, width = 8>
    lane.for_rows %tile = %begin to %rows step %step at %layout
        attributes {whole} : !lane.layout<...> {
      %row = lane.row %tile at %layout : !lane.layout<...>
      %x = lane.load %xs[%row] at %layout access 0 : ... -> vector<8xbf16>
      lane.store %x, %ys[%row] at %layout access 0 : ...
    }
    ```

    After:

    ```mlir
    %lane = gpu.thread_id x
    %column = arith.muli %lane, %c8 : index
    scf.for %row = %begin to %rows step %step {
      %x = vector.load %xs[%row, %column] {alignment = 16 : i64} : ..., vector<8xbf16>
      vector.store %x, %ys[%row, %column] {alignment = 16 : i64} : ..., vector<8xbf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::amdgpu::AMDGPUDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::ROCDL::ROCDLDialect",
    "::mlir::vector::VectorDialect"];
}

def ExpandForChipPass : Pass<"lnbwd-expand-for-chip"> {
  let summary = "Write out what the chip has no instruction for";
  let description = [{
    `gpu.subgroup_reduce` becomes data-parallel-primitive moves (DPP) on AMD and
    shuffles elsewhere, by upstream's patterns. If waves have 64 lanes, a move to
    two of the four rows of lanes becomes one to all four where nothing reads the
    other two afterwards: LLVM then folds it into the operation that follows.

    No device library is linked. `math.exp`, `exp2`, `expm1`, `log`, `log1p`,
    `log2`, `tanh`, `erf`, and `powf` and `fpowi` with a constant exponent, of
    float32, become a few multiply-adds around the instructions that `chip` has
    for exp2, log2, reciprocal and roots, through LLVM's intrinsics; elementwise
    on vectors. `sin` and `cos` reduce their argument, once where it is the
    same, by multiply-adds, and in a branch that is rarely taken by integers, so
    that they are right for any. `sqrt` and `rsqrt` of vectors are the chip's instruction,
    scaled for subnormal numbers; of scalars, of which a row has one, they are
    rounded correctly, `rsqrt` as a division. `math.absf`, `floor`, `ceil`,
    `trunc` and `roundeven`, for which there are instructions, become calls of
    LLVM's intrinsics. Their errors are in docs/numerics.md.

    `arith.divf` is IEEE's division and left alone, unless it has the flag
    `afn`, or is the sigmoid's, whose divisor is `1 + exp(...)`: then it is a
    product with the chip's reciprocal. With `arcp` it is the chip's division
    that is off by two units, if it has one. `afn` on a function leaves out what
    keeps its error small near 0 and for large arguments.

    Any other function is an error that names it, but for `math.fma` and
    `copysign`, which are left alone.

    `lnbwd.philox` becomes its ten rounds of integer multiplications.

    `arith.truncf` to a float of 8 bits rounds to nearest even and saturates; a
    NaN stays one. Where the chip has instructions for the format, this and
    `arith.extf` become those; elsewhere they are written out in integers, with
    the same bits but for those of a NaN.

    Before:

    ```mlir
    %r = arith.divf %a, %b fastmath<afn> : f32
    ```

    After, for an AMD chip:

    ```mlir
    %0 = llvm.call_intrinsic "llvm.amdgcn.rcp"(%b) : (f32) -> f32
    %r = arith.mulf %a, %0 : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::amdgpu::AMDGPUDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::ROCDL::ROCDLDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numReductions", "reductions", "Subgroup reductions lowered">,
    Statistic<"numFunctions", "functions", "Calls of functions met">,
  ];
}

#endif // LNBWD_CONVERSION_PASSES_TD
