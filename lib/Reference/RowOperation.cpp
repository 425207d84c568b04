//===- RowOperation.cpp - One operation of a row program ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads types as MLIR writes them, without their brackets.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Reference/RowOperation.h"

#include <charconv>

namespace lnbwd::reference {

constexpr int64_t kMaxElements = int64_t(1) << 40;

int64_t ValueType::size() const {
  int64_t result = 1;
  for (int64_t length : shape)
    result *= length;
  return result;
}

std::optional<ValueType> parseValueType(const std::string &text) {
  ValueType type;
  size_t begin = 0;
  int64_t elements = 1;
  for (size_t x = text.find('x'); x != std::string::npos;
       begin = x + 1, x = text.find('x', begin)) {
    int64_t length = 0;
    const char *end = text.data() + x;
    if (std::from_chars(text.data() + begin, end, length).ptr != end ||
        length < 1 || length > kMaxElements / elements)
      return std::nullopt;
    elements *= length;
    type.shape.push_back(length);
  }
  std::optional<Element> element = findElement(text.substr(begin));
  if (!element || type.shape.size() > 2)
    return std::nullopt;
  type.element = *element;
  return type;
}

} // namespace lnbwd::reference
