// SPDX-License-Identifier: Apache-2.0

// The pages of the program's and its libraries' files that are mapped: code and constant data. A start
// runs through most of them, and the kernel maps sixteen for each that is touched.
#pragma once

namespace portcullis::base {

// Unmaps them all; what is run or read from now on is mapped again, from the kernel's cache, at one page
// fault for sixteen pages. Writable pages, and those that the loader has written to, stay. Does nothing
// while a debugger is attached, whose breakpoints are in these pages. Thread-safe.
void UnmapProgramPages();

}  // namespace portcullis::base
