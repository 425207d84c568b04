//===- LaneDialect.td - The lane dialect -------------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the dialect itself, its types, and the base class of its operations.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LANE_IR_LANEDIALECT_TD
#define LNBWD_DIALECT_LANE_IR_LANEDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Lane_Dialect : Dialect {
  let name = "lane";
  let cppNamespace = "::lnbwd::lane";
  let summary = "What a lane does with its part of a row";
  let description = [{
    The level between a scheduled row program and a kernel in upstream's `gpu`,
    `vector`, `scf` and `memref` operations. The body of a `gpu.func` at this
    level is what one lane executes: it loops over the rows that fall to its
    workgroup, and of each row it has a *part*. Elementwise work stays in
    `arith`, `math` and `vector` operations, on parts in the place of rows. This
    dialect has what is left: where a lane's part lies, loads and stores of it,
    and what lanes do together. docs/lowering.md says which pass makes and
    which takes each operation.

    | word | meaning |
    |---|---|
    | access | `width` neighbouring elements, which a lane loads or stores at once |
    | part | what a lane has of a row: a vector of accesses of `width` elements; the columns of one access and of the next lie `lanes` × `width` apart |
    | group | the lanes of a workgroup that share a row; a workgroup has `groups` of them |
    | set | the neighbouring rows that the groups of a workgroup work on side by side |
    | phase | what lies between two exchanges of row sums |
    | stage | a place in workgroup memory for one set of rows, which copies bring there while others are worked on |
    | turn | one row of each group: memory that is used in turns may be written again two turns later |

    A part may be *split*: in the place of one `vector<2x8xf32>` there are then
    two `vector<8xf32>`, one for each access. Operations that look across
    accesses take both forms; the others have an attribute `access`, which says
    which one it is.

    All lanes of a workgroup execute all operations of this dialect, but for
    those below a condition that is the same for all of them.

    The discardable attribute `lane.part` of an operation (`#lane.part<tail>`)
    says which part of a kernel it is, for the report (docs/report.md), or, if
    it has regions, all that is in it: what is in a `lane.for_rows` is `row`,
    and what has no such attribute and is in no such operation is `setup`. It
    outlives the level: `lnbwd-convert-parts-to-locations` takes it.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Lane_Type<string name, string typeMnemonic>
    : TypeDef<Lane_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Lane_Place : Lane_Type<"Place", "place"> {
  let summary = "Where a lane stands: its group, and its columns";
  let description = [{
    The parameters are how rows are spread over lanes. Rows have `row_length`
    columns. Those of a workgroup are `columns` neighbouring ones, fewer where
    the row ends before; it is `row_length` where that is left out. `lanes`
    lanes share a row, and take its accesses of `width` elements in turn;
    `groups` rows lie side by side in a workgroup.

    A lane's last accesses may lie beyond the columns of its workgroup, or
    beyond the row, which may end within those of its last workgroup. Loads then
    give other elements of the row, stores are left out, and `lane.fold` takes
    nothing of what was computed there.

    Example (rows of 1024 elements, two accesses of eight elements a lane):

    ```mlir
    !lane.place<row_length = 1024, lanes = 64, groups = 8, width = 8>
    ```
  }];
  let genMnemonicAlias = 1;
  let parameters = (ins
    "int64_t":$row_length,
    "int64_t":$lanes,
    "int64_t":$groups,
    "int64_t":$width,
    OptionalParameter<"int64_t">:$columns
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Columns of the row that the workgroup covers.
    int64_t getWorkgroupColumns() const {
      return getColumns() ? getColumns() : getRowLength();
    }
    /// Columns that the lanes of a row cover with one access each.
    int64_t getAccessColumns() const { return getLanes() * getWidth(); }
    /// Accesses that a lane makes to cover its columns.
    int64_t getAccesses() const {
      return (getWorkgroupColumns() + getAccessColumns() - 1) /
             getAccessColumns();
    }
    /// Whether access number `access` of some lane lies beyond the columns of
    /// the workgroup or of the row.
    bool mayExceed(int64_t access) const;
    /// Whether some lane has accesses beyond the columns of a workgroup that
    /// does not end with its row.
    bool mayExceedWorkgroup() const {
      return sharesRows() && getWorkgroupColumns() % getAccessColumns() != 0;
    }
    /// Whether the row ends within the columns of its last workgroup.
    bool mayExceedRow() const {
      return getLastColumns() < getWorkgroupColumns();
    }
    /// Whether workgroups share rows, and how many share each.
    bool sharesRows() const { return getWorkgroupColumns() < getRowLength(); }
    int64_t getPeers() const {
      return (getRowLength() + getWorkgroupColumns() - 1) /
             getWorkgroupColumns();
    }
    /// Columns of the last workgroup of a row: as many as the others have, or
    /// fewer.
    int64_t getLastColumns() const {
      return getRowLength() - (getPeers() - 1) * getWorkgroupColumns();
    }
    ::mlir::VectorType getPartType(::mlir::Type element) const {
      return ::mlir::VectorType::get({getAccesses(), getWidth()}, element);
    }
    ::mlir::VectorType getAccessType(::mlir::Type element) const {
      return ::mlir::VectorType::get({getWidth()}, element);
    }
  }];
}

def Lane_Turn : Lane_Type<"Turn", "turn"> {
  let summary = "The turn of the memory that rows exchange sums through";
  let description = [{
    Made by `lane.first_turn` and `lane.next_turn`, taken by `lane.reduce`. What
    is behind it (nothing, which half of a buffer, how many rows there were) is
    decided by `lnbwd-lower-row-reductions`, which leaves none.
  }];
}

def Lane_Stages : Lane_Type<"Stages", "stages"> {
  let summary = "Places in workgroup memory for sets of rows on their way";
  let description = [{
    Room for `count` sets of rows of row operands with these `elements`, and for
    each set what says whether it has arrived. Made by `lane.stages`.

    Example (three sets of two row operands):

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

// How often each part runs, for the report.
def Lane_PartKind : I32EnumAttr<"PartKind", "which runs of a kernel", [
    // Once a workgroup.
    I32EnumAttrCase<"Setup", 0, "setup">,
    // Once a workgroup, if it has a set of rows: loads of the first set.
    I32EnumAttrCase<"FirstLoad", 1, "first_load">,
    // Once a set of rows. Where the row loop takes two sets a turn: the first.
    I32EnumAttrCase<"Row", 2, "row">,
    // The second set of a turn.
    I32EnumAttrCase<"SecondRow", 3, "second_row">,
    // Loads for the second set of the next turn.
    I32EnumAttrCase<"SecondLoad", 4, "second_load">,
    // Loads for the set that the next turn begins with.
    I32EnumAttrCase<"NextLoad", 5, "next_load">,
    // Once in the launch, if the last set is not full.
    I32EnumAttrCase<"Tail", 6, "tail">,
    // Once a workgroup, if it has two sets of rows: loads of the second.
    I32EnumAttrCase<"FirstSecondLoad", 7, "first_second_load">,
    // Once a block of turns of a workgroup, around those: the block's sums are
    // added to totals.
    I32EnumAttrCase<"SumBlock", 8, "sum_block">]> {
  let cppNamespace = "::lnbwd::lane";
  let genSpecializedAttr = 0;
}

def Lane_PartAttr : AttrDef<Lane_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "Which part of a kernel an operation is";
  let description = [{
    A list of what is different from what is around the operation:

    - a kind, which says how often it runs: `setup`, `first_load`, `row`, and so
      on, listed in `LaneDialect.td`;
    - `reload`: in a loop over the columns of a row that is read again, done
      once for each access;
    - `scalars`: it loads row scalars;
    - `groups = 4`: four groups of the workgroup take part, and not all.

    Example:

    ```mlir
    #lane.part<next_load, scalars>
    ```
  }];
  let parameters = (ins
    "std::optional<::lnbwd::lane::PartKind>":$kind,
    "bool":$reload,
    "bool":$scalars,
    "unsigned":$groups
  );
  let builders = [
    AttrBuilder<(ins "::lnbwd::lane::PartKind":$kind), [{
      return $_get($_ctxt, kind, false, false, 0);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// A loop that reads a row again.
    static PartAttr getReload(::mlir::MLIRContext *context) {
      return get(context, std::nullopt, true, false, 0);
    }
    /// Loads of row scalars.
    static PartAttr getScalars(::mlir::MLIRContext *context) {
      return get(context, std::nullopt, false, true, 0);
    }
    /// What so many groups do.
    static PartAttr getOfGroups(::mlir::MLIRContext *context, int64_t groups) {
      return get(context, std::nullopt, false, false, unsigned(groups));
    }
    /// What this says, and of what it does not say, what `around` says.
    PartAttr within(PartAttr around) const;
  }];
}

class Lane_Op<string mnemonic, list<Trait> traits = []>
    : Op<Lane_Dialect, mnemonic, traits>;

#endif // LNBWD_DIALECT_LANE_IR_LANEDIALECT_TD
