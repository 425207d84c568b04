//===- AmdCodeObject.cpp - Checking a code object against its plan --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every AMD code object describes its kernels in a note of MessagePack. HIP
// takes as many arguments from the launcher as that note names, whatever the
// plan says: so the two are compared here, before anything is launched.
//
//===----------------------------------------------------------------------===//

#include "AmdCodeObject.h"

#include "Error.h"
#include "Json.h"

#include <sstream>

using nlohmann::json;

namespace lnbwd::runtime {

std::string baseChip(const std::string &targetId) {
  return targetId.substr(0, targetId.find(':'));
}

bool isCompatible(const std::string &code, const std::string &device) {
  std::istringstream parts(code + ":");
  for (std::string part; std::getline(parts, part, ':');)
    if ((":" + device + ":").find(":" + part + ":") == std::string::npos)
      return false;
  return true;
}

/// The type of the note with the kernels' metadata (NT_AMDGPU_METADATA).
constexpr unsigned kMetadataNote = 32;

[[noreturn]] static void mismatch(const std::string &message) {
  throw Error(LNBWD_ERROR_INVALID_PLAN,
              "the launch plan is not that of the code: " + message);
}

[[noreturn]] static void damaged(const std::string &message) {
  throw Error(LNBWD_ERROR_INVALID_PROGRAM,
              "the code object's metadata is damaged: " + message);
}

static uint64_t number(const json &object, const char *key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer() || *it < 0)
    damaged(std::string("'") + key + "' is missing or no size");
  return it->get<uint64_t>();
}

static std::string text(const json &object, const char *key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_string())
    damaged(std::string("'") + key + "' is missing or no text");
  return it->get<std::string>();
}

static void checkKernel(const json &metadata, const PlanKernel &kernel,
                        const Plan &plan) {
  const std::string name = "kernel '" + kernel.name + "' ";
  size_t parameters = 0;
  if (auto arguments = metadata.find(".args"); arguments != metadata.end()) {
    if (!arguments->is_array())
      damaged("'.args' is no list");
    for (const json &argument : *arguments) {
      if (!argument.is_object())
        damaged("an entry of '.args' is no map");
      std::string kind = text(argument, ".value_kind");
      if (kind.compare(0, 7, "hidden_") == 0)
        continue;
      if (number(argument, ".size") != 8)
        mismatch(name + "takes parameter " + std::to_string(parameters) +
                 " in " + std::to_string(number(argument, ".size")) +
                 " bytes, expected 8");
      ++parameters;
    }
  }
  if (parameters != kernel.parameters.size())
    mismatch(name + "takes " + std::to_string(parameters) +
             " parameters, the plan passes " +
             std::to_string(kernel.parameters.size()));
  uint64_t waveSize = number(metadata, ".wavefront_size");
  if (waveSize != static_cast<uint64_t>(plan.waveSize))
    mismatch(name + "has waves of " + std::to_string(waveSize) +
             " work-items, the plan says " + std::to_string(plan.waveSize));
  uint64_t limit = number(metadata, ".max_flat_workgroup_size");
  uint64_t workItems =
      uint64_t(kernel.block[0]) * kernel.block[1] * kernel.block[2];
  if (workItems > limit)
    mismatch(name + "allows workgroups of up to " + std::to_string(limit) +
             " work-items, the plan launches " + std::to_string(workItems));
}

/// The target id by the code object's own word: what follows the triple and
/// "--".
static std::string targetId(const json &metadata) {
  std::string target = text(metadata, "amdhsa.target");
  size_t separator = target.rfind("--");
  if (separator == std::string::npos)
    damaged("'amdhsa.target' names no chip");
  return target.substr(separator + 2);
}

std::string checkAmdCodeObject(const ElfFile &elf, const Plan &plan) {
  auto note = elf.note("AMDGPU", kMetadataNote);
  if (!note)
    throw Error(LNBWD_ERROR_INVALID_PROGRAM,
                "the code object has no AMDGPU metadata note; expected code "
                "object version 4 or later");
  json metadata;
  try {
    metadata = parseMessagePack(*note);
  } catch (const std::exception &error) {
    damaged(error.what());
  }
  if (!metadata.is_object() || !metadata.contains("amdhsa.kernels") ||
      !metadata["amdhsa.kernels"].is_array())
    damaged("it has no list 'amdhsa.kernels'");
  std::string target = targetId(metadata);
  if (!isCompatible(plan.chip, target))
    mismatch("the code is for " + target + ", the plan for " + plan.chip);

  for (const PlanKernel &kernel : plan.kernels) {
    const json *found = nullptr;
    for (const json &candidate : metadata["amdhsa.kernels"]) {
      if (!candidate.is_object())
        damaged("an entry of 'amdhsa.kernels' is no map");
      if (text(candidate, ".name") == kernel.name)
        found = &candidate;
    }
    if (!found)
      mismatch("it launches a kernel '" + kernel.name +
               "', which the code does not have");
    checkKernel(*found, kernel, plan);
  }
  return target;
}

} // namespace lnbwd::runtime
