//===- Operations.h - The tables of named operations ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which named operations there are, and which operands each has: what
// LNBwdNorms.td declares, for all of C++. Free of LLVM, since the runner and
// the operators of PyTorch are. scripts/generate-tables.py writes the
// tables while CMake configures.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_OPERATIONS_OPERATIONS_H
#define LNBWD_OPERATIONS_OPERATIONS_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace lnbwd {

#define LNBWD_OPERATION_ENUMS
#include "lnbwd/Operations/Operations.h.inc"
#undef LNBWD_OPERATION_ENUMS

/// The dimensions that an operand has, of a kernel of B groups of rows, M in
/// all: what it is to the kernel, its launches and the reference.
struct Dims {
  bool hasGroups;
  /// The rows of a group.
  bool hasRows;
  bool hasColumns;

  constexpr bool operator==(const Dims &other) const {
    return hasGroups == other.hasGroups && hasRows == other.hasRows &&
           hasColumns == other.hasColumns;
  }
  constexpr bool operator!=(const Dims &other) const {
    return !(*this == other);
  }
  /// Whether there are groups where such an operand is.
  constexpr bool tellsGroups() const { return hasGroups != hasRows; }
  /// The number of its rows, for M `rows` in B `groups`.
  constexpr int64_t countRows(int64_t rows, int64_t groups) const {
    if (hasRows)
      return hasGroups || groups <= 0 ? rows : rows / groups;
    return hasGroups ? groups : 1;
  }
};

/// Those of operands without groups.
inline constexpr Dims kRowBlock{true, true, true};
inline constexpr Dims kColumn{false, false, true};
inline constexpr Dims kRowScalar{true, true, false};

/// What a launch plan calls dimensions.
struct KindInfo {
  const char *name;
  Dims dims;
};

/// A type of elements.
struct ElementInfo {
  /// MLIR's.
  const char *name;
  /// In memory; 0 for conditions.
  size_t bytes;
  ElementUse use;
  /// Of a float: bits of the fraction, bias of the exponent, and the bits of
  /// the largest number.
  int fraction, bias;
  uint32_t largest;

  constexpr bool isFloat() const {
    return use == ElementUse::Float || use == ElementUse::Float8;
  }
  /// Whether numbers beyond the largest become that.
  constexpr bool saturates() const { return use == ElementUse::Float8; }
  /// Whether it has powers of two alone: the exponent of a float32 number.
  constexpr bool isExponent() const { return saturates() && fraction == 0; }
  /// Whether -0 is 0, and its bits are the one NaN.
  constexpr bool hasOneZero() const { return saturates() && largest == 0x7f; }
  /// Whether operands of those dimensions may have such elements.
  constexpr bool isOf(const Dims &dims) const {
    switch (use) {
    case ElementUse::Float:
    case ElementUse::Mask:
    case ElementUse::Integer:
      return true;
    case ElementUse::Float8:
      return dims.hasRows && dims.hasColumns;
    default:
      return false;
    }
  }
};

/// What an operand is, in every operation that has it.
struct RoleInfo {
  const char *name;
  Dims dims;
  /// Of a row block: it need not have the element of x.
  bool hasOwnElement;
};

/// An operand as one operation has it.
struct OperandInfo {
  Role role;
  bool isOutput;
  /// Whether it may be absent.
  bool isOptional;
};

/// A named operation.
struct NamedOperationInfo {
  NamedOperation operation;
  /// Without the dialect: "rms_norm".
  const char *name;
  /// A forward pass; else it is the gradient of one.
  bool isForward;
  /// The gradient of a forward pass, the forward pass of a gradient.
  std::optional<NamedOperation> counterpart;
  /// The operands in the order of the launch plan's arguments, inputs first.
  const OperandInfo *operandTable;
  size_t operandCount;

  /// For loops over the operands.
  constexpr const OperandInfo *begin() const { return operandTable; }
  constexpr const OperandInfo *end() const {
    return operandTable + operandCount;
  }
  /// The place of an operand among all; none if the operation does not have
  /// it.
  constexpr std::optional<size_t> find(Role role, bool isOutput) const {
    for (size_t i = 0; i < operandCount; ++i)
      if (operandTable[i].role == role && operandTable[i].isOutput == isOutput)
        return i;
    return std::nullopt;
  }
  constexpr bool hasInput(Role role) const {
    return find(role, false).has_value();
  }
  constexpr bool hasOutput(Role role) const {
    return find(role, true).has_value();
  }
  /// Whether it reads or writes such an operand.
  constexpr bool has(Role role) const {
    return hasInput(role) || hasOutput(role);
  }
  /// Whether the mean is subtracted, so that there is a shift as well.
  constexpr bool hasMean() const { return has(Role::Mean); }
};

#define LNBWD_OPERATION_TABLES
#include "lnbwd/Operations/Operations.h.inc"
#undef LNBWD_OPERATION_TABLES

constexpr const RoleInfo &getInfo(Role role) {
  return kRoles[static_cast<size_t>(role)];
}
constexpr const NamedOperationInfo &getInfo(NamedOperation operation) {
  return kOperations[static_cast<size_t>(operation)];
}
/// "rms_norm".
constexpr const char *getName(NamedOperation operation) {
  return getInfo(operation).name;
}
/// "row_block".
constexpr const char *getName(const Dims &dims) {
  const KindInfo *kind = kKinds;
  while (kind->dims != dims)
    ++kind;
  return kind->name;
}
constexpr const ElementInfo &getInfo(Element element) {
  return kElements[static_cast<size_t>(element)];
}
/// "bf16".
constexpr const char *getName(Element element) { return getInfo(element).name; }

/// The role, operation, dimensions or element type of that name; none if there
/// is no such.
constexpr std::optional<Role> findRole(std::string_view name) {
  for (size_t i = 0; i < kRoleCount; ++i)
    if (name == kRoles[i].name)
      return static_cast<Role>(i);
  return std::nullopt;
}
constexpr std::optional<NamedOperation> findOperation(std::string_view name) {
  for (const NamedOperationInfo &info : kOperations)
    if (name == info.name)
      return info.operation;
  return std::nullopt;
}
constexpr std::optional<Dims> findDims(std::string_view name) {
  for (const KindInfo &kind : kKinds)
    if (name == kind.name)
      return kind.dims;
  return std::nullopt;
}
constexpr std::optional<Element> findElement(std::string_view name) {
  for (size_t i = 0; i < std::size(kElements); ++i)
    if (name == kElements[i].name)
      return static_cast<Element>(i);
  return std::nullopt;
}

} // namespace lnbwd

#endif // LNBWD_OPERATIONS_OPERATIONS_H
