# SPDX-License-Identifier: Apache-2.0
# The optional C++ kernels sysid_nodes/kernel/_*. Whatever they need and does not
# exist ends in one status line; NumPy then does the same work, slower.

# Sets out_var to what the build's Python prints for code, or to nothing.
function(sysid_ask_python out_var code)
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "${code}"
    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(answer "")
  endif()
  set(${out_var} "${answer}" PARENT_SCOPE)
endfunction()

# An interface target sysid_pinocchio, from pip's wheel or from a ROS install, or none.
function(sysid_find_pinocchio)
  sysid_ask_python(prefix "import sysconfig; print(sysconfig.get_path('purelib') + '/cmeel.prefix')")
  set(library "${prefix}/lib/libpinocchio_default.so")
  if(EXISTS "${library}" AND EXISTS "${prefix}/include/pinocchio/algorithm/jacobian.hpp"
     AND EXISTS "${prefix}/include/eigen3/Eigen/Core")
    # Not by pinocchioConfig.cmake: it asks for urdfdom, coal and OpenMP, which the kernel does not use.
    add_library(sysid_pinocchio INTERFACE)
    target_include_directories(sysid_pinocchio SYSTEM INTERFACE
      "${prefix}/include" "${prefix}/include/eigen3")
    target_link_libraries(sysid_pinocchio INTERFACE "${library}")
    # The wheel was compiled for plain x86-64: Eigen's alignment must be the same on both sides of a call, so neither
    # this nor -march=native is ours to choose.
    target_compile_definitions(sysid_pinocchio INTERFACE EIGEN_MAX_ALIGN_BYTES=16)
    # As in pinocchioTargets.cmake: its joint variant is longer than Boost's default lists.
    target_compile_definitions(sysid_pinocchio INTERFACE
      BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS BOOST_MPL_LIMIT_LIST_SIZE=30 BOOST_MPL_LIMIT_VECTOR_SIZE=30
      PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION)
    set(SYSID_PINOCCHIO_RPATH "${prefix}/lib" PARENT_SCOPE)
    return()
  endif()
  find_package(pinocchio CONFIG QUIET)
  if(TARGET pinocchio::pinocchio)
    add_library(sysid_pinocchio INTERFACE)
    target_link_libraries(sysid_pinocchio INTERFACE pinocchio::pinocchio)
  endif()
endfunction()

function(sysid_add_kernel)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  sysid_ask_python(nanobind_DIR "import nanobind; print(nanobind.cmake_dir())")
  if(Python_FOUND)
    find_package(nanobind CONFIG QUIET)
  endif()
  if(NOT nanobind_FOUND)
    message(STATUS "Kernel: not built, nanobind or Python's headers not found")
    return()
  endif()
  sysid_find_pinocchio()
  if(NOT TARGET sysid_pinocchio)
    message(STATUS "Kernel: not built, pinocchio's headers not found")
    return()
  endif()

  sysid_package_folder(destination kernel)
  foreach(name regressors stages sensor_rows normal_equations joint_rollout closest_points affine_dynamics dual_simplex windows)
    # NOMINSIZE: nanobind would otherwise compile the numerics for size, many times slower.
    nanobind_add_module(_${name} NOMINSIZE NB_STATIC "${CMAKE_CURRENT_SOURCE_DIR}/sysid_nodes/kernel/${name}.cpp")
    target_link_libraries(_${name} PRIVATE sysid_pinocchio)
    if(SYSID_PINOCCHIO_RPATH)
      set_target_properties(_${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../../cmeel.prefix/lib;${SYSID_PINOCCHIO_RPATH}")
    endif()
    install(TARGETS _${name} DESTINATION "${destination}")
  endforeach()
  message(STATUS "Kernel: C++ with nanobind ${nanobind_VERSION}")
endfunction()

# find_package(Python), which nanobind wants, must take the interpreter that the messages are built for.
set(Python_EXECUTABLE "${Python3_EXECUTABLE}")
sysid_add_kernel()
