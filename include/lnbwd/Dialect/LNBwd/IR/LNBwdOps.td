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
    The domain has row dimensions and column dimensions, `domain(m | n)`. The
    region runs once for each point of the row dimensions. There each operand
    with column dimensions is a vector over all of them: a row. Rows are
    independent and have no order.

    The map of an operand, such as `%gamma[n]`, names its dimensions of the
    domain. Inputs, row blocks and row scalars of static sizes may have them in
    any order and with any static strides. An input is repeated along dimensions
    that its map lacks. An output is combined along them: `add` sums, `max` takes
    the largest (column maxima are column sums with another addition). `*` is a
    dimension outside of the domain: in an output and in row scalars that of
    partial sums, which stand for their sum; in an input `[*, n]` or `[*]` the
    rows or elements of a table, which `lnbwd.gather` selects and
    `lnbwd.gather_sum` adds. An input `[m, n + 64]` is, at n, element
    (n + 64) mod its own size.

    | map, of `domain(b, m \| n)` | input | output | in the region |
    |---|---|---|---|
    | `[b, m, n]` | row block | row block | `vector<N x element>` |
    | `[n]` | column | column sum | `vector<N x element>`; a sum is f32 |
    | `[b, n]` | group column | group sum | `vector<N x element>`; a sum is f32 |
    | `[b, m]` | row scalar | row scalar | the element |
    | `[m, n]`, `[m]` | row block, row scalar that groups share | | as those |
    | `[b]`, `[]` | number of a group, number | | the element |
    | `[k, n]` | matrix | outer sum | `vector<K x N x element>`; a sum is f32 |
    | `[*, n]` | table | | `vector<V x N x element>` |
    | `[*]` | table of elements | | `vector<V x element>` |
    | `[*, n]`, `[b, *, n]`, `[*, k, n]` | | partial sums, f32 | as their sums |
    | `[b, m, *]` | split row scalar | split row scalar | `f32` |

    A row of several column dimensions is one vector, its last dimension
    innermost. An input may lack some of them and is repeated along these: a
    scale `[c]` of `domain(m | c, s)` is a column of C x S elements. A written row
    block may lack the last ones, and gets the first of the elements along these.
    A matrix has two column dimensions that no row block has both; such a program
    multiplies matrices, and its row blocks have one column dimension each.
    Column dimensions are static. Elements are f16, bf16 or f32; except for sums,
    matrices and tables also i8, i16, i32 or i64; those of row blocks also floats
    of 8 bits. A sum is computed in float32, in a fixed order; with `accumulate`
    it is added to the contents of the output. Operands come in the order of the
    table. [row-programs.md](../row-programs.md) describes them further.

    The region is straight-line: elementwise `arith` and `math` operations on
    `vector<N x ...>`, `vector.fma`, `vector.broadcast` of a scalar,
    `vector.reduction <add>` for a row sum and `<maximumf>` for a row's largest
    element, `lnbwd.block_max`, `lnbwd.gather`, `lnbwd.gather_sum`, splat
    constants, and any pure operation on scalars.

    `entry` is the name of the kernel; `operand_names` names the operands, in
    order, in the launch plan. `fixed_workgroups`, if not 0, bounds the grid on
    every device: the order of column sums, and so their bits, then depend on M
    and N only. Passes set the other attributes, which relate a program to its
    launch and to neighbouring programs; the parts of a split program inherit
    those that hold for them:

    | attribute | meaning |
    |---|---|
    | `own_rows` | the rows are those of a weight: a static number, not the launch's M |
    | `row_ratio` | two numbers T and O: M x T / O rows for the launch's M |
    | `leaves` | rows of each leaf of the binary tree that adds the column sums |
    | `independent` | the program reads nothing that the preceding program writes |
    | `canonical` | sums have the same bits for every schedule, chip and cut of the batch ([numerics.md](../numerics.md#canonical-order)) |

    Example (sum of squares of each row, and the columns' sums):

    ```mlir
    lnbwd.rowwise @squares domain(m | n) ins(%x[m, n] : memref<?x512xf32>)
        outs(%ss[m] : memref<?xf32>, %cs[n] add : memref<512xf32>) {
    ^row(%xr: vector<512xf32>):
      %sq = arith.mulf %xr, %xr : vector<512xf32>
      %s = vector.reduction <add>, %sq : vector<512xf32> into f32
      lnbwd.yield %s, %xr : f32, vector<512xf32>
    }
    ```

    Example (a linear layer's gradients, of its rows and of its weight):

    ```mlir
    lnbwd.rowwise @linear_bwd domain(m | o, k)
        ins(%dy[m, o] : memref<?x96xf32>, %x[m, k] : memref<?x64xf32>,
            %w[o, k] : memref<96x64xf32>)
        outs(%dx[m, k] : memref<?x64xf32>, %dw[o, k] add : memref<96x64xf32>) {
    ^row(%dyr: vector<96xf32>, %xr: vector<64xf32>, %wm: vector<96x64xf32>):
      %dxr = lnbwd.linear %dyr, %wm transposed : vector<96xf32>, vector<96x64xf32>
      %dwm = vector.outerproduct %dyr, %xr : vector<96xf32>, vector<64xf32>
      lnbwd.yield %dxr, %dwm : vector<64xf32>, vector<96x64xf32>
    }
    ```

    The dimensions are printed as `m0`, `m1`, ... and `n0`, `n1`, ..., without a
    number where there is one. In the generic form, `indexing_maps` are affine
    maps of the domain, whose first `num_row_dims` dimensions are rows; their
    symbol is `*`. `operand_forms` follow from them.
  }];
  let arguments = (ins
    SymbolNameAttr:$entry,
    Variadic<LNBwd_Shaped>:$inputs,
    Variadic<LNBwd_Shaped>:$outputs,
    AffineMapArrayAttr:$indexing_maps,
    I64Attr:$num_row_dims,
    LNBwd_ReductionArrayAttr:$reductions,
    LNBwd_OperandFormArrayAttr:$operand_forms,
    OptionalAttr<StrArrayAttr>:$operand_names,
    OptionalAttr<LNBwd_ScheduleAttr>:$schedule,
    OptionalAttr<DenseI64ArrayAttr>:$row_ratio,
    OptionalAttr<I64Attr>:$leaves,
    UnitAttr:$accumulate,
    DefaultValuedAttr<I64Attr, "0">:$fixed_workgroups,
    UnitAttr:$own_rows,
    UnitAttr:$independent,
    UnitAttr:$canonical
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $entry custom<RowwiseOperands>($inputs, type($inputs), $outputs,
      type($outputs), $indexing_maps, $num_row_dims, $reductions,
      $operand_forms)
    attr-dict-with-keyword (`->` type($results)^)? custom<RowProgramBody>($body)
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }

    /// What operand `index` is; `updateForms` derives it anew where operands or
    /// maps have changed.
    OperandFormAttr getForm(unsigned index) {
      return ::mlir::cast<OperandFormAttr>(getOperandForms()[index]);
    }
    void updateForms();
    ::mlir::AffineMap getMap(unsigned index);
    /// How operand `index` combines rows; an input does not.
    Reduction getReduction(unsigned index);

    ::mlir::OperandRange getRows() { return getInputsOf(Access::Row); }
    ::mlir::OperandRange getColumns() { return getInputsOf(Access::Column); }
    ::mlir::OperandRange getGroupColumns() {
      return getInputsOf(Access::GroupColumn);
    }
    ::mlir::OperandRange getScalars() { return getInputsOf(Access::Scalar); }
    ::mlir::OperandRange getMatrices() { return getInputsOf(Access::Matrix); }
    ::mlir::OperandRange getTables() { return getInputsOf(Access::Table); }
    ::mlir::OperandRange getRowOuts() { return getOutputsOf(Access::Row); }
    ::mlir::OperandRange getScalarOuts() {
      return getOutputsOf(Access::Scalar);
    }
    ::mlir::OperandRange getColumnSums() {
      return getOutputsOf(Access::Column);
    }
    ::mlir::OperandRange getGroupSums() {
      return getOutputsOf(Access::GroupColumn);
    }
    ::mlir::OperandRange getOuterSums() {
      return getOutputsOf(Access::Matrix);
    }

    /// The number of column dimensions of a row block.
    int64_t getRowRank();
    /// M: the number of rows, if the types say it.
    std::optional<int64_t> getStaticRowCount();
    /// N: the static number of columns; of a program with contractions that of
    /// the first row block.
    int64_t getRowLength();
    /// Whether it has matrices or outer sums: a program that multiplies
    /// matrices, whose operands have row lengths of their own.
    bool hasContractions();
    /// Whether it has numbers for each row alone: a row has one element.
    bool isOfNumbers();
    /// A product of two buffers: the value that it is in the region, of rows that
    /// it sums up or of a row and a matrix, which may be transposed.
    struct Product {
      ::mlir::Value lhs, rhs, value;
      bool sumsRows, isTransposed;
    };
    /// The product of a program that is a kernel of tiles: a `lnbwd.linear` of
    /// what is read, of which the rest of the region makes the one output, a row
    /// block, elementwise; or a `vector.outerproduct` of rows that are read,
    /// which is the one output. None of others.
    ::std::optional<Product> getProduct();
    /// Rows and columns of a tile of its result, which a workgroup makes.
    static constexpr int64_t productTile = 64;
    /// What the region has for operand `index`: the type of its argument for an
    /// input, of the yielded value for an output.
    ::mlir::Type getRegionType(unsigned index);
    /// Whether row scalars are split.
    bool hasSplitScalarOuts();
    /// A row block among the operands, and its sizes in the order of the domain:
    /// those of the rows first. One that is not strided, if there is one. Without
    /// any a number for each row, and the sizes that row blocks would have.
    ::mlir::Value getRowBlock();
    ::llvm::SmallVector<int64_t> getRowBlockShape();
    /// The name of operand `index` in the launch plan.
    std::string getOperandName(unsigned index);
    /// The value that the region yields for output `index`.
    ::mlir::Value getYielded(unsigned index);
    /// Columns and group columns: what the rows of a workgroup share.
    ::mlir::OperandRange getAllColumns();
    /// Column sums and group sums: what adds up the rows of a workgroup, in
    /// vectors of N elements. Outer sums are not among them.
    ::mlir::OperandRange getAllSums();
    /// Whether these take the largest, and add up nothing.
    bool takesMaxima();
    /// The leading row dimensions that make up the groups: operands have all
    /// row dimensions, none, those, or the others. 0: all rows are one group.
    int64_t getNumGroupDims();
    bool hasGroups() { return getNumGroupDims() != 0; }
    /// The sizes of the domain's dimensions, dynamic where no type says them.
    ::llvm::SmallVector<int64_t> getDimSizes();
    /// B, if a row block's type says it, or 1 where all rows are one group.
    std::optional<int64_t> getStaticGroupCount();
    /// M / B: the number of rows of a group, if the types say it.
    std::optional<int64_t> getStaticGroupRows();
    /// Whether column sums and group sums are written as one partial sum of each
    /// workgroup.
    bool hasPartialSums();
    /// Has column sums and group sums, or outer sums, written to `partials`, one
    /// buffer for each, instead.
    void makeSumsPartial(::mlir::ValueRange partials);
    /// Whether the region sums over the row, or takes its largest element.
    bool hasRowSums();
    /// Bits of the widest element among row blocks, read or written; 32 of none.
    unsigned getRowElementBits();

  private:
    ::mlir::OperandRange getInputsOf(Access access);
    ::mlir::OperandRange getOutputsOf(Access access);

  public:
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

def LNBwd_IndexOp : LNBwd_Op<"index", [Pure, HasParent<"RowwiseOp">]> {
  let summary = "The index of the current row, or of each of its elements";
  let description = [{
    The index along dimension `dim` of the domain, from 0: a number for a row
    dimension, a vector over the row for a column dimension. Beyond the range of
    the type, it is that number modulo 2^32. Only the first row dimension may be
    dynamic, or with groups of rows the first two. Programs with matrices have no
    indices.

    Example (a causal mask for rows `[b, t]` and columns `[s]`):

    ```mlir
    %t = lnbwd.index 1 : i32
    %s = lnbwd.index 2 : vector<512xi32>
    %tv = vector.broadcast %t : i32 to vector<512xi32>
    %seen = arith.cmpi ule, %s, %tv : vector<512xi32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs AnyTypeOf<[I32, I64, VectorOfRankAndType<[1], [I32]>]>
                     :$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// How the index follows from a number: that of the row, of the row in its
    /// group, of the group, or of the column. It is the number divided by
    /// `divisor`, modulo `modulus` if that is not 0.
    enum class Number { Row, RowOfGroup, Group, Column };
    struct Formula {
      Number number;
      int64_t divisor, modulus;
    };
    Formula getFormula();
  }];
  let hasVerifier = 1;
}

def LNBwd_BlockMaxOp : LNBwd_Op<"block_max", [Pure,
                                              SameOperandsAndResultType]> {
  let summary = "The largest element of each block of a row, for all of its "
                "elements";
  let description = [{
    Blocks of `size` elements, neighbours or `stride` apart, both powers of two
    of which the product divides the row: the columns of a block differ in
    `(column / stride) mod size` alone. NaN where one of them is. The result is
    the same for all elements of a block, so that an output that lacks the
    block's column dimension can hold it. It has no derivative.

    Example (scales of 32 elements, `domain(m | b, k)`, written as `[m, b]`):

    ```mlir
    %magnitude = math.absf %x : vector<512xf32>
    %amax = lnbwd.block_max 32 %magnitude : vector<512xf32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$size,
                       ConfinedAttr<DefaultValuedAttr<I64Attr, "1">,
                                    [IntPositive]>:$stride,
                       VectorOfNonZeroRankOf<[F32]>:$row);
  let results = (outs VectorOfNonZeroRankOf<[F32]>:$result);
  let assemblyFormat = [{
    $size (`apart` $stride^)? $row attr-dict `:` type($row)
  }];
  let extraClassDeclaration = [{
    /// The columns from a block's first to its last, and those between them.
    int64_t getSpan() { return int64_t(getSize() * getStride()); }
  }];
  let hasVerifier = 1;
}

def LNBwd_GatherOp : LNBwd_Op<"gather", [Pure, HasParent<"RowwiseOp">,
                                         InferTypeOpAdaptor]> {
  let summary = "The row, or the elements, of a table at given indices";
  let description = [{
    `table` is an input of the row program. With the map `[*, n]` the index
    selects a row of a static number of rows; with `[*]` each index selects an
    element, which is slower than loads of neighbours. An index is unsigned; one
    beyond the table, such as a negative one, selects the last row or element.
    A table has all column dimensions and at most 2^31 - 1 elements, and is one
    row of all of them to a launch; only `lnbwd.gather` and `lnbwd.gather_sum`
    use it. It has no derivative in a row program, since that is a scatter.
    Programs with matrices have no tables.

    Example (a token's embedding; `%id` is an element of an input `[m]`):

    ```mlir
    %row = lnbwd.gather %table[%id] : vector<50257x768xf32>, i64
    ```

    Example (an element for each column, of the table `[*]` of 300 elements):

    ```mlir
    %elements = lnbwd.gather %table[%indices] : vector<300xf32>, vector<768xi32>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1, 2], [F16, BF16, F32, I8, I16,
                                                    I32, I64]>:$table,
                       AnyTypeOf<[I32, I64, VectorOfRankAndType<[1], [I32, I64]>]>
                         :$index);
  let results = (outs AnyTypeOf<[F16, BF16, F32, I8, I16, I32, I64,
                                 VectorOfRankAndType<[1], [F16, BF16, F32, I8,
                                                           I16, I32, I64]>]>
                     :$result);
  let assemblyFormat = [{
    $table `[` $index `]` attr-dict `:` type($table) `,` type($index)
  }];
  let hasVerifier = 1;
}

def LNBwd_GatherSumOp : LNBwd_Op<"gather_sum", [
    Pure, HasParent<"RowwiseOp">, AllTypesMatch<["begin", "end"]>,
    TypesMatchWith<"a vector of the columns of the table, of f32", "table",
                   "result", "getSumType($_self)">]> {
  let summary = "The sum of rows of a table, in the order of a list";
  let description = [{
    Adds, in float32 and in order, the rows of `table` at the indices in elements
    `begin` to `end` (exclusive) of `list`, or without a list rows `begin` to
    `end`. A list that is sorted by segment gives sums of segments, such as the
    gradient of an embedding.

    `table` and `list` are arguments of the row program, inputs with the maps
    `[*, n]` and `[*]`. All indices are unsigned: an end beyond the list, or the
    table, means its end, an element that names no row the last one, and the sum
    of no rows is 0. The number of rows may differ from row to row, and lanes of
    a wave wait for the longest sum among theirs. It has no derivative.

    Example (the rows of one segment):

    ```mlir
    %sum = lnbwd.gather_sum %rows[%begin to %end] of %order
        : vector<8192x768xbf16>, i64, vector<8192xi64>
    ```

    Example (neighbouring rows):

    ```mlir
    %sum = lnbwd.gather_sum %rows[%begin to %end] : vector<8192x768xf32>, i32
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[2], [F16, BF16, F32]>:$table,
                       Optional<VectorOfRankAndType<[1], [I32, I64]>>:$list,
                       AnyTypeOf<[I32, I64]>:$begin,
                       AnyTypeOf<[I32, I64]>:$end);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $table `[` $begin `to` $end `]` (`of` $list^)? attr-dict `:` type($table)
    `,` type($begin) (`,` type($list)^)?
  }];
  let extraClassDeclaration = [{
    /// The type of a sum of rows of a table of type `table`.
    static ::mlir::Type getSumType(::mlir::Type table);
  }];
  let hasVerifier = 1;
}

def LNBwd_PhiloxOp : LNBwd_Op<"philox", [
    Pure, AllTypesMatch<["counter", "bits"]>] # ElementwiseMappable.traits> {
  let summary = "Random bits of a seed and counters";
  let description = [{
    The first of the four words of Philox4x32-10 (Salmon et al., "Parallel
    random numbers: as easy as 1, 2, 3", 2011) for the counter (c, 0, 0, 0) and
    the seed's halves as its key, the low one first, as Triton's
    `tl.randint(seed, c)`. With the element's number in the row block as the
    counter, the bits depend on neither the schedule nor the chip. It has no
    derivative.

    Example (bits for each element of a tensor [M, 512]):

    ```mlir
    %row = lnbwd.index 0 : i32
    %column = lnbwd.index 1 : vector<512xi32>
    %length = arith.constant 512 : i32
    %first = arith.muli %row, %length : i32
    %firsts = vector.broadcast %first : i32 to vector<512xi32>
    %counter = arith.addi %firsts, %column : vector<512xi32>
    %bits = lnbwd.philox %seed, %counter : vector<512xi32>
    ```
  }];
  let arguments = (ins I64:$seed,
                       AnyTypeOf<[I32, VectorOfNonZeroRankOf<[I32]>]>:$counter);
  let results = (outs AnyTypeOf<[I32, VectorOfNonZeroRankOf<[I32]>]>:$bits);
  let assemblyFormat = "$seed `,` $counter attr-dict `:` type($counter)";
}

def LNBwd_LinearOp : LNBwd_Op<"linear", [
    Pure, HasParent<"RowwiseOp">, InferTypeOpAdaptor]> {
  let summary = "A row times a matrix, as in a linear layer";
  let description = [{
    With a matrix W of R rows and C columns, the weight of a linear layer in
    PyTorch:

        result[o] = sum over k of row[k] W[o, k]         a row of C gives one of R
        result[k] = sum over o of row[o] W[o, k]         transposed: R gives C

    `matrix` is an argument of the row program, one of its `matrices`. Elements
    of row and matrix are f16, bf16 or f32 and need not be the same; they are
    widened to float32, multiplied and added there, in an unspecified order that
    is the same in every run. The result is f32. If the row was rounded to bf16
    (`arith.truncf`), the product may be one of bf16.

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
    where a row has several; of a strided input, those that are its program's
    column dimensions): M of the launch plan. It is not folded where these
    dimensions are static: M stays what a launch is free to choose. `row_ratio`
    is that of its program.

    Example:

    ```mlir
    %m = lnbwd.row_count %x : memref<?x?x4096xbf16>
    ```
  }];
  let arguments = (ins LNBwd_Shaped:$source,
                       DefaultValuedAttr<I64Attr, "1">:$row_rank,
                       OptionalAttr<DenseI64ArrayAttr>:$row_ratio);
  let results = (outs Index:$count);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def LNBwd_GroupCountOp : LNBwd_Op<"group_count", [Pure]> {
  let summary = "The number of groups of rows of a row block";
  let description = [{
    The product of the leading `dims` dimensions of `source`, by default the
    first: B of the launch plan. Like `lnbwd.row_count` it is not folded where it
    is static.

    Example:

    ```mlir
    %b = lnbwd.group_count %x : memref<?x197x4096xbf16>
    ```
  }];
  let arguments = (ins LNBwd_Shaped:$source,
                       DefaultValuedAttr<I64Attr, "1">:$dims);
  let results = (outs Index:$count);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def LNBwd_WorkgroupCountOp : LNBwd_Op<"workgroup_count", [Pure]> {
  let summary = "The number of workgroups that a schedule gives so many rows";
  let description = [{
    `max(1, min(ceil(rows / rows_per_workgroup), workgroups_per_compute_unit * C / workgroups_per_row))`
    with C the compute units of the device that the kernel is launched on, which
    is known at launch only. A cluster counts as one workgroup.
    `fixed_workgroups` replaces the second operand of the minimum, so that the
    count is the same on every device. With `workgroups_per_compute_unit` 0
    there is no such bound; with `rows_per_workgroup` 0 the count is 1.

    With `groups`, the number B of groups of rows, it is the number of
    workgroups of each group: `rows` is then the rows of a group, the row count
    divided by B, and the groups share the compute units, whose bound is divided
    by B, too.

    `leaf_parts`, if not 0, says that sums are canonical: at least so many
    workgroups, on a small device too, each have a part of a leaf, and clusters
    have no bound.

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
                       DefaultValuedAttr<I64Attr, "0">:$fixed_workgroups,
                       DefaultValuedAttr<I64Attr, "0">:$leaf_parts);
  let results = (outs Index:$count);
  let assemblyFormat = [{
    $row_count (`groups` $group_count^)? `schedule` $schedule attr-dict
  }];
  let hasFolder = 1;
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDOPS_TD
