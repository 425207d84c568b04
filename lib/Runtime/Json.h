//===- Json.h - Reading untrusted JSON and MessagePack ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON library reads MessagePack by recursion, so that a short file of
// nested arrays would exhaust the stack. These two functions look at the depth
// before they build anything.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_JSON_H
#define LNBWD_LIB_RUNTIME_JSON_H

#include <nlohmann/json.hpp>

#include <string_view>

namespace lnbwd::runtime {

/// Parses JSON text, or throws std::runtime_error with the parser's words.
nlohmann::json parseJsonText(std::string_view text);

/// Parses MessagePack, or throws std::runtime_error with the parser's words.
nlohmann::json parseMessagePack(std::string_view bytes);

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_JSON_H
