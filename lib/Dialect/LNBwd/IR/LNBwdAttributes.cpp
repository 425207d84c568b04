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
/// By its name, so that this dialect does not need to load memref's.
static bool isAlloc(Operation *op) {
  return op->getName().getStringRef() == "memref.alloc";
}

static bool isUnitOrCount(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return isa<UnitAttr>(value) ||
         (number && number.getType().isSignlessInteger(64) &&
          number.getInt() >= 1);
}
static bool isName(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  return name && !name.empty();
}
static bool isRejectedSchedules(Attribute value) {
  auto lists = dyn_cast<DictionaryAttr>(value);
  return lists && llvm::all_of(lists, [](NamedAttribute entry) {
           auto list = dyn_cast<ArrayAttr>(entry.getValue());
           return list && llvm::all_of(list, llvm::IsaPred<ScheduleAttr>);
         });
}
static bool isOperation(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  llvm::Expected<llvm::json::Value> program =
      llvm::json::parse(text ? text.getValue() : "");
  if (program)
    return program->getAsArray();
  llvm::consumeError(program.takeError());
  return isa<NamedOperationAttr>(value);
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
     isOperation,
     "as in #lnbwd.operation<name = \"...\", epsilon = 1.0e-5 : f64>, or the "
     "programs of a launch plan, a string with an array of JSON"},
    {kernelInfoAttr, is<FunctionOpInterface>, "a kernel", is<KernelInfoAttr>,
     "as in #lnbwd.kernel_info<entry = \"k\", row_length = 1024, schedule = "
     "<...>>"},
    {rejectedSchedulesAttr, is<ModuleOp>, "a module", isRejectedSchedules,
     "a dictionary of arrays of #lnbwd.schedule<...>"},
    {rowScalarAttr, isAlloc, "a memref.alloc", isUnitOrCount,
     "without a value, or the number of its parts, 64-bit, at least 1"},
    {detachAttr, isAnything, "an operation", is<UnitAttr>, "without a value"},
};

//===----------------------------------------------------------------------===//
// Of arguments
//===----------------------------------------------------------------------===//

ArgumentAttr ArgumentAttr::of(FunctionOpInterface function, unsigned number) {
  auto noted = function.getArgAttrOfType<ArgumentAttr>(number, argumentAttr);
  return noted ? noted : get(function.getContext(), {}, {}, {}, {}, 0);
}

LogicalResult ArgumentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringAttr name, ArrayAttr aliases,
                                   StringAttr kind, StringAttr access,
                                   int64_t rowRank) {
  if (name && name.empty())
    return emitError() << "expected name to be a name, got " << name;
  if (aliases && !llvm::all_of(aliases, isName))
    return emitError() << "expected aliases to be names, an array of strings, "
                          "got "
                       << aliases;
  if (kind && !findDims(kind.getValue()))
    return emitError() << "expected kind to be a kind of operand, such as "
                          "\"row_block\", \"row_scalar\", \"column\" or "
                          "\"group_column\", got "
                       << kind;
  if (access && access != "read" && access != "write" && access != "read_write")
    return emitError() << "expected access to be \"read\", \"write\" or "
                          "\"read_write\", got "
                       << access;
  if (rowRank < 0)
    return emitError() << "expected row_rank to be at least 1, got " << rowRank;
  return success();
}

static const OperationAttribute *find(StringRef name) {
  const auto *found =
      llvm::find_if(operationAttributes,
                    [&](const auto &entry) { return entry.name == name; });
  return found == std::end(operationAttributes) ? nullptr : found;
}

/// Of a name that does not belong where it stands.
static LogicalResult refuseName(Operation *op, StringRef name,
                                StringRef place) {
  if (find(name))
    return op->emitError("expected ")
           << name << " on an operation, got it on " << place;
  if (name == argumentAttr)
    return op->emitError("expected ")
           << name << " on an argument of a function, got it on " << place;
  InFlightDiagnostic diag = op->emitError("unknown attribute '")
                            << name << "', expected one of ";
  llvm::interleaveComma(operationAttributes, diag,
                        [&](const auto &entry) { diag << entry.name; });
  return diag << " on an operation, or " << argumentAttr << " on an argument";
}

//===----------------------------------------------------------------------===//
// What MLIR calls
//===----------------------------------------------------------------------===//

LogicalResult LNBwdDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  const OperationAttribute *known = find(name);
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
  if (name != argumentAttr)
    return refuseName(op, name, "an argument");
  auto argument = dyn_cast<ArgumentAttr>(attribute.getValue());
  if (!argument)
    return op->emitOpError("expected ")
           << name << " of argument " << argIndex
           << " to be as in #lnbwd.argument<name = \"x\">, got "
           << attribute.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  auto type = function
                  ? dyn_cast<ShapedType>(function.getArgumentTypes()[argIndex])
                  : ShapedType();
  if (type && type.hasRank() && argument.getRowRank() > type.getRank())
    return op->emitOpError("expected row_rank of argument ")
           << argIndex << " to be at most " << type.getRank()
           << ", the dimensions of " << type << ", got "
           << argument.getRowRank();
  return success();
}

LogicalResult LNBwdDialect::verifyRegionResultAttribute(
    Operation *op, unsigned /*regionIndex*/, unsigned /*resultIndex*/,
    NamedAttribute attribute) {
  return refuseName(op, attribute.getName(), "a result");
}
