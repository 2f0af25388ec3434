# SPDX-License-Identifier: Apache-2.0
# What keeps processes on the ROS 2 wheels from PyPI from hanging when they leave DDS: sysid_nodes/messages/finite_wait.c.
# A ROS install does not need it: its Fast DDS is compiled for a newer glibc.

add_library(finite_wait MODULE sysid_nodes/messages/finite_wait.c)
target_link_libraries(finite_wait PRIVATE ${CMAKE_DL_LIBS})
# Not a name that Python takes for a module's.
set_target_properties(finite_wait PROPERTIES PREFIX lib SUFFIX .so.1)
sysid_package_folder(destination messages)
install(TARGETS finite_wait DESTINATION "${destination}")
