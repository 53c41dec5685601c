// SPDX-License-Identifier: Apache-2.0

#include "base/program_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/file.h"

namespace portcullis::base {
namespace {

bool IsTraced() {
  const auto status = ReadFile("/proc/self/status");
  return !status.ok() || status->find("TracerPid:\t0\n") == std::string::npos;
}

int UnmapObject(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    // Relocations are in writable segments, of which the loader protects a part afterwards.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void UnmapProgramPages() {
  if (!IsTraced()) dl_iterate_phdr(&UnmapObject, nullptr);
}

}  // namespace portcullis::base
