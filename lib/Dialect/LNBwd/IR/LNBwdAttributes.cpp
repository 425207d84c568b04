//===- LNBwdAttributes.cpp - Attributes of other operations ---------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifies the attributes that this dialect puts on modules, functions,
// arguments and the operations of a region. What is wrong with them would else
// be found by the runtime, or by nobody.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace lnbwd;

//===----------------------------------------------------------------------===//
// Of operations
//===----------------------------------------------------------------------===//

template <typename T> static bool is(Operation *op) { return isa<T>(op); }
template <typename T> static bool is(Attribute value) { return isa<T>(value); }
static bool isAnything(Operation * /*op*/) { return true; }
/// The operations of other dialects go by their names, so that this dialect
/// does not need to load those.
template <const char *name> static bool isNamed(Operation *op) {
  return op->getName().getStringRef() == name;
}
static constexpr char gpuModule[] = "gpu.module", alloc[] = "memref.alloc";

static bool isCount(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64) &&
         number.getInt() >= 1;
}
static bool isUnitOrCount(Attribute value) {
  return isa<UnitAttr>(value) || isCount(value);
}
static bool isName(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && !name.empty();
}
static bool isNames(Attribute value) {
  auto names = dyn_cast<ArrayAttr>(value);
  return names && llvm::all_of(names, isName);
}
static bool isRejectedSchedules(Attribute value) {
  auto lists = dyn_cast<DictionaryAttr>(value);
  return lists && llvm::all_of(lists, [](NamedAttribute entry) {
           auto list = dyn_cast<ArrayAttr>(entry.getValue());
           return list && llvm::all_of(list, llvm::IsaPred<ScheduleAttr>);
         });
}
static std::optional<llvm::json::Value> parseJson(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(text ? text.getValue() : "");
  if (parsed)
    return std::move(*parsed);
  llvm::consumeError(parsed.takeError());
  return std::nullopt;
}
static bool isPlan(Attribute value) {
  std::optional<llvm::json::Value> plan = parseJson(value);
  const llvm::json::Object *object = plan ? plan->getAsObject() : nullptr;
  return object && object->getString("format") == "lnbwd-plan";
}
static bool isProgram(Attribute value) {
  std::optional<llvm::json::Value> program = parseJson(value);
  return program && program->getAsArray();
}

void lnbwd::dropFastMath(Operation *root) {
  root->walk([](arith::ArithFastMathInterface op) {
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::none));
  });
}

namespace {
/// An attribute of operations: where it may stand and what it may be, each with
/// the words for it.
struct OperationAttribute {
  StringLiteral name;
  bool (*fits)(Operation *);
  StringLiteral place;
  bool (*isValid)(Attribute);
  StringLiteral expected;
};
} // namespace

static const OperationAttribute operationAttributes[] = {
    {operationAttr, is<FunctionOpInterface>,
     "a function: it says what all of its kernels compute together",
     is<NamedOperationAttr>,
     "as in #lnbwd.operation<name = \"...\", epsilon = 1.0e-5 : f64>"},
    {programAttr, is<FunctionOpInterface>,
     "a function: it says what all of its kernels compute together", isProgram,
     "the programs of a launch plan, a string with an array of JSON"},
    {kernelInfoAttr, is<FunctionOpInterface>, "a kernel", is<KernelInfoAttr>,
     "as in #lnbwd.kernel_info<entry = \"k\", row_length = 1024, schedule = "
     "<...>>"},
    {rejectedSchedulesAttr, is<ModuleOp>, "a module", isRejectedSchedules,
     "a dictionary of arrays of #lnbwd.schedule<...>"},
    {chipAttr, is<ModuleOp>, "a module", isName, "a chip, a string"},
    {launchPlanAttr, isNamed<gpuModule>, "a gpu.module", isPlan,
     "a launch plan, a string of JSON with \"format\": \"lnbwd-plan\""},
    {rowScalarAttr, isNamed<alloc>, "a memref.alloc", isUnitOrCount,
     "without a value, or the number of its parts, 64-bit, at least 1"},
    {detachAttr, isAnything, "an operation", is<UnitAttr>, "without a value"},
};

//===----------------------------------------------------------------------===//
// Of arguments
//===----------------------------------------------------------------------===//

static bool isKind(Attribute value) {
  auto kind = dyn_cast<StringAttr>(value);
  return kind && findDims(kind.getValue());
}
static bool isAccess(Attribute value) {
  auto access = dyn_cast<StringAttr>(value);
  return access && llvm::is_contained<StringRef>(
                       {"read", "write", "read_write"}, access.getValue());
}

namespace {
struct ArgumentAttribute {
  StringLiteral name;
  bool (*isValid)(Attribute);
  StringLiteral expected;
};
} // namespace

static const ArgumentAttribute argumentAttributes[] = {
    {argumentNameAttr, isName, "a name, a string"},
    {argumentKindAttr, isKind,
     "a kind of operand, such as \"row_block\", \"row_scalar\", \"column\" or "
     "\"group_column\""},
    {argumentAccessAttr, isAccess, "\"read\", \"write\" or \"read_write\""},
    {argumentAliasesAttr, isNames, "names, an array of strings"},
    {argumentRowRankAttr, isCount, "a 64-bit number of at least 1"},
};

template <typename Table>
static const auto *find(const Table &table, StringRef name) {
  const auto *found = llvm::find_if(
      table, [&](const auto &entry) { return entry.name == name; });
  return found == std::end(table) ? nullptr : found;
}

/// Of a name that does not belong where it stands.
static LogicalResult refuseName(Operation *op, StringRef name,
                                StringRef place) {
  if (find(operationAttributes, name))
    return op->emitError("expected ")
           << name << " on an operation, got it on " << place;
  if (find(argumentAttributes, name))
    return op->emitError("expected ")
           << name << " on an argument of a function, got it on " << place;
  InFlightDiagnostic diag = op->emitError("unknown attribute '")
                            << name << "', expected one of ";
  llvm::interleaveComma(operationAttributes, diag,
                        [&](const auto &entry) { diag << entry.name; });
  diag << " on an operation, or ";
  llvm::interleaveComma(argumentAttributes, diag,
                        [&](const auto &entry) { diag << entry.name; });
  return diag << " on an argument";
}

//===----------------------------------------------------------------------===//
// What MLIR calls
//===----------------------------------------------------------------------===//

LogicalResult LNBwdDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const OperationAttribute *known = find(operationAttributes, name);
  if (!known)
    return refuseName(op, name, "an operation");
  if (!known->fits(op))
    return op->emitOpError("expected ")
           << name << " on " << known->place << "; leave it out here";
  if (!known->isValid(attribute.getValue()))
    return op->emitOpError("expected ") << name << " to be " << known->expected
                                        << ", got " << attribute.getValue();
  return success();
}

LogicalResult LNBwdDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const ArgumentAttribute *known = find(argumentAttributes, name);
  if (!known)
    return refuseName(op, name, "an argument");
  if (!known->isValid(attribute.getValue()))
    return op->emitOpError("expected ")
           << name << " of argument " << argIndex << " to be "
           << known->expected << ", got " << attribute.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (name != argumentRowRankAttr || !function)
    return success();
  auto type = dyn_cast<ShapedType>(function.getArgumentTypes()[argIndex]);
  int64_t rank = cast<IntegerAttr>(attribute.getValue()).getInt();
  if (type && type.hasRank() && rank > type.getRank())
    return op->emitOpError("expected ")
           << name << " of argument " << argIndex << " to be at most "
           << type.getRank() << ", the dimensions of " << type << ", got "
           << rank;
  return success();
}

LogicalResult LNBwdDialect::verifyRegionResultAttribute(
    Operation *op, unsigned /*regionIndex*/, unsigned /*resultIndex*/,
    NamedAttribute attribute) {
  return refuseName(op, attribute.getName(), "a result");
}
