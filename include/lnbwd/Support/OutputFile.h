//===- OutputFile.h - Files that are written whole --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How every program of the project writes the files that it was asked for. Free
// of LLVM, whose own helper ends the process where a disk is full.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_SUPPORT_OUTPUTFILE_H
#define LNBWD_SUPPORT_OUTPUTFILE_H

#include <string>
#include <string_view>
#include <system_error>

namespace lnbwd {

/// Writes `contents` to the file `path`, whole or not at all: to a file beside
/// it first, which then takes its name. What was there before stays as it is
/// until then, and for good if writing fails. A symbolic link stays one, to the
/// new file; a file that was there keeps its permissions, and one that may not
/// be written to is left alone. /dev/stdout is what the process has open as
/// that. What is no regular file, a pipe or a device, is written to in place.
///
/// The folder has to be one in which files may be made. Another hard link to
/// the file that was there keeps what that held.
///
/// Gives what the system says of a failure; it is for the caller to say that
/// the file cannot be written.
std::error_code writeOutputFile(const std::string &path,
                                std::string_view contents);

/// Has the process go on where a file may not grow further, so that
/// writeOutputFile can say so. For the start of main().
void surviveFileSizeLimit();

} // namespace lnbwd

#endif // LNBWD_SUPPORT_OUTPUTFILE_H
