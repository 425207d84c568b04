//===- Json.cpp - Reading untrusted JSON and MessagePack ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using nlohmann::json;

namespace lnbwd::runtime {

/// Neither a plan nor the metadata of a code object is nested deeper.
constexpr size_t kMaxDepth = 32;

namespace {

/// Walks a document without building it: refuses deep nesting and keys given
/// twice, of which the library would silently keep one.
class DocumentChecker : public nlohmann::json_sax<json> {
public:
  std::string message;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t &name) override {
    if (keys.back().insert(name).second)
      return true;
    message = "key '" + name + "' given twice";
    return false;
  }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &error) override {
    message = error.what();
    return false;
  }

private:
  bool enter() {
    if (keys.size() == kMaxDepth) {
      message = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    keys.emplace_back();
    return true;
  }
  bool leave() {
    keys.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys;
};

} // namespace

static void check(std::string_view bytes, json::input_format_t format) {
  DocumentChecker checker;
  if (!json::sax_parse(bytes.begin(), bytes.end(), &checker, format))
    throw std::runtime_error(checker.message);
}

json parseJsonText(std::string_view text) {
  check(text, json::input_format_t::json);
  return json::parse(text.begin(), text.end());
}

json parseMessagePack(std::string_view bytes) {
  check(bytes, json::input_format_t::msgpack);
  return json::from_msgpack(bytes.begin(), bytes.end());
}

} // namespace lnbwd::runtime
