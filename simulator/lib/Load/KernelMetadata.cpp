//===- KernelMetadata.cpp - What a code object says of its kernels --------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The metadata is MessagePack, read with LLVM's document after a check that its
// keys are texts.
//
//===----------------------------------------------------------------------===//

#include "Load/KernelMetadata.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/BinaryFormat/MsgPackReader.h"

using namespace llvm;
using namespace lnbwd::sim;

/// Whether all keys of all maps are texts. LLVM's document has undefined
/// behaviour for keys that are lists, maps, bytes or nothing.
static bool hasTextKeys(StringRef Blob) {
  struct Level {
    uint64_t Left; ///< objects; those of a map alternate, a key first
    bool IsMap;
  };
  SmallVector<Level, 8> Stack;
  msgpack::Reader Reader(Blob);
  do {
    msgpack::Object Object;
    Expected<bool> More = Reader.read(Object);
    if (!More) {
      consumeError(More.takeError());
      return false;
    }
    if (!*More)
      return false;
    if (!Stack.empty()) {
      Level &Inner = Stack.back();
      if (Inner.IsMap && Inner.Left % 2 == 0 &&
          Object.Kind != msgpack::Type::String)
        return false;
      --Inner.Left;
    }
    if (Object.Kind == msgpack::Type::Map)
      Stack.push_back({2 * uint64_t(Object.Length), true});
    else if (Object.Kind == msgpack::Type::Array)
      Stack.push_back({uint64_t(Object.Length), false});
    while (!Stack.empty() && !Stack.back().Left)
      Stack.pop_back();
  } while (!Stack.empty());
  return true;
}

bool lnbwd::sim::readKernelMetadata(ArrayRef<uint8_t> Note,
                                    std::map<std::string, Kernel> &BySymbol,
                                    std::string &Error) {
  auto Unreadable = [&] {
    Error = "the code object's metadata cannot be read";
    return false;
  };
  msgpack::Document Doc;
  StringRef Blob(reinterpret_cast<const char *>(Note.data()), Note.size());
  if (!hasTextKeys(Blob) || !Doc.readFromBlob(Blob, /*Multi=*/false) ||
      !Doc.getRoot().isMap())
    return Unreadable();
  auto Root = Doc.getRoot().getMap();
  auto Kernels = Root.find("amdhsa.kernels");
  if (Kernels == Root.end())
    return true;
  if (!Kernels->second.isArray())
    return Unreadable();
  auto Number = [](msgpack::MapDocNode &Map, StringRef Key,
                   uint32_t Otherwise) -> uint32_t {
    auto It = Map.find(Key);
    if (It == Map.end())
      return Otherwise;
    if (It->second.getKind() == msgpack::Type::UInt)
      return uint32_t(It->second.getUInt());
    if (It->second.getKind() == msgpack::Type::Int)
      return uint32_t(It->second.getInt());
    return Otherwise;
  };
  auto Text = [](msgpack::MapDocNode &Map, StringRef Key) -> std::string {
    auto It = Map.find(Key);
    if (It == Map.end() || !It->second.isString())
      return "";
    return It->second.getString().str();
  };
  auto &List = Kernels->second.getArray();
  for (size_t K = 0; K < List.size(); ++K) {
    if (!List[K].isMap())
      return Unreadable();
    auto Map = List[K].getMap();
    Kernel Entry;
    Entry.HasMetadata = true;
    Entry.Name = Text(Map, ".name");
    std::string Symbol = Text(Map, ".symbol");
    if (Entry.Name.empty() || Symbol.empty()) {
      Error = "the code object's metadata has a kernel without a name";
      return false;
    }
    Entry.MaxFlatWorkgroupSize = Number(Map, ".max_flat_workgroup_size", 1024);
    Entry.VgprCount = Number(Map, ".vgpr_count", 256);
    Entry.AgprCount = Number(Map, ".agpr_count", 0);
    Entry.SgprCount = Number(Map, ".sgpr_count", 104);
    auto Stated = [&](StringRef Key) -> int64_t {
      auto It = Map.find(Key);
      return It == Map.end() ? -1 : int64_t(Number(Map, Key, 0));
    };
    Entry.MetadataLds = Stated(".group_segment_fixed_size");
    Entry.MetadataScratch = Stated(".private_segment_fixed_size");
    Entry.MetadataKernarg = Stated(".kernarg_segment_size");
    Entry.MetadataWaveSize = Stated(".wavefront_size");
    auto Sizes = [&](StringRef Key, uint32_t *To) {
      auto It = Map.find(Key);
      if (It == Map.end() || !It->second.isArray())
        return;
      auto &List = It->second.getArray();
      for (size_t D = 0; D < 3 && D < List.size(); ++D)
        if (List[D].getKind() == msgpack::Type::UInt)
          To[D] = uint32_t(List[D].getUInt());
    };
    Sizes(".reqd_workgroup_size", Entry.RequiredBlock);
    Sizes(".cluster_dims", Entry.ClusterDims);
    auto Stack = Map.find(".uses_dynamic_stack");
    if (Stack != Map.end() && Stack->second.getKind() == msgpack::Type::Boolean)
      Entry.DynamicStack = Stack->second.getBool();
    auto Args = Map.find(".args");
    if (Args != Map.end() && Args->second.isArray()) {
      auto &ArgList = Args->second.getArray();
      for (size_t A = 0; A < ArgList.size(); ++A) {
        if (!ArgList[A].isMap())
          return Unreadable();
        auto ArgMap = ArgList[A].getMap();
        KernelArgument Arg;
        Arg.Offset = Number(ArgMap, ".offset", 0);
        Arg.Size = Number(ArgMap, ".size", 0);
        Arg.Kind = Text(ArgMap, ".value_kind");
        Entry.Arguments.push_back(Arg);
      }
    }
    BySymbol[Symbol] = Entry;
  }
  return true;
}
