//===- LaneDialect.td - The lane dialect -------------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the dialect itself, its types, the base class of its operations, and
// the interfaces through which passes see them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANEDIALECT_TD
#define LNBWD_DIALECT_LANE_IR_LANEDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/Interfaces.td"
include "mlir/IR/OpBase.td"

def Lane_Dialect : Dialect {
  let name = "lane";
  let cppNamespace = "::lnbwd::lane";
  let summary = "What a lane does with its fragment of a row";
  let description = [{
    The level between a scheduled row program and a kernel in upstream's `gpu`,
    `vector`, `scf` and `memref` operations. The body of a `gpu.func` at this
    level is what one lane executes: it loops over the rows of its workgroup,
    and holds a *fragment* of each row. Elementwise work stays in `arith`,
    `math` and `vector` operations, on fragments instead of rows. This dialect
    has the rest: the layout of fragments, loads and stores of them, and
    operations in which lanes cooperate. docs/lowering.md says which pass
    creates and which pass removes each operation.

    | word | meaning |
    |---|---|
    | access | `width` neighbouring elements, which a lane loads or stores at once |
    | fragment | what a lane holds of a row: a vector of accesses of `width` elements; the columns of consecutive accesses are `lanes` × `width` apart |
    | group | the lanes of a workgroup that share a row; a workgroup has `groups` of them |
    | layout | how rows are distributed over lanes and groups |
    | tile | the neighbouring rows that the groups of a workgroup process side by side, one each |
    | iteration | of the row loop: processes one tile, or several where it is unrolled |
    | phase | the operations between two reductions over a row |
    | stage | a buffer in workgroup memory for one tile of rows, of several (multi-buffering) that asynchronous copies fill while other tiles are processed |

    A fragment may be *split*: instead of one `vector<2x8xf32>` there are then
    two `vector<8xf32>`, one for each access. Operations that look across
    accesses take both forms; the others have an attribute `access`, the number
    of the access.

    All lanes of a workgroup execute all operations of this dialect, except
    those under a uniform condition.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  // What the rest of a kernel is in: passes over kernels need not name it.
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

class Lane_Type<string name, string typeMnemonic>
    : TypeDef<Lane_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Lane_Layout : Lane_Type<"Layout", "layout"> {
  let summary = "How rows are distributed over lanes";
  let description = [{
    Rows have `row_length` columns, of which a workgroup has `columns`
    neighbouring ones, fewer where the row ends before; without `columns` it has
    the whole row. `lanes` lanes share a row: consecutive accesses of `width`
    elements belong to consecutive lanes, cyclically. A workgroup processes
    `groups` rows side by side. A row has consecutive lanes of the workgroup;
    with `across`, consecutive lanes belong to consecutive rows, cyclically.

    The last accesses of a lane may be out of bounds: beyond the columns of its
    workgroup, or beyond the row. Loads then return other elements of the row,
    stores are predicated off, and `lane.fold` ignores these accesses.

    With a `span`, rows are *aligned*: they follow each other in memory without
    a gap, `width` does not divide their length, and a row's accesses start at
    the multiple of `width` at or before its first element. They cover `span`
    columns, wherever the row begins between two multiples. The first and the
    last of them are partial: they also have elements that are not of the row,
    which a store leaves alone and `lane.fold` ignores. `columns` and bounds of
    a workgroup count from the multiple.

    Example (rows of 1024 elements, two accesses of eight elements a lane):

    ```mlir
    !lane.layout<row_length = 1024, lanes = 64, groups = 8, width = 8>
    ```
  }];
  let genMnemonicAlias = 1;
  let parameters = (ins
    "int64_t":$row_length,
    "int64_t":$lanes,
    "int64_t":$groups,
    "int64_t":$width,
    OptionalParameter<"int64_t">:$columns,
    OptionalParameter<"int64_t">:$span,
    DefaultValuedParameter<"bool", "false">:$across
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isAligned() const { return getSpan() != 0; }
    /// Columns that the accesses to a row cover.
    int64_t getCoveredColumns() const {
      return isAligned() ? getSpan() : getRowLength();
    }
    /// Columns of the row that the workgroup covers.
    int64_t getWorkgroupColumns() const {
      return getColumns() ? getColumns() : getCoveredColumns();
    }
    /// Columns that the lanes of a row cover with one access each.
    int64_t getAccessColumns() const { return getLanes() * getWidth(); }
    /// Lanes of a row that one wave has, where the row has enough.
    int64_t getLanesInWave(int64_t waveSize) const {
      return getAcross() ? std::max<int64_t>(1, waveSize / getGroups())
                         : waveSize;
    }
    /// Whether all lanes of a wave have the same row.
    bool hasWavesOfOneRow(int64_t waveSize) const {
      return !getAcross() && getLanes() % waveSize == 0;
    }
    /// Accesses that a lane makes to cover its columns.
    int64_t getAccesses() const {
      return (getWorkgroupColumns() + getAccessColumns() - 1) /
             getAccessColumns();
    }
    /// Whether access number `access` of some lane may be out of bounds: beyond
    /// the columns of the workgroup or of the row.
    bool mayExceed(int64_t access) const;
    /// Whether it may have elements of the row, and others.
    bool mayBePartial(int64_t access) const {
      return isAligned() && (access == 0 || mayExceed(access));
    }
    /// Whether some lane has accesses beyond the columns of a workgroup that
    /// does not end with its row.
    bool mayExceedWorkgroup() const {
      return sharesRows() && getWorkgroupColumns() % getAccessColumns() != 0;
    }
    /// Whether the row ends within the columns of its last workgroup.
    bool mayExceedRow() const {
      return sharesRows() && getLastColumns() < getWorkgroupColumns();
    }
    /// Whether workgroups share rows, and how many share each.
    bool sharesRows() const {
      return getWorkgroupColumns() < getCoveredColumns();
    }
    int64_t getPeers() const {
      return (getCoveredColumns() + getWorkgroupColumns() - 1) /
             getWorkgroupColumns();
    }
    /// Columns of the last workgroup of a row: as many as the others have, or
    /// fewer; of aligned rows those that it has wherever the row begins.
    int64_t getLastColumns() const {
      return std::max<int64_t>(
          0, getRowLength() - (getPeers() - 1) * getWorkgroupColumns());
    }
    ::mlir::VectorType getFragmentType(::mlir::Type element) const {
      return ::mlir::VectorType::get({getAccesses(), getWidth()}, element);
    }
    ::mlir::VectorType getAccessType(::mlir::Type element) const {
      return ::mlir::VectorType::get({getWidth()}, element);
    }
  }];
}

def Lane_Iteration : Lane_Type<"Iteration", "iteration"> {
  let summary = "The iteration of a row, which selects its exchange buffer";
  let description = [{
    Row reductions exchange partial sums through two buffers, which consecutive
    rows alternate between. Created by `lane.first_iteration` and
    `lane.next_iteration`, used by `lane.reduce`. `lnbwd-lower-row-reductions`
    decides what represents it (nothing, the offset of a buffer, the number of
    preceding rows) and leaves none.
  }];
}

def Lane_Stages : Lane_Type<"Stages", "stages"> {
  let summary = "Buffers in workgroup memory for tiles of rows in flight";
  let description = [{
    `count` buffers for tiles of rows of row operands with these `elements`,
    each with a barrier that says whether its tile has arrived. Created by
    `lane.stages`.

    Example (three tiles of two row operands):

    ```mlir
    !lane.stages<3 of bf16, bf16>
    ```
  }];
  let genMnemonicAlias = 1;
  let parameters = (ins
    "int64_t":$count,
    ArrayRefParameter<"::mlir::Type">:$elements
  );
  let assemblyFormat = "`<` $count `of` $elements `>`";
  let genVerifyDecl = 1;
}

def AccessOpInterface : OpInterface<"AccessOpInterface"> {
  let cppNamespace = "::lnbwd::lane";
  let description = [{
    An operation on whole fragments of a row, which can be done one access at a
    time: for each access a copy of it, whose operands and results are accesses
    where those of the operation are fragments.
  }];
  let methods = [
    InterfaceMethod<[{
        Makes a copy the one of access `access`. Nothing to do where all
        accesses are alike.
      }],
      "void", "setAccess", (ins "uint64_t":$access), "", [{ return; }]>,
  ];
}

def PredicatedOpInterface : OpInterface<"PredicatedOpInterface"> {
  let cppNamespace = "::lnbwd::lane";
  let description = [{
    An operation that keeps nothing of a row where its condition is false. Rows
    out of bounds are loaded and computed like others, and differ in this alone.
  }];
  let methods = [
    InterfaceMethod<"The condition, or none.",
      "::mlir::MutableOperandRange", "getInBoundsMutable">,
  ];
}

class Lane_Op<string mnemonic, list<Trait> traits = []>
    : Op<Lane_Dialect, mnemonic, traits>;

/// What an operation is, in words and as a condition on its accessors. LaneOps.cpp
/// has what several conditions ask.
class Lane_That<string words, string condition>
    : PredOpTrait<words, CPred<condition>>;

def Lane_AccessExists : Lane_That<
    "access is below the accesses of a fragment",
    "getAccess() < uint64_t(getLayout().getType().getAccesses())">;
def Lane_RowWhereAligned : Lane_That<
    "there is a row where rows are aligned, and none where columns are those of any",
    "bool(getRow()) == getLayout().getType().isAligned()">;
class Lane_MemoriesHoldRows<string memories = "getMemories().getTypes()">
    : Lane_That<"a memory is a memref of rank 2 whose last dimension is the "
                "layout's row_length", "holdRows(" # memories # ", getLayout())">;
class Lane_FragmentsOf<string elements> : Lane_That<
    "results are a lane's fragments of the rows, or that access of each",
    "areOfRows(getFragments().getTypes(), getLayout(), " # elements # ", getAccess())">;
def Lane_HasMemories : Lane_That<"there are memories", "!getMemories().empty()">;
def Lane_TotalOfEachSum : Lane_That<
    "there is a total for each of its sums, of its type",
    "areTotals(getTotals().getTypes(), getSums().getTypes(), getLayout())">;
def Lane_KindOfEachSum : Lane_That<
    "there is a kind for each of its sums, of which all have as many accesses",
    "!getKinds().empty() && getSums().size() % getKinds().size() == 0">;

#endif // LNBWD_DIALECT_LANE_IR_LANEDIALECT_TD
