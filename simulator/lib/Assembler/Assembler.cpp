//===- Assembler.cpp - Code objects from assembly text --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The assembler and the linker, both in the process, and the frame of
// directives around a kernel.
//
//===----------------------------------------------------------------------===//

#include "Assembler/Assembler.h"

#include "SimulatedChip.h"

#include "lnbwd/ISA/Disassembler.h"

#ifdef LNBWD_HAS_LLD
#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"
#endif
#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <mutex>

using namespace llvm;

#ifdef LNBWD_HAS_LLD
LLD_HAS_DRIVER(elf)
#endif

static std::vector<uint8_t> readFile(StringRef Path, std::string &Error) {
  auto Buffer = MemoryBuffer::getFile(Path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!Buffer) {
    Error = Buffer.getError().message();
    return {};
  }
  StringRef S = (*Buffer)->getBuffer();
  return {S.bytes_begin(), S.bytes_end()};
}

std::vector<uint8_t> lnbwd::sim::assembleObject(const std::string &Text,
                                                const std::string &Chip,
                                                unsigned WaveSize,
                                                std::string &Error) {
  static std::once_flag Once;
  std::call_once(Once, LLVMInitializeAMDGPUAsmParser);
  auto Set = lnbwd::isa::Machine::create(Chip, WaveSize);
  if (!Set) {
    Error = toString(Set.takeError());
    return {};
  }
  const lnbwd::isa::Machine &M = **Set;
  const Target *T = M.Target;

  SourceMgr Sources;
  Sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(Text), SMLoc());
  std::string Diagnostics;
  Sources.setDiagHandler(
      [](const SMDiagnostic &D, void *Out) {
        raw_string_ostream OS(*static_cast<std::string *>(Out));
        D.print("", OS, false);
      },
      &Diagnostics);
  MCContext Context(M.TT, M.Assembly.get(), M.Registers.get(),
                    M.Subtarget.get(), &Sources, &M.Options);
  std::unique_ptr<MCObjectFileInfo> Info(
      T->createMCObjectFileInfo(Context, /*PIC=*/true));
  Context.setObjectFileInfo(Info.get());

  SmallString<0> Bytes;
  raw_svector_ostream OS(Bytes);
  std::unique_ptr<MCAsmBackend> Backend(
      T->createMCAsmBackend(*M.Subtarget, *M.Registers, M.Options));
  std::unique_ptr<MCObjectWriter> Writer = Backend->createObjectWriter(OS);
  std::unique_ptr<MCCodeEmitter> Emitter(
      T->createMCCodeEmitter(*M.Instructions, Context));
  std::unique_ptr<MCStreamer> Streamer(T->createMCObjectStreamer(
      M.TT, Context, std::move(Backend), std::move(Writer), std::move(Emitter),
      *M.Subtarget));
  std::unique_ptr<MCAsmParser> Parser(
      createMCAsmParser(Sources, Context, *Streamer, *M.Assembly));
  std::unique_ptr<MCTargetAsmParser> TargetParser(
      T->createMCAsmParser(*M.Subtarget, *Parser, *M.Instructions, M.Options));
  Parser->setTargetParser(*TargetParser);
  bool Failed = Parser->Run(/*NoInitialTextSection=*/false);
  if (Failed || Context.hadError()) {
    Error = Diagnostics.empty() ? "the text does not assemble" : Diagnostics;
    return {};
  }
  return {Bytes.begin(), Bytes.end()};
}

std::vector<uint8_t> lnbwd::sim::assembleText(const std::string &Text,
                                              const std::string &Chip,
                                              unsigned WaveSize,
                                              std::string &Error) {
  std::vector<uint8_t> Object = assembleObject(Text, Chip, WaveSize, Error);
  if (Object.empty())
    return {};
  MemoryBufferRef Buffer(
      StringRef(reinterpret_cast<const char *>(Object.data()), Object.size()),
      "assembled");
  auto File = object::ObjectFile::createObjectFile(Buffer);
  if (!File) {
    Error = toString(File.takeError());
    return {};
  }
  for (const object::SectionRef &S : (*File)->sections()) {
    auto Name = S.getName();
    auto Contents = S.getContents();
    if (Name && Contents && *Name == ".text")
      return {Contents->bytes_begin(), Contents->bytes_end()};
    if (!Name)
      consumeError(Name.takeError());
    if (!Contents)
      consumeError(Contents.takeError());
  }
  Error = "there is no .text";
  return {};
}

#ifdef LNBWD_HAS_LLD
/// Links In to the shared object Out. The linker keeps global state: one call
/// at a time.
static bool linkFile(const char *In, const char *Out, std::string &Error) {
  static std::mutex Linker;
  std::lock_guard<std::mutex> Guard(Linker);
  raw_string_ostream Errors(Error);
  const char *Arguments[] = {
      "ld.lld", "-shared", "--no-undefined", "--threads=1", In, "-o", Out};
  bool Linked = lld::elf::link(Arguments, nulls(), Errors, /*exitEarly=*/false,
                               /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  return Linked;
}
#else
/// Links In to the shared object Out by the program, where the library is not
/// at hand: it takes as long to start as a test takes.
static bool linkFile(const char *In, const char *Out, std::string &Error) {
  auto Linker = sys::findProgramByName("ld.lld", {LNBWD_LLVM_TOOLS_DIR});
  if (!Linker)
    Linker = sys::findProgramByName("ld.lld");
  if (!Linker) {
    Error = "ld.lld not found beside LLVM's tools or in PATH";
    return false;
  }
  std::string Message;
  if (sys::ExecuteAndWait(
          *Linker, {"ld.lld", "-shared", "--no-undefined", In, "-o", Out},
          std::nullopt, {}, 60, 0, &Message)) {
    Error = "ld.lld failed: " + Message;
    return false;
  }
  return true;
}
#endif

std::vector<uint8_t> lnbwd::sim::assembleCodeObject(const std::string &Text,
                                                    const std::string &Chip,
                                                    unsigned Version,
                                                    std::string &Error,
                                                    unsigned WaveSize) {
  std::string Whole =
      ".amdhsa_code_object_version " + std::to_string(Version) + "\n" + Text;
  std::vector<uint8_t> Object = assembleObject(Whole, Chip, WaveSize, Error);
  if (Object.empty())
    return {};
  SmallString<128> In, Out;
  int Descriptor;
  if (sys::fs::createTemporaryFile("lnbwd-sim", "o", Descriptor, In) ||
      sys::fs::createTemporaryFile("lnbwd-sim", "hsaco", Out)) {
    Error = "cannot create a temporary file";
    return {};
  }
  {
    raw_fd_ostream OS(Descriptor, /*shouldClose=*/true);
    OS.write(reinterpret_cast<const char *>(Object.data()), Object.size());
  }
  std::vector<uint8_t> Result;
  if (linkFile(In.c_str(), Out.c_str(), Error))
    Result = readFile(Out, Error);
  sys::fs::remove(In);
  sys::fs::remove(Out);
  return Result;
}

std::string lnbwd::sim::kernelText(const KernelText &K, const std::string &Chip,
                                   unsigned Version) {
  const SimulatedChip &Info = *chipByName(Chip);
  unsigned WaveSize = K.WaveSize ? K.WaveSize : Info.WaveSize;
  std::string S;
  raw_string_ostream OS(S);
  OS << "\t.text\n\t.globl " << K.Name << "\n\t.p2align 8\n\t.type " << K.Name
     << ",@function\n"
     << K.Name << ":\n"
     << K.Body << "\n\ts_endpgm\n"
     << K.Name << "_end:\n\t.size " << K.Name << ", " << K.Name << "_end-"
     << K.Name << "\n";
  OS << "\t.section .rodata,\"a\"\n\t.p2align 6\n\t.amdhsa_kernel " << K.Name
     << "\n"
     << "\t.amdhsa_group_segment_fixed_size " << K.LdsBytes << "\n"
     << "\t.amdhsa_private_segment_fixed_size " << K.ScratchBytes << "\n"
     << "\t.amdhsa_kernarg_size " << K.KernargBytes << "\n"
     << "\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
     << "\t.amdhsa_next_free_vgpr " << K.Vgprs << "\n"
     << "\t.amdhsa_next_free_sgpr " << K.Sgprs << "\n"
     << "\t.amdhsa_system_vgpr_workitem_id " << K.WorkItemDimensions - 1 << "\n"
     << "\t.amdhsa_float_denorm_mode_32 " << K.DenormModeF32 << "\n";
  if (Info.UnifiedVgprs)
    OS << "\t.amdhsa_accum_offset " << (K.Vgprs + 3) / 4 * 4 << "\n";
  if (Info.Generation > 9)
    OS << "\t.amdhsa_wavefront_size32 " << (WaveSize == 32 ? 1 : 0) << "\n";
  if (K.ScratchBytes) {
    if (!Info.ArchitectedScratch)
      OS << "\t.amdhsa_user_sgpr_flat_scratch_init 1\n"
            "\t.amdhsa_system_sgpr_private_segment_wavefront_offset 1\n";
    else
      OS << "\t.amdhsa_enable_private_segment 1\n";
  }
  OS << K.Directives << "\t.end_amdhsa_kernel\n";
  OS << "\t.amdgpu_metadata\n---\namdhsa.version: [1, " << Version - 3
     << "]\namdhsa.target: 'amdgcn-amd-amdhsa--" << Chip << "'\n"
     << "amdhsa.kernels:\n  - .name: " << K.Name << "\n    .symbol: " << K.Name
     << ".kd\n"
     << "    .kernarg_segment_size: " << K.KernargBytes << "\n"
     << "    .kernarg_segment_align: 8\n"
     << "    .group_segment_fixed_size: " << K.LdsBytes << "\n"
     << "    .private_segment_fixed_size: " << K.ScratchBytes << "\n"
     << "    .wavefront_size: " << WaveSize << "\n"
     << "    .sgpr_count: " << K.Sgprs << "\n    .vgpr_count: " << K.Vgprs
     << "\n"
     << "    .max_flat_workgroup_size: " << K.MaxFlatWorkgroupSize << "\n"
     << "    .args:\n";
  if (!K.Arguments.empty())
    OS << K.Arguments;
  else
    for (unsigned Offset = 0; Offset < K.KernargBytes; Offset += 8)
      OS << "      - .address_space: global\n        .offset: " << Offset
         << "\n        .size: 8\n        .value_kind: global_buffer\n";
  OS << "...\n\t.end_amdgpu_metadata\n";
  return S;
}
