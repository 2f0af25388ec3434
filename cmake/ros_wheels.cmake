# SPDX-License-Identifier: Apache-2.0
# For the ROS 2 wheels from PyPI only, given as CMAKE_PROJECT_INCLUDE; a ROS install does not need it.
#
# The wheels' *__rosidl_generator_py targets list include folders of the machine that built them, and CMake stops at a
# listed folder that does not exist. Once the whole project is configured this drops the missing ones, so that
# CMakeLists.txt can stay what it would be on a ROS install. And CMake refuses to export an include folder below the
# source folder, where .venv with NumPy is: such a folder is kept for the build and left out of the export.

# Where the wheels live, if the caller did not say.
if(NOT Python3_EXECUTABLE AND DEFINED ENV{VIRTUAL_ENV})
  set(Python3_EXECUTABLE "$ENV{VIRTUAL_ENV}/bin/python" CACHE FILEPATH "Python of the ROS 2 wheels")
endif()
if(Python3_EXECUTABLE)
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.prefix)"
    OUTPUT_VARIABLE _wheels_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND CMAKE_PREFIX_PATH "${_wheels_prefix}")
  # What was built before comes first, where its setup.bash is sourced.
  if(NOT ":$ENV{AMENT_PREFIX_PATH}:" MATCHES ":${_wheels_prefix}:")
    string(REGEX REPLACE "^:" "" _ament_prefixes "$ENV{AMENT_PREFIX_PATH}:${_wheels_prefix}")
    set(ENV{AMENT_PREFIX_PATH} "${_ament_prefixes}")
  endif()
endif()

function(sysid_keep_existing_folders target property)
  get_target_property(folders ${target} ${property})
  if(NOT folders)
    return()
  endif()
  set(kept)
  foreach(folder IN LISTS folders)
    # A generator expression ($<...>) is not a path yet.
    if(folder MATCHES "^\\$<" OR IS_DIRECTORY "${folder}")
      list(APPEND kept "${folder}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES ${property} "${kept}")
endfunction()

function(sysid_repair_imported_targets)
  get_directory_property(targets IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    sysid_keep_existing_folders(${target} INTERFACE_INCLUDE_DIRECTORIES)
    sysid_keep_existing_folders(${target} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
  endforeach()
endfunction()

function(sysid_leave_wheels_out_of_exports)
  get_directory_property(targets BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT folders)
      continue()
    endif()
    set(kept)
    foreach(folder IN LISTS folders)
      cmake_path(IS_PREFIX _wheels_prefix "${folder}" within)
      if(within)
        set(folder "$<BUILD_INTERFACE:${folder}>")
      endif()
      list(APPEND kept "${folder}")
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
  endforeach()
endfunction()

# Included once per project() call: act for the top directory, once.
get_property(_repair_deferred GLOBAL PROPERTY SYSID_REPAIR_DEFERRED)
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT _repair_deferred)
  set_property(GLOBAL PROPERTY SYSID_REPAIR_DEFERRED TRUE)
  cmake_language(DEFER CALL sysid_repair_imported_targets)
  if(_wheels_prefix)
    cmake_language(DEFER CALL sysid_leave_wheels_out_of_exports)
  endif()
endif()
