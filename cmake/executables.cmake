# SPDX-License-Identifier: Apache-2.0
# One executable for each module of sysid_nodes/ros/nodes, in lib/online_sysid where `ros2 run` and launch look, and
# the `sysid` command in bin. pip makes `sysid` itself for an editable install.

# Ctrl-C waits until sysid_nodes.start takes it, where env can do that (coreutils 8.31): Python's own start would end
# in a traceback.
set(SYSID_INTERPRETER "${Python3_EXECUTABLE}")
execute_process(COMMAND /usr/bin/env -S --block-signal=INT true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
if(refused STREQUAL "0")
  set(SYSID_INTERPRETER "/usr/bin/env -S --block-signal=INT ${Python3_EXECUTABLE}")
endif()

function(sysid_add_executable name module destination)
  set(SYSID_MODULE ${module})
  set(SYSID_NAME ${name})
  # Executable already here, because colcon build --symlink-install installs a link to this file.
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/executable.py.in" "${CMAKE_CURRENT_BINARY_DIR}/bin/${name}" @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  install(PROGRAMS "${CMAKE_CURRENT_BINARY_DIR}/bin/${name}" DESTINATION ${destination})
endfunction()

file(GLOB node_files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/sysid_nodes/ros/nodes/[a-z]*.py")
foreach(node_file IN LISTS node_files)
  get_filename_component(node "${node_file}" NAME_WE)
  sysid_add_executable(${node} sysid_nodes.ros.nodes.${node} lib/${PROJECT_NAME})
endforeach()

if(NOT SYSID_EDITABLE)
  sysid_add_executable(sysid sysid_nodes.cli.main bin)
endif()
