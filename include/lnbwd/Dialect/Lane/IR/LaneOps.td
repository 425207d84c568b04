//===- LaneOps.td - Operations of the lane dialect ---------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the operations, in the order in which a kernel has them: the layout
// of a lane, and loads and stores. The loop over the rows, sums and transfers
// have files of their own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANEOPS_TD
#define LNBWD_DIALECT_LANE_IR_LANEOPS_TD

include "lnbwd/Dialect/Lane/IR/LaneDialect.td"
include "lnbwd/Dialect/Lane/IR/LaneLoopOps.td"
include "lnbwd/Dialect/Lane/IR/LaneSumOps.td"
include "lnbwd/Dialect/Lane/IR/LaneTransferOps.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

def Lane_LayoutOp : Lane_Op<"layout", [
    Pure, Lane_That<
    "there is a first column where the workgroup has some of a row's columns alone",
    "bool(getFirst()) == getLayout().getType().sharesRows()">]> {
  let summary = "The layout of this lane";
  let description = [{
    The group of this lane and its columns. The columns of its workgroup begin
    with column `first`, or with the row's first one.

    Example:

    ```mlir
    %layout = lane.layout : !lane.layout<row_length = 1024, lanes = 64, groups = 8, width = 8>
    %column_tile = lane.layout from %column
        : !lane.layout<row_length = 1024, lanes = 8, groups = 40, width = 4, columns = 32>
    ```
  }];
  let arguments = (ins Optional<Index>:$first);
  let results = (outs Lane_Layout:$layout);
  let assemblyFormat = "(`from` $first^)? attr-dict `:` type($layout)";
}

def Lane_RowOp : Lane_Op<"row", [Pure]> {
  let summary = "The row of this lane in a tile";
  let description = [{
    The row that the lane's group processes in the tile whose first row is
    `tile`.

    Example:

    ```mlir
    %row = lane.row %tile at %layout : !lane.layout<...>
    ```
  }];
  let arguments = (ins Index:$tile, Lane_Layout:$layout);
  let results = (outs Index:$row);
  let assemblyFormat = "$tile `at` $layout attr-dict `:` type($layout)";
}

class Lane_LayoutQueryOp<string mnemonic> : Lane_Op<mnemonic, [Pure]> {
  let arguments = (ins Lane_Layout:$layout);
  let results = (outs Index:$result);
  let assemblyFormat = "$layout attr-dict `:` type($layout)";
  let hasFolder = 1;
}

def Lane_GroupOp : Lane_LayoutQueryOp<"group"> {
  let summary = "The index of this lane's group in its workgroup";
  let description = [{
    Example:

    ```mlir
    %group = lane.group %layout : !lane.layout<...>
    ```
  }];
}

def Lane_LaneOp : Lane_LayoutQueryOp<"lane"> {
  let summary = "The index of this lane among those that share its row";
  let description = [{
    Example:

    ```mlir
    %lane = lane.lane %layout : !lane.layout<...>
    ```
  }];
}

def Lane_ColumnIndexOp : Lane_Op<"column_index", [
    Pure, AccessOpInterface, Lane_RowWhereAligned, Lane_That<
    "the result has the shape of a fragment, or of an access",
    "getType() == getRowType(getLayout(), getType().getElementType(), getAccess())">]> {
  let summary = "The columns of a lane's fragment";
  let description = [{
    The index in the row of each element that this lane has, with `access` of
    that access alone. Of elements out of bounds it is that of those which are
    loaded in their place. Where rows are aligned it depends on the `row`, and
    of elements that are not in it it is no column of the row. With `divisor` and
    `modulus` it is that index divided by the one, modulo the other: where an
    access has one such number, or the next one for each element, it takes one
    division.

    Example:

    ```mlir
    %columns = lane.column_index %layout : !lane.layout<...> -> vector<2x8xi32>
    %some = lane.column_index %layout access 1 : !lane.layout<...> -> vector<8xi32>
    %shifted = lane.column_index %layout row %row : !lane.layout<...> -> vector<2x8xi32>
    %head = lane.column_index %layout divisor 64 modulus 12 : !lane.layout<...> -> vector<2x8xi32>
    ```
  }];
  let arguments = (ins Lane_Layout:$layout, Optional<Index>:$row,
                       OptionalAttr<I64Attr>:$access,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$divisor,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$modulus);
  let results = (outs VectorOfRankAndType<[1, 2], [I32]>:$columns);
  let assemblyFormat = [{
    $layout (`row` $row^)? (`access` $access^)? (`divisor` $divisor^)?
    (`modulus` $modulus^)? attr-dict `:` type($layout) `->` type($columns)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$columns,
                                 "::mlir::Value":$layout, "::mlir::Value":$row,
                                 "::mlir::IntegerAttr":$access), [{
    build($_builder, $_state, columns, layout, row, access, /*divisor=*/{},
          /*modulus=*/{});
  }]>];
}

def Lane_InBoundsOp : Lane_Op<"in_bounds", [Pure, Lane_AccessExists]> {
  let summary = "Whether the columns of an access are in bounds";
  let description = [{
    They may be beyond the row's end, or beyond the workgroup's columns.

    Example:

    ```mlir
    %in_bounds = lane.in_bounds %layout access 1 : !lane.layout<...>
    ```
  }];
  let arguments = (ins Lane_Layout:$layout, I64Attr:$access);
  let results = (outs I1:$result);
  let assemblyFormat = "$layout `access` $access attr-dict `:` type($layout)";
  let hasFolder = 1;
}

def Lane_PrefetchRowsOp : Lane_Op<"prefetch_rows", [
    Lane_HasMemories, Lane_MemoriesHoldRows<>]> {
  let summary = "Prefetch a tile of rows to the L2 cache";
  let description = [{
    This workgroup's columns of the rows of the tile that begins with row
    `tile`, below row `end`, of each of `memories`. An asynchronous hint:
    nothing waits for it. It may refer to memory that another kernel still
    writes, since the L2 cache is the point of coherence of the chip's writes.

    Example:

    ```mlir
    lane.prefetch_rows %dys, %xs from %tile below %rows at %layout
        : !lane.layout<...>, memref<?x1024xbf16>, memref<?x1024xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$tile, Index:$end,
                       Lane_Layout:$layout);
  let assemblyFormat = [{
    $memories `from` $tile `below` $end `at` $layout attr-dict `:` type($layout)
    `,` type($memories)
  }];
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

def Lane_ViewOp : Lane_Op<"view", [
    Pure, Lane_That<
    "a view has the elements and the memory space of its memory",
    "getElementTypeOrSelf(getView()) == getElementTypeOrSelf(getMemory()) && "
    "::llvm::cast<::mlir::MemRefType>(getView().getType()).getMemorySpace() == "
    "::llvm::cast<::mlir::MemRefType>(getMemory().getType()).getMemorySpace()">,
    Lane_That<
    "a view has a layout without symbols that gives the indices of its memory",
    "isViewLayout(getView().getType(), getMemory().getType())">]> {
  let summary = "A buffer as if it had an element for each of a row";
  let description = [{
    `memory` by the rows and columns of the kernel: the layout of the result
    says which element of `memory` each is. For what is repeated along a row, or
    over rows, or lies in memory in another way. Loads and stores of rows,
    columns and row scalars take it. Of a group of rows that begins with row
    `first` of all, the layout has the numbers among all.

    Example (a scale for each of 8 channels of 49 elements):

    ```mlir
    %scales = lane.view %scale : memref<8xf32>
        to memref<392xf32, affine_map<(d0) -> (d0 floordiv 49)>>
    ```
  }];
  let arguments = (ins AnyMemRef:$memory, Optional<Index>:$first);
  let results = (outs AnyMemRef:$view);
  let assemblyFormat = [{
    $memory (`from` $first^)? attr-dict `:` type($memory) `to` type($view)
  }];
}

def Lane_LoadColumnsOp : Lane_Op<"load_columns", [
    MemoryEffects<[MemRead]>, Lane_That<
    "a memory is a memref of rank 1, of the layout's row_length",
    "holdRows(getMemories().getTypes(), getLayout(), /*rank=*/1)">,
    Lane_That<
    "there is a fragment of each memory, or all accesses of it",
    "areOfRowsOrSplit(getFragments().getTypes(), getLayout(), "
    "getMemories().getTypes())">]> {
  let summary = "Load column operands, once per workgroup";
  let description = [{
    The lane's fragment of each of `memories`, vectors of a row's length that
    are the same for all rows. The target chooses whether each group loads its
    own or one group loads for all. With `each`, each group loads its own, and
    not all lanes need to execute the operation.

    The results are one fragment for each memory; split, all accesses of the
    first memory, then those of the second, and so on.

    Example:

    ```mlir
    %gamma, %beta = lane.load_columns %g, %b at %layout
        : !lane.layout<...>, memref<1024xbf16>, memref<1024xbf16>
        -> vector<2x8xbf16>, vector<2x8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Lane_Layout:$layout,
                       UnitAttr:$each);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$fragments);
  let assemblyFormat = [{
    $memories `at` $layout (`each` $each^)? attr-dict `:` type($layout) `,`
    type($memories) `->` type($fragments)
  }];
}

class Lane_LoadRowOp<string mnemonic>
    : Lane_Op<mnemonic, [MemoryEffects<[MemRead]>, AccessOpInterface,
                         Lane_MemoriesHoldRows<>,
                         Lane_FragmentsOf<"getMemories().getTypes()">]> {
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$row,
                       Lane_Layout:$layout, OptionalAttr<I64Attr>:$access);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$fragments);
  let assemblyFormat = [{
    $memories `[` $row `]` `at` $layout (`access` $access^)? attr-dict `:`
    type($layout) `,` type($memories) `->` type($fragments)
  }];
}

def Lane_LoadOp : Lane_LoadRowOp<"load"> {
  let summary = "Load a lane's fragment of a row of row blocks";
  let description = [{
    The lane's fragment of row `row` of each of `memories`. The row must be in
    bounds. With `access`, only that access.

    Example:

    ```mlir
    %dy, %x = lane.load %dys, %xs[%row] at %layout
        : !lane.layout<...>, memref<?x1024xbf16>, memref<?x1024xbf16>
        -> vector<2x8xbf16>, vector<2x8xbf16>
    %x1 = lane.load %xs[%row] at %layout access 1
        : !lane.layout<...>, memref<?x1024xbf16> -> vector<8xbf16>
    ```
  }];
}

def Lane_ConvertLayoutOp : Lane_Op<"convert_layout", [
    RangedTypesMatchWith<"results have the types of the fragments",
    "fragments", "results", "$_self">,
    Lane_That<
    "layouts differ in across alone",
    "areTurned(getFrom().getType(), getTo().getType())">,
    Lane_That<
    "it takes fragments by a layout",
    "areOfRows(getFragments().getTypes(), getTo(), getFragments().getTypes())">]> {
  let summary = "Exchange fragments between the lanes of two layouts";
  let description = [{
    The lanes that have `fragments` of a tile of rows by layout `from` get those
    by layout `to`. The layouts differ in `across` alone. Rows whose neighbours
    lie beside each other in memory are loaded and stored by the layout that is
    `across`, so that neighbouring lanes access neighbouring elements, and
    computed by the other one. `lnbwd-lower-layout-conversions` has the lanes
    exchange them through workgroup memory.

    Example:

    ```mlir
    %x = lane.convert_layout %loaded from %across to %layout
        : !lane.layout<row_length = 768, lanes = 16, groups = 16, width = 8, across = true>,
          !lane.layout<row_length = 768, lanes = 16, groups = 16, width = 8>,
          vector<6x8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfAnyRank>:$fragments, Lane_Layout:$from,
                       Lane_Layout:$to);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$results);
  let assemblyFormat = [{
    $fragments `from` $from `to` $to attr-dict `:` type($from) `,` type($to) `,`
    type($fragments)
  }];
}

def Lane_GatherOp : Lane_LoadRowOp<"gather"> {
  let summary = "Load a lane's fragment of a row of tables";
  let description = [{
    As `lane.load`, of a row that follows from what the lane's own row holds: no
    pass loads it ahead. The row must be in bounds.

    Example:

    ```mlir
    %embedding = lane.gather %table[%token] at %layout
        : !lane.layout<...>, memref<50257x1024xbf16> -> vector<2x8xbf16>
    ```
  }];
}

def Lane_LoadElementsOp : Lane_Op<"load_elements", [MemoryEffects<[MemRead]>]> {
  let summary = "Load an element for each index of a fragment";
  let description = [{
    The elements of `memory` that `indices` say, which are unsigned and in
    bounds. As with `lane.gather`, no pass loads them ahead.

    Example:

    ```mlir
    %elements = lane.load_elements %memory[%indices]
        : memref<300xf32>, vector<2x8xi32> -> vector<2x8xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [1]>:$memory,
                       AnyVectorOfAnyRank:$indices);
  let results = (outs AnyVectorOfAnyRank:$elements);
  let assemblyFormat = [{
    $memory `[` $indices `]` attr-dict `:` type($memory) `,` type($indices) `->`
    type($elements)
  }];
}

def Lane_LoadScalarOp : Lane_Op<"load_scalar", [
    MemoryEffects<[MemRead]>, TypesMatchWith<"result is the memory's element",
    "memory", "scalar",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Load the row scalar of a row";
  let description = [{
    Element `row` of `memory`: the same in all lanes of a group.

    Example:

    ```mlir
    %mean = lane.load_scalar %means[%row] : memref<?xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [1]>:$memory, Index:$row);
  let results = (outs AnyType:$scalar);
  let assemblyFormat = "$memory `[` $row `]` attr-dict `:` type($memory)";
}

def Lane_LoadPredicatedOp : Lane_Op<"load_predicated", [
    MemoryEffects<[MemRead]>, AccessOpInterface, Lane_MemoriesHoldRows<>,
    Lane_FragmentsOf<"getMemories().getTypes()">]> {
  let summary = "Load a lane's fragment of a row that may be out of bounds";
  let description = [{
    The lane's fragment of its row of the tile that begins with row `tile`, of
    each of `memories`. The first `count` rows of the tile are in bounds; loads
    of the others are dropped without a branch, and their results are undefined.
    So are all results where `count` is 0. With `access`, only that access.

    For targets with bounds-checked loads: AMD's buffer loads.

    Example:

    ```mlir
    %dy, %x = lane.load_predicated %dys, %xs from %tile count %count at %layout
        : !lane.layout<...>, memref<?x1024xbf16>, memref<?x1024xbf16>
        -> vector<2x8xbf16>, vector<2x8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$memories, Index:$tile, Index:$count,
                       Lane_Layout:$layout, OptionalAttr<I64Attr>:$access);
  let results = (outs Variadic<AnyVectorOfAnyRank>:$fragments);
  let assemblyFormat = [{
    $memories `from` $tile `count` $count `at` $layout (`access` $access^)?
    attr-dict `:` type($layout) `,` type($memories) `->` type($fragments)
  }];
}

def Lane_LoadScalarPredicatedOp : Lane_Op<"load_scalar_predicated", [
    MemoryEffects<[MemRead]>, TypesMatchWith<"result is the memory's element",
    "memory", "scalar",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Load the row scalar of a row that may be out of bounds";
  let description = [{
    As `lane.load_predicated`, for the element of `memory` of the lane's row.
    Only some lanes hold the result; `lane.broadcast_scalar` gives it to all.

    Example:

    ```mlir
    %mean = lane.load_scalar_predicated %means from %tile count %count at %layout
        : !lane.layout<...>, memref<?xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [1]>:$memory, Index:$tile,
                       Index:$count, Lane_Layout:$layout);
  let results = (outs AnyType:$scalar);
  let assemblyFormat = [{
    $memory `from` $tile `count` $count `at` $layout attr-dict `:` type($layout)
    `,` type($memory)
  }];
}

def Lane_BroadcastScalarOp : Lane_Op<"broadcast_scalar", [
    AllTypesMatch<["scalar", "shared"]>]> {
  let summary = "Broadcast a row scalar to all lanes of its group";
  let description = [{
    The result of `lane.load_scalar_predicated`, in all lanes. It waits for the
    load.

    Example:

    ```mlir
    %shared = lane.broadcast_scalar %mean at %layout : !lane.layout<...>, f32
    ```
  }];
  let arguments = (ins AnyType:$scalar, Lane_Layout:$layout);
  let results = (outs AnyType:$shared);
  let assemblyFormat = [{
    $scalar `at` $layout attr-dict `:` type($layout) `,` type($scalar)
  }];
}

def Lane_RowValue : AnyTypeOf<[
    VectorOfRankAndType<[1, 2], [AnyFloat, AnySignlessInteger]>, AnyFloat,
    AnySignlessInteger],
    "a lane's fragment of a row, an access of it or a row scalar">;

def Lane_UndefinedRowOp : Lane_Op<"undefined_row", [Pure]> {
  let summary = "An undefined value instead of a load out of bounds";
  let description = [{
    What a branch yields where the other one loads: a fragment of a row, one
    access of it, or a row scalar. No operation may depend on it, so that it
    costs no instruction. Its bits are undefined and may differ between uses,
    like `llvm.mlir.poison` at the LLVM level.

    Example:

    ```mlir
    %next = scf.if %in_bounds -> (vector<2x8xbf16>) {
      %x = lane.load %xs[%row] at %layout
          : !lane.layout<...>, memref<?x1024xbf16> -> vector<2x8xbf16>
      scf.yield %x : vector<2x8xbf16>
    } else {
      %none = lane.undefined_row : vector<2x8xbf16>
      scf.yield %none : vector<2x8xbf16>
    }
    ```
  }];
  let results = (outs Lane_RowValue:$value);
  let assemblyFormat = "attr-dict `:` type($value)";
}

def Lane_StoreOp : Lane_Op<"store", [
    MemoryEffects<[MemWrite]>, AccessOpInterface, PredicatedOpInterface,
    Lane_MemoriesHoldRows<"::mlir::Type(getMemory().getType())">,
    Lane_That<
    "it stores a fragment, an access, or an element of accesses that lie side by side",
    "isStored(*this)">]> {
  let summary = "Store a lane's fragment of a row";
  let description = [{
    Writes `fragment` to row `row` of `memory`, unless `in_bounds` is false;
    with `access`, only that access; with `element` as well, `fragment` is that
    element of this access and of those after it, which lie side by side in a
    view. Columns beyond the row's end, or the workgroup's columns, are not
    written, and what a view repeats is written once.

    Example:

    ```mlir
    lane.store %y, %ys[%row] at %layout if %in_bounds
        : !lane.layout<...>, vector<2x8xbf16>, memref<?x1024xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfAnyRank:$fragment, AnyMemRef:$memory, Index:$row,
                       Lane_Layout:$layout, Optional<I1>:$in_bounds,
                       OptionalAttr<I64Attr>:$access,
                       OptionalAttr<I64Attr>:$element);
  let assemblyFormat = [{
    $fragment `,` $memory `[` $row `]` `at` $layout (`access` $access^)?
    (`element` $element^)? (`if` $in_bounds^)? attr-dict `:` type($layout) `,`
    type($fragment) `,` type($memory)
  }];
  let extraClassDeclaration = [{
    /// Of how many accesses the same elements lie side by side in memory, a
    /// power of two; 1 where those of one access do.
    int64_t countAccessesAside();
  }];
}

def Lane_StoreScalarOp : Lane_Op<"store_scalar", [
    MemoryEffects<[MemWrite]>, PredicatedOpInterface,
    TypesMatchWith<"value is the memory's element",
    "memory", "scalar",
    "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Store the row scalar of a row";
  let description = [{
    Writes `scalar`, which is the same in all lanes of the group, to element
    `row` of `memory` once, unless `in_bounds` is false: the lane with the row's
    first columns writes it. With `own_columns`, each workgroup of a row writes
    to a memory of its own, by the lane with its first columns.

    Example:

    ```mlir
    lane.store_scalar %rstd, %rstds[%row] at %layout : !lane.layout<...>, memref<?xf32>
    ```
  }];
  let arguments = (ins AnyType:$scalar, MemRefRankOf<[AnyType], [1]>:$memory,
                       Index:$row, Lane_Layout:$layout, Optional<I1>:$in_bounds,
                       UnitAttr:$own_columns);
  let assemblyFormat = [{
    $scalar `,` $memory `[` $row `]` `at` $layout (`if` $in_bounds^)?
    (`own_columns` $own_columns^)? attr-dict `:` type($layout) `,` type($memory)
  }];
}

def Lane_DiscardOp : Lane_Op<"discard", [
    Lane_HasMemories, Lane_MemoriesHoldRows<>]> {
  let summary = "Discard the cache lines of dead rows";
  let description = [{
    After this the columns of this workgroup in the first `rows` rows of
    `memories` are undefined: a cache need not write them back. The lanes of the
    workgroup share the work, so that a barrier has to separate it from all
    their loads of these rows. A no-op where the chip cannot discard lines, or
    where it does not pay.

    Example:

    ```mlir
    lane.discard %dgammas, %dbetas rows %rows at %layout
        : !lane.layout<...>, memref<?x1024xf32>, memref<?x1024xf32>
    ```
  }];
  let arguments = (ins Arg<Variadic<AnyMemRef>, "", [MemWrite]>:$memories,
                       Index:$rows, Lane_Layout:$layout);
  let assemblyFormat = [{
    $memories `rows` $rows `at` $layout attr-dict `:` type($layout) `,`
    type($memories)
  }];
}

#endif // LNBWD_DIALECT_LANE_IR_LANEOPS_TD
