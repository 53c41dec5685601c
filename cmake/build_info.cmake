# SPDX-License-Identifier: Apache-2.0

# Writes OUTPUT, a header with the version of the program and the commit it is built from. Without git
# (a source archive) PC_COMMIT and PC_COMMIT_DATE of the environment are taken. The date is the
# commit's, so that two builds of one commit are equal.

execute_process(COMMAND git log -1 --format=%H|%cI WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE log
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
set(tree_state clean)
if(failed)
  set(commit "$ENV{PC_COMMIT}")
  set(date "$ENV{PC_COMMIT_DATE}")
  if(commit STREQUAL "")
    set(tree_state archive)
  endif()
else()
  string(REPLACE "|" ";" log "${log}")
  list(GET log 0 commit)
  list(GET log 1 date)
  # What is built, and what it is built from: documents and tests do not count.
  execute_process(COMMAND git status --porcelain --untracked-files=no -- src cmake CMakeLists.txt
                  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changed)
  if(changed)
    set(tree_state dirty)
  endif()
endif()
if(date STREQUAL "")
  set(date "1970-01-01T00:00:00Z")
endif()
# As Kubernetes writes it: UTC.
execute_process(COMMAND date -u -d "${date}" +%Y-%m-%dT%H:%M:%SZ OUTPUT_VARIABLE utc
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(utc)
  set(date "${utc}")
endif()
set(text "#define PC_VERSION \"${VERSION}\"
#define PC_COMMIT \"${commit}\"
#define PC_TREE_STATE \"${tree_state}\"
#define PC_COMMIT_DATE \"${date}\"
")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT text STREQUAL old)
  file(WRITE "${OUTPUT}" "${text}")
endif()
