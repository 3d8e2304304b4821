/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL 1.2 by a table of functions, looked up in libOpenCL.so.1 when an instance first asks for
 * devices. Nothing is linked, so that a machine without OpenCL can say so. */
#ifndef OPENCL_CL_H
#define OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "compute_backend.h"

#define OCL_FUNCTIONS(X)                                                                           \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clReleaseCommandQueue)                                                                       \
    X(clCreateBuffer)                                                                              \
    X(clReleaseMemObject)                                                                          \
    X(clCreateProgramWithSource)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clGetProgramBuildInfo)                                                                       \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernel)                                                                              \
    X(clSetKernelArg)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clEnqueueCopyBuffer)                                                                         \
    X(clEnqueueFillBuffer)                                                                         \
    X(clEnqueueMarkerWithWaitList)                                                                 \
    X(clEnqueueBarrierWithWaitList)                                                                \
    X(clFlush)                                                                                     \
    X(clFinish)                                                                                    \
    X(clWaitForEvents)                                                                             \
    X(clGetEventInfo)                                                                              \
    X(clGetEventProfilingInfo)                                                                     \
    X(clRetainEvent)                                                                               \
    X(clReleaseEvent)

#define OCL_MEMBER(function) __typeof__(function) *function;
struct ocl_functions {
    OCL_FUNCTIONS(OCL_MEMBER)
};
#undef OCL_MEMBER

/* Valid once ocl_library_load has returned CB_OK. */
extern struct ocl_functions ocl_cl;

#endif
