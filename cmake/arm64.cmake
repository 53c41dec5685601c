# SPDX-License-Identifier: Apache-2.0

# Toolchain file: builds for arm64 with Debian's cross compiler, and with libraries that
# tools/make_sysroot.py has unpacked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
get_filename_component(CMAKE_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-arm64" ABSOLUTE)
set(PC_SYSROOT "${CMAKE_SYSROOT}" CACHE INTERNAL "for tools/built.py")
set(PC_CROSS_COMPILER "${CMAKE_CXX_COMPILER}" CACHE INTERNAL "for tools/built.py")
if(NOT EXISTS "${CMAKE_SYSROOT}/complete")
  message(FATAL_ERROR "there are no libraries in ${CMAKE_SYSROOT}: run tools/make_sysroot.py")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# What is built runs where it was built, too: for tests, and for what the program prints of itself.
find_program(PC_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(PC_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${PC_QEMU};-L;${CMAKE_SYSROOT}")
endif()

# char is unsigned here: what compares one with zero is told.
set(CMAKE_CXX_FLAGS_INIT "-Wtype-limits")
