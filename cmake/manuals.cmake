# SPDX-License-Identifier: Apache-2.0

# Writes the manual pages and the completion scripts that PROGRAM prints below OUTPUT.

function(print_to file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY "${OUTPUT}/man1" "${OUTPUT}/completion")
print_to("${OUTPUT}/man1/portcullis.1" man)
foreach(shell bash zsh fish)
  print_to("${OUTPUT}/completion/${shell}" completion ${shell})
endforeach()
# The commands stand in the page of the program, one after each ".TP".
file(STRINGS "${OUTPUT}/man1/portcullis.1" lines REGEX "^\\\\fB[a-z -]+\\\\fR$")
foreach(line ${lines})
  string(REGEX REPLACE "^\\\\fB([a-z -]+)\\\\fR$" "\\1" command "${line}")
  string(REPLACE " " "-" file "${command}")
  string(REPLACE " " ";" words "${command}")
  print_to("${OUTPUT}/man1/portcullis-${file}.1" man ${words})
endforeach()
