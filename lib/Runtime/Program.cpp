//===- Program.cpp - A compiled file with its plan ------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "ElfFile.h"
#include "Error.h"
#include "Json.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>
#include <vector>

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

//===----------------------------------------------------------------------===//
// AMD code objects
//===----------------------------------------------------------------------===//

// Every AMD code object describes its kernels in a note of MessagePack. HIP
// takes as many arguments from the launcher as that note names, whatever the
// plan says: so the two are compared here, before anything is launched.

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

/// Checks that the AMD code object is for the plan's chip, with the settings
/// that the plan names, and has the plan's kernels with the plan's parameters.
/// A launch that gets these wrong would make the device read what is no
/// argument. Gives the code object's target id.
static std::string checkAmdCodeObject(const ElfFile &elf, const Plan &plan) {
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

//===----------------------------------------------------------------------===//
// The plan in a file
//===----------------------------------------------------------------------===//

constexpr const char *kPlanSymbol = "lnbwd_plan";
constexpr std::string_view kPtxPlanPrefix = "// lnbwd-plan: ";
/// No plan comes near this; a larger "plan" is a damaged file.
constexpr size_t kMaxPlanSize = size_t(1) << 20;

/// Clang's offload bundle: a magic text, the number of entries, and for each
/// its offset, size and name, all numbers 64 bits, little-endian.
constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
/// No bundle of ours comes near these; larger numbers are damage.
constexpr uint64_t kMaxEntries = 1024;
constexpr uint64_t kMaxIdSize = 4096;

[[noreturn]] static void fail(const std::string &message) {
  throw Error(LNBWD_ERROR_INVALID_PROGRAM, message);
}

static bool isOffloadBundle(std::string_view bytes) {
  return bytes.substr(0, kBundleMagic.size()) == kBundleMagic;
}

static std::string checkedPlanText(std::string_view text) {
  if (text.size() > kMaxPlanSize)
    fail("the launch plan is cut off or damaged: expected at most " +
         std::to_string(kMaxPlanSize) + " bytes, got " +
         std::to_string(text.size()));
  return std::string(text);
}

static std::string findElfPlan(const ElfFile &elf) {
  auto bytes = elf.symbolBytes(kPlanSymbol);
  if (!bytes)
    fail(std::string("the code object has no launch plan (no data symbol '") +
         kPlanSymbol + "'): it was not compiled by lnbwd-opt, or was stripped");
  size_t end = bytes->find('\0');
  if (end == std::string_view::npos)
    fail("the launch plan is cut off or damaged: no zero byte ends it");
  return checkedPlanText(bytes->substr(0, end));
}

/// The plan of PTX text: a comment line before the first directive.
static std::string findPtxPlan(std::string_view text) {
  bool hasDirective = false;
  while (!text.empty() && !hasDirective) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, kPtxPlanPrefix.size()) == kPtxPlanPrefix) {
      line.remove_prefix(kPtxPlanPrefix.size());
      if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
      return checkedPlanText(line);
    }
    size_t first = line.find_first_not_of(" \t\r");
    hasDirective = first != std::string_view::npos && line[first] == '.';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  if (hasDirective)
    fail("the PTX has no launch plan (no comment line '// lnbwd-plan: ' before "
         "its first directive): it was not compiled by lnbwd-opt");
  fail("expected an AMD code object (.hsaco), a cubin or PTX from lnbwd-opt, "
       "got a file that is none of these");
}

namespace {

/// Compute capability of "sm_90" or "sm_90a"; -1 of what is no such chip.
struct ComputeCapability {
  int number = -1;
  bool isArchSpecific = false;

  explicit ComputeCapability(const std::string &chip) {
    if (chip.compare(0, 3, "sm_") == 0) {
      const char *end = chip.data() + chip.size();
      isArchSpecific = std::from_chars(chip.data() + 3, end, number).ptr != end;
    }
  }
};

} // namespace

/// PTX runs on its chip and later ones; a cubin on those of the same major
/// number only; code for the features of one chip ("sm_90a") there only.
static bool runsOnCuda(CodeFormat format, const std::string &chip,
                       const std::string &deviceArch) {
  ComputeCapability code(chip), device(deviceArch);
  if (code.number < 0 || device.number < 0)
    return false;
  if (code.isArchSpecific)
    return code.number == device.number;
  if (format == CodeFormat::Cubin && code.number / 10 != device.number / 10)
    return false;
  return code.number <= device.number;
}

const char *formatName(CodeFormat format) {
  switch (format) {
  case CodeFormat::Hsaco:
    return "hsaco";
  case CodeFormat::Cubin:
    return "cubin";
  case CodeFormat::Ptx:
    return "ptx";
  }
  return "unknown";
}

std::shared_ptr<const Program> parseProgram(std::string code) {
  auto program = std::make_shared<Program>();
  program->code = std::move(code);
  std::string_view bytes = program->code;
  if (bytes.empty())
    fail("the file is empty");
  if (!ElfFile::isElf(bytes)) {
    if (isOffloadBundle(bytes))
      fail("expected the code of one chip, got an offload bundle, whose entry "
           "depends on the device: name the chip when it is read, or take "
           "the entry out with clang-offload-bundler --unbundle");
    program->format = CodeFormat::Ptx;
    program->plan = parsePlan(findPtxPlan(bytes));
  } else {
    ElfFile elf(bytes);
    if (elf.machine() == EM_AMDGPU)
      program->format = CodeFormat::Hsaco;
    else if (elf.machine() == EM_CUDA)
      program->format = CodeFormat::Cubin;
    else
      fail("expected an ELF file for an AMD (machine " +
           std::to_string(EM_AMDGPU) + ") or NVIDIA GPU (machine " +
           std::to_string(EM_CUDA) + "), got machine " +
           std::to_string(elf.machine()));
    program->plan = parsePlan(findElfPlan(elf));
    if (program->format == CodeFormat::Hsaco)
      program->target = checkAmdCodeObject(elf, program->plan);
  }

  const std::string &chip = program->plan.chip;
  const char *prefix = program->format == CodeFormat::Hsaco ? "gfx" : "sm_";
  if (chip.compare(0, 3, prefix) != 0)
    throw Error(LNBWD_ERROR_INVALID_PLAN,
                std::string("launch plan: plan.chip: expected a chip '") +
                    prefix + "...' in a " + formatName(program->format) +
                    " file, got '" + chip + "'");
  return program;
}

std::string readFile(const std::string &path) {
  auto fail = [&](const char *what, int error) {
    throw Error(LNBWD_ERROR_FILE, std::string("cannot ") + what + " '" + path +
                                      "': " + std::strerror(error));
  };
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    fail("open", errno);
  std::string contents;
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), file))
    contents.append(buffer, count);
  int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0)
    fail("read", error);
  return contents;
}

bool runsOn(const Program &program, const std::string &deviceArch) {
  const std::string &chip = program.plan.chip;
  bool isCuda = deviceArch.compare(0, 3, "sm_") == 0;
  if (program.format == CodeFormat::Hsaco)
    return !isCuda && isCompatible(program.targetId(), deviceArch);
  return isCuda && runsOnCuda(program.format, chip, deviceArch);
}

void checkChip(const Program &program, const std::string &deviceArch,
               const std::string &deviceName) {
  if (!runsOn(program, deviceArch))
    throw Error(LNBWD_ERROR_WRONG_CHIP,
                "the kernel was compiled for " + program.targetId() + " (" +
                    formatName(program.format) + "), the device '" +
                    deviceName + "' is " + deviceArch +
                    "; compile it with chip=" + baseChip(deviceArch) +
                    ", or run it on a device of its chip" +
                    (program.format == CodeFormat::Hsaco
                         ? " or on the simulator (device 'sim')"
                         : ""));
}

namespace {

/// A file in a bundle, whose bytes it is a part of.
struct BundleEntry {
  std::string id;
  std::string_view code;
};

} // namespace

/// The files of a bundle, without empty ones.
static std::vector<BundleEntry> readBundle(std::string_view bytes) {
  uint64_t position = kBundleMagic.size();
  auto take = [&](uint64_t size, const char *what) {
    std::string_view taken =
        checkedSlice(bytes, position, size, "offload bundle", what);
    position += size;
    return taken;
  };
  auto number = [&](const char *what, uint64_t limit) {
    std::string_view text = take(sizeof(uint64_t), what);
    uint64_t value = 0;
    for (size_t i = text.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(text[i]);
    if (value > limit)
      fail(std::string("the offload bundle is damaged: ") + what +
           ": expected at most " + std::to_string(limit) + ", got " +
           std::to_string(value));
    return value;
  };
  uint64_t count = number("the number of entries", kMaxEntries);
  std::vector<BundleEntry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t offset = number("an entry's offset", bytes.size());
    uint64_t size = number("an entry's size", bytes.size());
    uint64_t idSize = number("the size of an entry's name", kMaxIdSize);
    std::string id(take(idSize, "an entry's name"));
    std::string_view code =
        checkedSlice(bytes, offset, size, "offload bundle", "an entry's code");
    // The host's entry is empty.
    if (!code.empty())
      entries.push_back({std::move(id), code});
  }
  return entries;
}

std::shared_ptr<const Program> parseProgramForChip(std::string_view bytes,
                                                   const std::string &chip) {
  if (!isOffloadBundle(bytes))
    return parseProgram(std::string(bytes));
  std::shared_ptr<const Program> best;
  std::string names;
  for (const BundleEntry &entry : readBundle(bytes)) {
    names += (names.empty() ? "" : ", ") + entry.id;
    auto program = parseProgram(std::string(entry.code));
    // Code for a later chip is the better one, the chip's own the best.
    if (runsOn(*program, chip) &&
        (!best || ComputeCapability(program->plan.chip).number >
                      ComputeCapability(best->plan.chip).number))
      best = std::move(program);
  }
  if (!best)
    throw Error(LNBWD_ERROR_WRONG_CHIP,
                "no entry of the offload bundle is for " + chip +
                    "; it has: " + (names.empty() ? "none" : names) +
                    "; compile with chip=" + baseChip(chip) + " among them");
  return best;
}

} // namespace lnbwd::runtime
