# SPDX-License-Identifier: Apache-2.0

# libportcullis.a: the module `library` and all that it needs of this project, as one object file whose only names
# are those of include/portcullis/portcullis.h; other names of the project are out of its users' way.
# cmake --install copies it with the header and a pkg-config file.

# Collects what `target` is linked with: modules, and libraries of others.
function(pc_collect target)
  get_property(known GLOBAL PROPERTY PC_LIBRARY_KNOWN)
  if(target IN_LIST known)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY PC_LIBRARY_KNOWN ${target})
  get_target_property(type ${target} TYPE)
  set(property INTERFACE_LINK_LIBRARIES)
  if(type STREQUAL "STATIC_LIBRARY")
    set_property(GLOBAL APPEND PROPERTY PC_LIBRARY_MODULES ${target})
    set(property LINK_LIBRARIES)
  endif()
  get_target_property(linked ${target} ${property})
  foreach(name ${linked})
    if(TARGET ${name} AND NOT name MATCHES "::")
      pc_collect(${name})
    elseif(name MATCHES "^[a-z0-9]+$")
      set_property(GLOBAL APPEND PROPERTY PC_LIBRARY_OTHERS ${name})
    endif()
  endforeach()
endfunction()

pc_collect(library)
get_property(modules GLOBAL PROPERTY PC_LIBRARY_MODULES)
get_property(PC_LIBRARY_OTHERS GLOBAL PROPERTY PC_LIBRARY_OTHERS)
list(REMOVE_DUPLICATES PC_LIBRARY_OTHERS)
set(archives "")
foreach(module ${modules})
  list(APPEND archives "$<TARGET_FILE:${module}>")
endforeach()

set(PC_LIBRARY "${CMAKE_BINARY_DIR}/libportcullis.a")
add_custom_command(
  OUTPUT "${PC_LIBRARY}"
  COMMAND ${CMAKE_LINKER} -r -o libportcullis.all.o -u portcullis_open --start-group ${archives} --end-group
  COMMAND ${CMAKE_OBJCOPY} --strip-debug --wildcard "--keep-global-symbol=portcullis_*" libportcullis.all.o libportcullis.o
  COMMAND ${CMAKE_COMMAND} -E rm -f "${PC_LIBRARY}" libportcullis.all.o
  COMMAND ${CMAKE_AR} rcs "${PC_LIBRARY}" libportcullis.o
  DEPENDS ${modules}
  WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
  COMMENT "Linking libportcullis.a"
  VERBATIM)
add_custom_target(libportcullis ALL DEPENDS "${PC_LIBRARY}")

# What a C program links besides.
set(PC_LIBRARY_PRIVATE "")
foreach(name ${PC_LIBRARY_OTHERS} stdc++ m pthread)
  string(APPEND PC_LIBRARY_PRIVATE " -l${name}")
endforeach()
file(
  CONFIGURE
  OUTPUT "${CMAKE_BINARY_DIR}/portcullis.pc"
  CONTENT
    "prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: portcullis
Description: admission control of Kubernetes as a library
Version: @PROJECT_VERSION@
Cflags: -I\${includedir}
Libs: -L\${libdir} -lportcullis@PC_LIBRARY_PRIVATE@
"
  @ONLY)
