//===- TunedSchedules.cpp - Schedules that were measured best -------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the table strictly: a key that is unknown, missing or of the wrong kind
// is an error that says where, so that a typing mistake cannot turn an entry
// off. The table that comes with the compiler is part of the library.
//
//===----------------------------------------------------------------------===//

#include "lnbwd/Analysis/TunedSchedules.h"

#include "lnbwd/Analysis/ScheduleFields.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <tuple>

using namespace mlir;
using namespace lnbwd;
namespace json = llvm::json;

static constexpr llvm::StringLiteral tableFormat = "lnbwd-tuned-schedules";
static constexpr int64_t tableVersion = 1;

/// The table that comes with the compiler: TunedSchedules.json, as CMake found
/// it.
static constexpr llvm::StringLiteral shippedTable =
#include "TunedSchedules.inc"
    ;

static std::string getElementName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

ProgramKey ProgramKey::of(RowwiseOp op) {
  Type widest;
  for (ValueRange values :
       {ValueRange(op.getRows()), ValueRange(op.getRowOuts())})
    for (Value value : values) {
      Type element = cast<ShapedType>(value.getType()).getElementType();
      if (!widest ||
          element.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
        widest = element;
    }
  ProgramKey key;
  key.element = widest ? getElementName(widest) : "";
  key.rows = int64_t(op.getRows().size());
  key.rowOuts = int64_t(op.getRowOuts().size());
  key.columns = int64_t(op.getAllColumns().size());
  key.columnSums = int64_t(op.getAllSums().size());
  key.rowSums = llvm::count_if(op.getBody().front(), [](Operation &bodyOp) {
    return bool(getSummedRow(&bodyOp));
  });
  return key;
}

bool ProgramKey::operator==(const ProgramKey &other) const {
  auto tie = [](const ProgramKey &key) {
    return std::tie(key.element, key.rows, key.rowOuts, key.columns,
                    key.columnSums, key.rowSums);
  };
  return tie(*this) == tie(other);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Reads an object whose keys are all known.
class EntryReader {
public:
  EntryReader(const json::Value &value, json::Path path)
      : object(value.getAsObject()), path(path) {
    if (!object)
      path.report("expected an object");
  }

  explicit operator bool() const { return object; }

  /// The value of a key that has to be there; null, after a report, if it is
  /// not.
  const json::Value *get(StringRef key) {
    known.push_back(key);
    const json::Value *value = object->get(key);
    if (!value)
      path.field(key).report("expected a value, got none");
    return value;
  }
  /// The value of a key that may be left out.
  const json::Value *getOptional(StringRef key) {
    known.push_back(key);
    return object->get(key);
  }
  bool get(StringRef key, std::string &text) {
    const json::Value *value = get(key);
    return value && json::fromJSON(*value, text, path.field(key));
  }
  bool get(StringRef key, int64_t &number) {
    const json::Value *value = get(key);
    return value && json::fromJSON(*value, number, path.field(key));
  }
  /// Reports a key that nobody asked for.
  bool isComplete() {
    auto unknown = llvm::find_if(*object, [&](const auto &entry) {
      return !llvm::is_contained(known, StringRef(entry.first));
    });
    if (unknown != object->end())
      path.field(unknown->first).report("unknown key");
    return unknown == object->end();
  }
  json::Path getPath(StringRef key) { return path.field(key); }

private:
  const json::Object *object;
  json::Path path;
  SmallVector<StringRef> known;
};
} // namespace

/// Reads a number, or a pair of the least and the most.
static bool readRange(const json::Value &value, NumberRange &range,
                      json::Path path) {
  if (std::optional<int64_t> number = value.getAsInteger()) {
    range = {*number, *number};
  } else {
    std::vector<int64_t> pair;
    const json::Array *array = value.getAsArray();
    if (!array || array->size() != 2 || !json::fromJSON(value, pair, path)) {
      path.report("expected a number or [least, most]");
      return false;
    }
    range = {pair[0], pair[1]};
  }
  if (range.least < 1 || range.least > range.most) {
    path.report("expected 1 <= least <= most");
    return false;
  }
  return true;
}

static bool readProgram(const json::Value &value, ProgramKey &key,
                        json::Path path) {
  EntryReader reader(value, path);
  return reader && reader.get("element", key.element) &&
         reader.get("rows", key.rows) && reader.get("row_outs", key.rowOuts) &&
         reader.get("columns", key.columns) &&
         reader.get("column_sums", key.columnSums) &&
         reader.get("row_sums", key.rowSums) && reader.isComplete();
}

/// Reads a schedule as it is printed between `#lnbwd.schedule<` and `>`.
static ScheduleAttr parseSchedule(const std::string &text, MLIRContext *context,
                                  std::string &problem) {
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
    return success();
  });
  std::string attribute = "#lnbwd.schedule<" + text + ">";
  return dyn_cast_or_null<ScheduleAttr>(parseAttribute(attribute, context));
}

namespace {
/// Reads the entries; remembers what a JSON path cannot say.
class TableReader {
public:
  explicit TableReader(MLIRContext *context) : context(context) {}

  bool read(const json::Value &value, std::vector<TunedSchedule> &entries,
            json::Path path) {
    EntryReader reader(value, path);
    std::string format;
    int64_t version = 0;
    if (!reader || !reader.get("format", format))
      return false;
    if (format != tableFormat) {
      path.field("format").report("expected \"lnbwd-tuned-schedules\"");
      return false;
    }
    if (!reader.get("version", version))
      return false;
    if (version != tableVersion) {
      path.field("version").report("expected version 1");
      return false;
    }
    reader.getOptional("comment");
    const json::Value *list = reader.get("entries");
    if (!list || !reader.isComplete())
      return false;
    const json::Array *array = list->getAsArray();
    if (!array) {
      reader.getPath("entries").report("expected an array");
      return false;
    }
    for (auto [index, entry] : llvm::enumerate(*array)) {
      TunedSchedule tuned;
      if (!readEntry(entry, tuned,
                     reader.getPath("entries").index(unsigned(index))))
        return false;
      entries.push_back(std::move(tuned));
    }
    return true;
  }

  /// What is wrong with a schedule, in the parser's words.
  std::string detail;

private:
  bool readEntry(const json::Value &value, TunedSchedule &entry,
                 json::Path path) {
    EntryReader reader(value, path);
    if (!reader || !reader.get("chip", entry.chip))
      return false;
    // A chip itself: schedules do not depend on a target id's settings.
    const ChipInfo *chip = lookupChip(entry.chip);
    if (!chip || chip->name != entry.chip) {
      detail = "expected one of: " + listChips();
      path.field("chip").report("unknown chip");
      return false;
    }
    const json::Value *program = reader.get("program");
    if (!program ||
        !readProgram(*program, entry.program, path.field("program")))
      return false;
    const json::Value *length = reader.get("n");
    if (!length || !readRange(*length, entry.rowLength, path.field("n")))
      return false;
    if (const json::Value *count = reader.getOptional("m")) {
      entry.rowCount.emplace();
      if (!readRange(*count, *entry.rowCount, path.field("m")))
        return false;
    }
    std::string text;
    if (!reader.get("schedule", text))
      return false;
    entry.schedule = parseSchedule(text, context, detail);
    if (!entry.schedule) {
      path.field("schedule").report("invalid schedule");
      return false;
    }
    // What was measured or predicted is for people and for lnbwd-tune.
    reader.getOptional("measured");
    reader.getOptional("predicted");
    return reader.isComplete();
  }

  MLIRContext *context;
};
} // namespace

FailureOr<TunedSchedules>
TunedSchedules::parse(StringRef text, StringRef name, MLIRContext *context,
                      function_ref<InFlightDiagnostic()> emitError) {
  TunedSchedules table;
  table.name = name.str();
  llvm::Expected<json::Value> document = json::parse(text);
  if (!document)
    return emitError() << "tuned schedules '" << name
                       << "': " << llvm::toString(document.takeError());
  json::Path::Root root("the table");
  TableReader reader(context);
  if (reader.read(*document, table.entries, root))
    return table;
  InFlightDiagnostic diagnostic = emitError()
                                  << "tuned schedules '" << name
                                  << "': " << llvm::toString(root.getError());
  if (!reader.detail.empty())
    diagnostic << ": " << reader.detail;
  return diagnostic;
}

FailureOr<TunedSchedules>
TunedSchedules::load(StringRef option, MLIRContext *context,
                     function_ref<InFlightDiagnostic()> emitError) {
  if (option == "off")
    return TunedSchedules();
  if (option.empty())
    return parse(shippedTable, "built-in", context, emitError);
  auto buffer = llvm::MemoryBuffer::getFile(option, /*IsText=*/true);
  if (!buffer)
    return emitError() << "cannot read the tuned schedules '" << option
                       << "': " << buffer.getError().message();
  return parse((*buffer)->getBuffer(), option, context, emitError);
}

//===----------------------------------------------------------------------===//
// Looking up
//===----------------------------------------------------------------------===//

std::optional<size_t> TunedSchedules::find(RowwiseOp op, const ChipInfo &chip,
                                           int64_t rows) const {
  // What was tuned were programs whose rows all go to any workgroup.
  if (op.hasGroups())
    return std::nullopt;
  ProgramKey key = ProgramKey::of(op);
  std::optional<int64_t> count = op.getStaticRowCount();
  if (!count && rows > 0)
    count = rows;
  for (auto [index, entry] : llvm::enumerate(entries))
    if (entry.chip == chip.name && entry.program == key &&
        entry.rowLength.contains(op.getRowLength()) &&
        (!entry.rowCount || (count && entry.rowCount->contains(*count))))
      return index;
  return std::nullopt;
}

std::string TunedSchedules::describe(size_t index) const {
  return "tuned schedules '" + name + "', entries[" + std::to_string(index) +
         "]";
}
