//===- ChipInfo.cpp - The table of chips ----------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of the table, made of lib/Chips/Chips.json, and what finds them.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Target/ChipInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace lnbwd;

static const ChipInfo chips[] = {
#define GET_CHIP_ROWS
#include "lnbwd/Chips/CompilerChips.inc"
};

llvm::ArrayRef<ChipInfo> lnbwd::getChips() { return chips; }

std::string TargetId::str() const {
  std::string text = chip->name.str();
  if (sramEcc)
    text += *sramEcc ? ":sramecc+" : ":sramecc-";
  if (xnack)
    text += *xnack ? ":xnack+" : ":xnack-";
  return text;
}

std::string TargetId::getFeatures() const {
  llvm::SmallVector<std::string, 3> features;
  if (!chip->features.empty())
    features.push_back(chip->features.str());
  if (sramEcc)
    features.push_back(*sramEcc ? "+sramecc" : "-sramecc");
  if (xnack)
    features.push_back(*xnack ? "+xnack" : "-xnack");
  return llvm::join(features, ",");
}

/// Which settings the target ids of a chip can have, for messages.
static std::string listSettings(const ChipInfo &chip) {
  if (chip.canHaveSramEcc && chip.canHaveXnack)
    return "sramecc+, sramecc-, xnack+ or xnack-";
  if (chip.canHaveSramEcc)
    return "sramecc+ or sramecc-";
  return chip.canHaveXnack ? "xnack+ or xnack-" : "no settings";
}

llvm::Expected<TargetId> lnbwd::parseTargetId(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, ':');
  const ChipInfo *chip = llvm::find_if(
      chips, [&](const ChipInfo &entry) { return entry.name == parts[0]; });
  if (text.empty())
    return llvm::createStringError("expected the option chip, one of: " +
                                   listChips());
  if (chip == std::end(chips))
    return llvm::createStringError("unknown chip '" + parts[0] +
                                   "', expected one of: " + listChips());
  TargetId result;
  result.chip = chip;
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    llvm::StringRef name = part.drop_back(part.empty() ? 0 : 1);
    std::optional<bool> *setting = nullptr;
    if (name == "sramecc" && chip->canHaveSramEcc)
      setting = &result.sramEcc;
    else if (name == "xnack" && chip->canHaveXnack)
      setting = &result.xnack;
    if (!setting || (part.back() != '+' && part.back() != '-'))
      return llvm::createStringError("target id '" + text + "': expected " +
                                     listSettings(*chip) + " after " +
                                     chip->name + ", got '" + part + "'");
    if (setting->has_value())
      return llvm::createStringError("target id '" + text + "': expected " +
                                     name + " once, got it twice");
    *setting = part.back() == '+';
  }
  return result;
}

mlir::FailureOr<TargetId>
lnbwd::lookupTarget(llvm::StringRef targetId,
                    llvm::function_ref<mlir::InFlightDiagnostic()> emitError) {
  llvm::Expected<TargetId> target = parseTargetId(targetId);
  if (target)
    return *target;
  return emitError() << llvm::toString(target.takeError());
}

std::string lnbwd::listChips() {
  return llvm::join(
      llvm::map_range(chips, [](const ChipInfo &chip) { return chip.name; }),
      ", ");
}
