# For the ROS 2 wheels from PyPI only, given as CMAKE_PROJECT_INCLUDE; a ROS install does not need it.
#
# The wheels' *__rosidl_generator_py targets list include folders of the machine that built them, and CMake stops at a
# listed folder that does not exist. Once the whole project is configured this drops the missing ones, so that
# CMakeLists.txt can stay what it would be on a ROS install.

# Where the wheels live, if the caller did not say.
if(NOT Python3_EXECUTABLE AND DEFINED ENV{VIRTUAL_ENV})
  set(Python3_EXECUTABLE "$ENV{VIRTUAL_ENV}/bin/python" CACHE FILEPATH "Python of the ROS 2 wheels")
endif()
if(Python3_EXECUTABLE)
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.prefix)"
    OUTPUT_VARIABLE _wheels_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND CMAKE_PREFIX_PATH "${_wheels_prefix}")
  if(NOT DEFINED ENV{AMENT_PREFIX_PATH})
    set(ENV{AMENT_PREFIX_PATH} "${_wheels_prefix}")
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

# Included once per project() call: act for the top directory, once.
get_property(_repair_deferred GLOBAL PROPERTY SYSID_REPAIR_DEFERRED)
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR AND NOT _repair_deferred)
  set_property(GLOBAL PROPERTY SYSID_REPAIR_DEFERRED TRUE)
  cmake_language(DEFER CALL sysid_repair_imported_targets)
endif()
