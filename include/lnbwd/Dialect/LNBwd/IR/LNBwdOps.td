//===- LNBwdOps.td - Operations of the lnbwd dialect -------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the row program that the named operations of LNBwdNorms.td become,
// and the numbers that a launch depends on.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDOPS_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDOPS_TD

include "lnbwd/Dialect/LNBwd/IR/LNBwdAttrs.td"
include "lnbwd/Dialect/LNBwd/IR/LNBwdNorms.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Row programs
//===----------------------------------------------------------------------===//

def LNBwd_RowwiseOp : LNBwd_DestinationOp<"rowwise", [
    SingleBlockImplicitTerminator<"YieldOp">, IsolatedFromAbove,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
                              ["getAsmBlockArgumentNames"]>]> {
  let summary = "A program over each row of its operands";
  let description = [{
    Runs its region once for each of the M rows. The region sees one row:

    | operand | shape | block argument | yielded value |
    |---|---|---|---|
    | `rows` | `[..., N]` | `vector<N x element>` | |
    | `columns` | `[N]` | `vector<N x element>` | |
    | `group_columns` | `[B, N]` | `vector<N x element>` | |
    | `scalars` | `[...]`, or `[..., S]` of f32 | the element | |
    | `matrices` | `[R, C]` | `vector<R x C x element>` | |
    | `outs rows` | `[..., N]` | | `vector<N x element>` |
    | `outs scalars` | `[...]`, or `[..., S]` of f32 | | the element |
    | `outs column_sums` | `[N]`, or `[P, N]` of f32 | | `vector<N x f32>` |
    | `outs group_sums` | `[B, N]`, or `[B, P, N]` of f32 | | `vector<N x f32>` |
    | `outs outer_sums` | `[R, C]` | | `vector<R x C x f32>` |

    Elements are f16, bf16 or f32; those of row blocks may be i8 as well. All
    operands have the same N, but for programs with matrices or outer sums. A
    column sum is added up in float32, in a fixed order; with `accumulate`, to
    what the output holds. What an operand may be is told kind by kind in
    [row-programs.md](../row-programs.md).

    The region is straight-line: elementwise `arith` and `math` operations on
    `vector<N x ...>`, `vector.fma`, `vector.broadcast` of a scalar,
    `vector.reduction <add>` for a row sum and `<maximumf>` for a row's largest
    element, splat constants, and any pure operation on scalars. Rows are
    independent of each other; nothing orders them.

    `entry` is the name of the kernel; `operand_names` names the operands, in
    order, in the launch plan. The last `row_rank` dimensions of a row block are
    its row. `fixed_workgroups`, if not 0, bounds the grid whatever the device.

    Example (sum of squares of each row, and the columns' sums):

    ```mlir
    lnbwd.rowwise @squares rows(%x : memref<?x512xf32>)
        outs scalars(%ss : memref<?xf32>) column_sums(%cs : memref<512xf32>) {
    ^row(%xr: vector<512xf32>):
      %sq = arith.mulf %xr, %xr : vector<512xf32>
      %s = vector.reduction <add>, %sq : vector<512xf32> into f32
      lnbwd.yield %s, %xr : f32, vector<512xf32>
    }
    ```

    Example (a scale for each group of rows, and the gradient of such a shift):

    ```mlir
    lnbwd.rowwise @scale rows(%x : memref<?x512xf32>)
        group_columns(%scale : memref<?x512xf32>)
        outs rows(%y : memref<?x512xf32>) group_sums(%ds : memref<?x512xf32>) {
    ^row(%xr: vector<512xf32>, %s: vector<512xf32>):
      %yr = arith.mulf %xr, %s : vector<512xf32>
      lnbwd.yield %yr, %xr : vector<512xf32>, vector<512xf32>
    }
    ```

    Example (a linear layer's gradients, of its rows and of its weight):

    ```mlir
    lnbwd.rowwise @linear_bwd rows(%dy, %x : memref<?x96xf32>, memref<?x64xf32>)
        matrices(%w : memref<96x64xf32>)
        outs rows(%dx : memref<?x64xf32>) outer_sums(%dw : memref<96x64xf32>) {
    ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>, %wm: vector<96x64xf32>):
      %dxr = lnbwd.linear %dyr, %wm transposed : vector<96xf32>, vector<96x64xf32>
      %dwm = vector.outerproduct %dyr, %xr : vector<96xf32>, vector<64xf32>
      lnbwd.yield %dxr, %dwm : vector<64xf32>, vector<96x64xf32>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$entry,
    Variadic<LNBwd_Shaped>:$rows,
    Variadic<LNBwd_Shaped>:$columns,
    Variadic<LNBwd_Shaped>:$group_columns,
    Variadic<LNBwd_Shaped>:$scalars,
    Variadic<LNBwd_Shaped>:$matrices,
    Variadic<LNBwd_Shaped>:$row_outs,
    Variadic<LNBwd_Shaped>:$scalar_outs,
    Variadic<LNBwd_Shaped>:$column_sums,
    Variadic<LNBwd_Shaped>:$group_sums,
    Variadic<LNBwd_Shaped>:$outer_sums,
    OptionalAttr<StrArrayAttr>:$operand_names,
    OptionalAttr<LNBwd_ScheduleAttr>:$schedule,
    DefaultValuedAttr<I64Attr, "1">:$row_rank,
    UnitAttr:$accumulate,
    DefaultValuedAttr<I64Attr, "0">:$fixed_workgroups
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $entry (`rows` `(` $rows^ `:` type($rows) `)`)?
    (`columns` `(` $columns^ `:` type($columns) `)`)?
    (`group_columns` `(` $group_columns^ `:` type($group_columns) `)`)?
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)?
    (`matrices` `(` $matrices^ `:` type($matrices) `)`)?
    `outs` (`rows` `(` $row_outs^ `:` type($row_outs) `)`)?
    (`scalars` `(` $scalar_outs^ `:` type($scalar_outs) `)`)?
    (`column_sums` `(` $column_sums^ `:` type($column_sums) `)`)?
    (`group_sums` `(` $group_sums^ `:` type($group_sums) `)`)?
    (`outer_sums` `(` $outer_sums^ `:` type($outer_sums) `)`)?
    attr-dict-with-keyword (`->` type($results)^)? custom<RowProgramBody>($body)
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();

    /// M: the number of rows, if the types say it.
    std::optional<int64_t> getStaticRowCount();
    /// N: the static number of columns; of a program with contractions that of
    /// the first row block.
    int64_t getRowLength();
    /// Whether it has matrices or outer sums: a program that multiplies
    /// matrices, whose operands have row lengths of their own.
    bool hasContractions();
    /// What the region has for operand `index`: the type of its argument for an
    /// input, of the yielded value for an output.
    ::mlir::Type getRegionType(unsigned index);
    /// Elements from one row of operand `index`, a row block, to the next.
    int64_t getRowStride(unsigned index);
    /// S: the parts of operand `index`, a row scalar; 0 where it is whole.
    int64_t getScalarSplits(unsigned index);
    /// Whether row scalars are split.
    bool hasSplitScalarOuts();
    /// A row block among the operands, whose leading dimensions are the rows.
    ::mlir::Value getRowBlock();
    /// The name of operand `index` in the launch plan.
    std::string getOperandName(unsigned index);
    /// The value that the region yields for output `index`.
    ::mlir::Value getYielded(unsigned index);
    /// Columns and group columns: what the rows of a workgroup share.
    ::mlir::OperandRange getAllColumns();
    /// Column sums and group sums: what adds up the rows of a workgroup, in
    /// vectors of N elements. Outer sums are not among them.
    ::mlir::OperandRange getAllSums();
    /// An operand whose first dimension is the groups, B; null if all rows are
    /// one group.
    ::mlir::Value getGroupOperand();
    /// B, if the types say it, or 1 where all rows are one group.
    std::optional<int64_t> getStaticGroupCount();
    /// M / B: the number of rows of a group, if the types say it.
    std::optional<int64_t> getStaticGroupRows();
    /// Whether column sums and group sums are written as one partial sum of each
    /// workgroup.
    bool hasPartialSums();
    /// Whether the region sums over the row, or takes its largest element.
    bool hasRowSums();
    /// Bits of the widest element among row blocks, read or written.
    unsigned getRowElementBits();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def LNBwd_YieldOp : LNBwd_Op<"yield", [Pure, Terminator, ReturnLike,
                                       HasParent<"RowwiseOp">]> {
  let summary = "Ends a row program with the values of its outputs";
  let description = [{
    One value for each output of the enclosing `lnbwd.rowwise`, in the order row
    blocks, row scalars, column sums, group sums, outer sums.

    Example:

    ```mlir
    lnbwd.yield %dx, %dgamma : vector<512xbf16>, vector<512xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def LNBwd_LinearOp : LNBwd_Op<"linear", [
    Pure, HasParent<"RowwiseOp">, InferTypeOpAdaptor]> {
  let summary = "A row times a matrix, as a linear layer has it";
  let description = [{
    With a matrix W of R rows and C columns, a weight as PyTorch has it:

        result[o] = sum over k of row[k] W[o, k]         a row of C gives one of R
        result[k] = sum over o of row[o] W[o, k]         transposed: R gives C

    `matrix` is an argument of the row program, one of its `matrices`. Elements
    of row and matrix are f16, bf16 or f32 and need not be the same; they are
    widened to float32, multiplied and added there, in an order that no one
    promises but that is the same in every run. The result is f32. A row that is
    rounded to bf16 before (`arith.truncf`) says that the product may be one of
    bf16.

    Example:

    ```mlir
    %y = lnbwd.linear %x, %w : vector<64xbf16>, vector<96x64xbf16>
    %dx = lnbwd.linear %dy, %w transposed : vector<96xf32>, vector<96x64xbf16>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F16, BF16, F32]>:$row,
                       VectorOfRankAndType<[2], [F16, BF16, F32]>:$matrix,
                       UnitAttr:$transposed);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $row `,` $matrix (`transposed` $transposed^)? attr-dict `:` type($row) `,`
    type($matrix)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Numbers that a launch depends on
//===----------------------------------------------------------------------===//

def LNBwd_RowCountOp : LNBwd_Op<"row_count", [Pure]> {
  let summary = "The number of rows of a row block";
  let description = [{
    The product of all dimensions of `source` but the last (the last `row_rank`
    where a row has several): M of the launch plan. It is not folded where these
    dimensions are static: M stays what a launch is free to choose.

    Example:

    ```mlir
    %m = lnbwd.row_count %x : memref<?x?x4096xbf16>
    ```
  }];
  let arguments = (ins LNBwd_Shaped:$source,
                       DefaultValuedAttr<I64Attr, "1">:$row_rank);
  let results = (outs Index:$count);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def LNBwd_GroupCountOp : LNBwd_Op<"group_count", [Pure]> {
  let summary = "The number of groups of a group column or group sum";
  let description = [{
    The first dimension of `source`: B of the launch plan. Like
    `lnbwd.row_count` it is not folded where it is static.

    Example:

    ```mlir
    %b = lnbwd.group_count %scale : memref<?x4096xbf16>
    ```
  }];
  let arguments = (ins LNBwd_Shaped:$source);
  let results = (outs Index:$count);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def LNBwd_WorkgroupCountOp : LNBwd_Op<"workgroup_count", [Pure]> {
  let summary = "The number of workgroups that a schedule gives so many rows";
  let description = [{
    `max(1, min(ceil(rows / rows_per_workgroup), workgroups_per_compute_unit * C / workgroups_per_row))`
    with C the compute units of the device that the kernel is launched on, hence
    known at launch only. Workgroups that share rows count as one. With
    `fixed_workgroups` this number stands in the place of the quotient, and the
    count is the same on every device. Without a bound per compute unit the
    minimum falls away; with `rows_per_workgroup` 0 the count is 1.

    With `groups`, the number B of groups of rows, it is the number of
    workgroups of each group: `rows` is then the rows of a group, the row count
    divided by B, and the groups share the compute units, whose bound is divided
    by B, too.

    Example:

    ```mlir
    %w = lnbwd.workgroup_count %m schedule
        <threads_per_row = 64, row_groups = 4, vector_width = 8,
         rows_per_workgroup = 16, workgroups_per_compute_unit = 4>
    %v = lnbwd.workgroup_count %m groups %b schedule
        <threads_per_row = 64, row_groups = 4, vector_width = 8,
         rows_per_workgroup = 16, workgroups_per_compute_unit = 4>
    ```
  }];
  let arguments = (ins Index:$row_count, Optional<Index>:$group_count,
                       LNBwd_ScheduleAttr:$schedule,
                       DefaultValuedAttr<I64Attr, "0">:$fixed_workgroups);
  let results = (outs Index:$count);
  let assemblyFormat = [{
    $row_count (`groups` $group_count^)? `schedule` $schedule attr-dict
  }];
  let hasFolder = 1;
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDOPS_TD
