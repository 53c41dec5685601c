# SPDX-License-Identifier: Apache-2.0

# cmake --install, and the Debian package (cpack in the build folder). Manual pages and completion are
# printed by the program itself.
include(GNUInstallDirs)

install(TARGETS portcullis RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES LICENSE NOTICE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/walkthrough DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")

set(PC_SHARE "${CMAKE_BINARY_DIR}/share")
# For another architecture, with qemu.
set(PC_RUN ${CMAKE_CROSSCOMPILING_EMULATOR} "${CMAKE_BINARY_DIR}/portcullis")
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} \"-DPROGRAM=${PC_RUN}\" -DOUTPUT=${PC_SHARE}
  -P ${CMAKE_SOURCE_DIR}/cmake/manuals.cmake COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY "${PC_SHARE}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
install(FILES "${PC_SHARE}/completion/bash" RENAME portcullis
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${PC_SHARE}/completion/zsh" RENAME _portcullis
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${PC_SHARE}/completion/fish" RENAME portcullis.fish
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

# The library: only for programs that are built with it, and only where it is asked for.
install(FILES "${PC_LIBRARY}" DESTINATION lib COMPONENT library EXCLUDE_FROM_ALL)
install(FILES "${CMAKE_BINARY_DIR}/portcullis.pc" DESTINATION lib/pkgconfig COMPONENT library EXCLUDE_FROM_ALL)
install(FILES include/portcullis/portcullis.h DESTINATION include/portcullis COMPONENT library EXCLUDE_FROM_ALL)

if(PC_DEBIAN_PACKAGE)
  install(FILES packaging/portcullis.service DESTINATION /lib/systemd/system)
  install(FILES packaging/portcullis.default RENAME portcullis DESTINATION /etc/default)
  install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/third_party.py
    --build ${CMAKE_BINARY_DIR} --target portcullis --texts --output ${PC_SHARE}/THIRD-PARTY COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES "${PC_SHARE}/THIRD-PARTY" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME portcullis)
set(CPACK_PACKAGE_VENDOR "The Portcullis Authors")
set(CPACK_PACKAGE_CONTACT "The Portcullis Authors <portcullis@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "admission control of Kubernetes as one program")
set(CPACK_PACKAGE_DESCRIPTION
    "An API server that starts in a fraction of a second and judges every write as kube-apiserver does: admission
plugins, webhooks and policies. For trying and testing them, on a laptop or in pipelines; it runs no containers.")
set(CPACK_STRIP_FILES ON)
if(PC_SYSROOT)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PC_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE}"
      "${PC_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    "${CMAKE_SOURCE_DIR}/packaging/postinst;${CMAKE_SOURCE_DIR}/packaging/prerm;${CMAKE_SOURCE_DIR}/packaging/postrm;${CMAKE_SOURCE_DIR}/packaging/conffiles")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
