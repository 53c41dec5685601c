# SPDX-License-Identifier: Apache-2.0

# What every target of the project shares: language level, warnings, sanitizers, the linker, and
# pc_module(), the one way to declare a folder of src/.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

find_program(PC_CCACHE ccache)
if(PC_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_NOHASHDIR=1 ${PC_CCACHE})
endif()
find_program(PC_MOLD mold)
if(PC_MOLD)
  add_link_options(-fuse-ld=mold)
  if(CMAKE_CROSSCOMPILING)  # a cross compiler does not look for linkers where programs are
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/linker")
    file(CREATE_LINK "${PC_MOLD}" "${CMAKE_BINARY_DIR}/linker/ld.mold" SYMBOLIC)
    add_link_options("-B${CMAKE_BINARY_DIR}/linker")
  endif()
endif()

add_library(pc_options INTERFACE)
target_compile_options(pc_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
                                            -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(pc_options INTERFACE -Wthread-safety -Wno-missing-field-initializers)
else()
  # GCC 12 reports false positives of these inside the standard library.
  target_compile_options(
    pc_options INTERFACE -Wno-missing-field-initializers -Wno-restrict -Wno-dangling-pointer
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
                         -Wno-maybe-uninitialized -Wno-free-nonheap-object)
endif()
target_include_directories(pc_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_link_libraries(pc_options INTERFACE Threads::Threads)
if(PC_SANITIZE)
  add_compile_options(-fsanitize=${PC_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PC_SANITIZE})
endif()

# Profile guided optimization: tools/make_profiled.py sets both in turn (docs/decisions/0026-profiled-build.md).
if(PC_PROFILE)
  set(PC_PROFILE_DATA "${CMAKE_SOURCE_DIR}/build/profile")
  if(PC_PROFILE STREQUAL "generate")
    target_compile_options(pc_options INTERFACE -fprofile-update=atomic)
  elseif(EXISTS "${PC_PROFILE_DATA}")
    # Which false positives GCC reports depends on what it inlines; the ordinary build refuses warnings.
    target_compile_options(pc_options INTERFACE -Wno-error -Wno-missing-profile)
    # What makes 99.9 % of the counts is compiled for speed, the rest for size (99 % by default: the load
    # is of many kinds of requests, and each has its share).
    target_compile_options(pc_options INTERFACE --param=hot-bb-count-ws-permille=999)
    if(PC_MOLD)
      target_link_options(pc_options INTERFACE -Wl,-z,keep-text-section-prefix)  # hot functions stand together
    endif()
  else()
    message(FATAL_ERROR "there is no profile in ${PC_PROFILE_DATA}: tools/make_profiled.py makes one and builds with it")
  endif()
  # Names in the profile begin at the build folder: the two builds have one each.
  target_compile_options(pc_options INTERFACE "-fprofile-${PC_PROFILE}=${PC_PROFILE_DATA}" "-fprofile-prefix-path=${CMAKE_BINARY_DIR}")
  target_link_options(pc_options INTERFACE "-fprofile-${PC_PROFILE}=${PC_PROFILE_DATA}")
endif()

if(PC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # lets the fuzzers see which code they reach
endif()

# What more than half of all sources include, by way of others.
set(PC_COMMON_HEADERS
    <algorithm> <array> <atomic> <charconv> <chrono> <cstdint> <cstring> <functional> <map> <memory> <mutex>
    <optional> <set> <string> <string_view> <unordered_map> <utility> <variant> <vector>
    <base/clock.h> <base/status.h> <base/strings.h> <json/value.h>)

# pc_cache_comments(<target>): its precompiled headers are compiled anew when only a comment changes. GCC knows
# the files within them by their text, reads a file that differs a second time, and finds all of it redefined.
function(pc_cache_comments target)
  if(PC_CCACHE)
    set_property(TARGET ${target} PROPERTY CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_COMMENTS=1
                                           ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
endfunction()

# With this a source tells ccache which precompiled header it uses. Only sources have it: a precompiled header that is
# made anew would name the one that lies there from before, and ccache would take what it has made of that one.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(PREPEND CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -fpch-preprocess)
endif()

# pc_add_pch(<name> <header>…): precompiled headers for pc_use_pch().
function(pc_add_pch name)
  file(WRITE "${CMAKE_BINARY_DIR}/${name}.cc" "// Carries precompiled headers.\n")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cc")
  target_link_libraries(${name} PRIVATE pc_options)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  pc_cache_comments(${name})
endfunction()

if(PC_PCH)
  pc_add_pch(pc_pch ${PC_COMMON_HEADERS})
  pc_add_pch(pc_small_pch ${PC_COMMON_HEADERS})
  target_compile_options(pc_small_pch PRIVATE $<$<CONFIG:Release>:-Os>)  # as modules with SMALL are
  if(PC_TESTS)
    find_package(GTest REQUIRED)
    pc_add_pch(pc_test_pch ${PC_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
    target_link_libraries(pc_test_pch PRIVATE GTest::gtest GTest::gmock)
    target_compile_options(pc_test_pch PRIVATE -O0)  # as the tests are
  endif()
endif()

function(pc_use_pch target pch)
  if(PC_PCH)
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()

# pc_precompile(<target> <pch> <header>…): headers that most of its files include are compiled once for
# all of them, with the common ones; <pch> is what has those alone.
function(pc_precompile target pch)
  if(PC_PCH AND ARGN)
    list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${PC_COMMON_HEADERS} ${headers})
    pc_cache_comments(${target})
  else()
    pc_use_pch(${target} ${pch})
  endif()
endfunction()

# pc_join(<target> DIRECTORY|MODULE <apart>): the files of each directory, or of the whole module, are compiled
# together, six at a time: most of what a small file takes to compile is reading headers. Names that a
# file keeps to itself (anonymous namespaces) must then differ from those of the others. <apart>: a
# pattern of files that stay alone, as the members of a family whose names are the same on purpose.
function(pc_join target what apart)
  if(NOT PC_JOIN OR NOT what)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  if(apart)
    list(FILTER sources EXCLUDE REGEX "${apart}")
  endif()
  set(folders "")
  foreach(source ${sources})
    get_filename_component(folder "${source}" DIRECTORY)
    if(what STREQUAL MODULE)
      set(folder module)
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND files_of_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(group 0)
  foreach(folder ${folders})
    set(place 0)
    foreach(source ${files_of_${folder}})
      math(EXPR rest "${place} % 6")
      if(rest EQUAL 0)
        math(EXPR group "${group} + 1")
      endif()
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
      math(EXPR place "${place} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A type with members of an anonymous namespace is said to be in a header then.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# pc_module(<name> [SMALL] [SMALL_SOURCES <pattern>…] [JOINED DIRECTORY|MODULE [APART <regex>]]
#           [SMALL_JOINED DIRECTORY|MODULE] [PRECOMPILED <header>…] [DEPS <module>…]
#           [LIBS <library>…])
#
# Declares the library of the folder it is called from: every .cc below it, and <name>_test from
# every *_test.cc. SMALL: no request runs it, it is compiled for size, which takes half the bytes.
# SMALL_SOURCES: the same for some of its files. JOINED, APART: see pc_join(); SMALL_JOINED: the same for
# SMALL_SOURCES alone. PRECOMPILED: see pc_precompile().
# DEPS are the folders it may include (tools/check_layers.py reads this line);
# LIBS are other people's libraries, hidden from those who use the module.
function(pc_module name)
  cmake_parse_arguments(ARG "SMALL" "JOINED;SMALL_JOINED;APART" "SMALL_SOURCES;PRECOMPILED;DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "*.cc")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "*.h")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz)\\.cc$")
  if(ARG_SMALL_SOURCES)
    # Targets, since precompiled headers must have the flags of what uses them.
    list(TRANSFORM ARG_SMALL_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    file(GLOB small CONFIGURE_DEPENDS ${ARG_SMALL_SOURCES})
    list(REMOVE_ITEM sources ${small})
    list(FILTER small EXCLUDE REGEX "_test\\.cc$")
    add_library(${name}_small OBJECT ${small})
    target_link_libraries(${name}_small PRIVATE pc_options ${ARG_DEPS} ${ARG_LIBS})
    target_compile_options(${name}_small PRIVATE $<$<CONFIG:Release>:-Os>)
    pc_precompile(${name}_small pc_small_pch ${ARG_PRECOMPILED})
    pc_join(${name}_small "${ARG_JOINED}${ARG_SMALL_JOINED}" "${ARG_APART}")
    list(APPEND sources $<TARGET_OBJECTS:${name}_small>)
  endif()
  if(sources)
    add_library(${name} STATIC ${sources} ${headers})
    target_link_libraries(${name} PUBLIC pc_options ${ARG_DEPS} PRIVATE ${ARG_LIBS})
    if(ARG_SMALL)
      target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Os>)
      pc_precompile(${name} pc_small_pch ${ARG_PRECOMPILED})
    else()
      pc_precompile(${name} pc_pch ${ARG_PRECOMPILED})
    endif()
    pc_join(${name} "${ARG_JOINED}" "${ARG_APART}")
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE pc_options ${ARG_DEPS} ${ARG_LIBS})
  endif()
  if(PC_TESTS AND tests)
    pc_test(${name}_test SOURCES ${tests} DEPS ${name} LIBS ${ARG_LIBS})
    pc_join(${name}_test "${ARG_JOINED}" "${ARG_APART}")
  endif()
endfunction()

# pc_test(<name> SOURCES <file>… DEPS <module>… [LIBS <library>…] [LABELS <label>…])
# A GoogleTest program, run by ctest as one test with its own label (unit unless said otherwise).
function(pc_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE PC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  pc_use_pch(${name} pc_test_pch)
  # The tests themselves are compiled a third faster so, and none is slow by what it does itself.
  target_compile_options(${name} PRIVATE -O0)
  if(PC_SANITIZE)
    # Frames are several times larger then; documents of the greatest depth need a larger stack.
    add_test(NAME ${name} COMMAND sh -c "ulimit -s 65536 && exec $<TARGET_FILE:${name}>")
  else()
    add_test(NAME ${name} COMMAND ${name})
  endif()
  set(limit 300)
  if(PC_SANITIZE)
    set(limit 1800)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${limit})
  if("unit" IN_LIST ARG_LABELS)
    if(NOT TARGET unit_tests)
      add_custom_target(unit_tests)  # all of them, without the stories and what only these need
    endif()
    add_dependencies(unit_tests ${name})
  endif()
endfunction()
