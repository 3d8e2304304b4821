/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all platforms: GPUs first, then accelerators, then processors, and behind them
 * all those that lack what the contract needs. */
#include "opencl.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLATFORMS_MAX 64

/* Of vendors' extensions whose headers need not be there. */
#define INFO_COMPUTE_MAJOR_NV 0x4000
#define INFO_COMPUTE_MINOR_NV 0x4001
#define INFO_WARP_SIZE_NV     0x4003
#define INFO_PCI_BUS_NV       0x4008
#define INFO_PCI_SLOT_NV      0x4009
#define INFO_PCI_DOMAIN_NV    0x400A
#define INFO_TOPOLOGY_AMD     0x4037
#define INFO_WAVEFRONT_AMD    0x4043
#define INFO_UUID_KHR         0x106A
#define INFO_PCI_KHR          0x410F

static bool ask(cl_device_id id, cl_device_info what, void *out, size_t size)
{
    return ocl_cl.clGetDeviceInfo(id, what, size, out, NULL) == CL_SUCCESS;
}

static cl_uint ask_u32(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    return ask(id, what, &value, sizeof(value)) ? value : 0;
}

static uint64_t ask_u64(cl_device_id id, cl_device_info what)
{
    cl_ulong value = 0;
    return ask(id, what, &value, sizeof(value)) ? value : 0;
}

static uint64_t ask_size(cl_device_id id, cl_device_info what)
{
    size_t value = 0;
    return ask(id, what, &value, sizeof(value)) ? value : 0;
}

/* Text of any length, cut; "" when the driver does not tell. */
static void ask_text(cl_device_id id, cl_device_info what, char *out, size_t size)
{
    char text[1024] = "";
    size_t length = 0;
    out[0] = 0;
    if (ocl_cl.clGetDeviceInfo(id, what, sizeof(text) - 1, text, &length) != CL_SUCCESS)
        return;
    const char *from = text + strspn(text, " ");
    snprintf(out, size, "%.*s", (int)size - 1, from);
}

/* ---- what a device is ---- */

static void read_pci_or_uuid(struct ocl_device *d)
{
    const cl_device_id id = d->id;
    cl_uint khr[4]; /* domain, bus, device, function */
    unsigned char amd[24], uuid[16];
    char text[33];
    if (ask(id, INFO_PCI_KHR, khr, sizeof(khr))) {
        snprintf(d->stable_id, sizeof(d->stable_id), "pci:%04x:%02x:%02x.%x", khr[0], khr[1],
                 khr[2], khr[3]);
    } else if (ask(id, INFO_PCI_BUS_NV, khr, sizeof(cl_uint))) {
        const cl_uint slot = ask_u32(id, INFO_PCI_SLOT_NV);
        snprintf(d->stable_id, sizeof(d->stable_id), "pci:%04x:%02x:%02x.%x",
                 ask_u32(id, INFO_PCI_DOMAIN_NV), khr[0], slot >> 3, slot & 7);
    } else if (ask(id, INFO_TOPOLOGY_AMD, amd, sizeof(amd)) && amd[0] == 1) {
        snprintf(d->stable_id, sizeof(d->stable_id), "pci:0000:%02x:%02x.%x", amd[21], amd[22],
                 amd[23]);
    } else if (ask(id, INFO_UUID_KHR, uuid, sizeof(uuid))) {
        for (size_t i = 0; i < sizeof(uuid); i++)
            snprintf(text + 2 * i, 3, "%02x", uuid[i]);
        snprintf(d->stable_id, sizeof(d->stable_id), "uuid:%s", text);
    }
}

/* The platform's name in small letters, and the device's place in it. */
static void read_platform_id(struct ocl_device *d, unsigned place)
{
    char name[40] = "";
    size_t n = 0;
    ocl_cl.clGetPlatformInfo(d->platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    for (const char *c = name; *c; c++) {
        const bool letter = isascii(*c) && isalnum((unsigned char)*c);
        if (letter)
            name[n++] = (char)(*c | 0x20);
        else if (n && name[n - 1] != '-')
            name[n++] = '-';
    }
    snprintf(d->stable_id, sizeof(d->stable_id), "opencl:%.*s:%u", (int)n, n ? name : "?", place);
}

/* What the contract needs and not every device has. */
static void read_lacks(struct ocl_device *d)
{
    char version[64];
    int major = 0, minor = 0;
    const uint64_t f32 = ask_u64(d->id, CL_DEVICE_SINGLE_FP_CONFIG);
    const char *lack = NULL;
    ask_text(d->id, CL_DEVICE_VERSION, version, sizeof(version));
    sscanf(version, "OpenCL %d.%d", &major, &minor);
    if (!ask_u32(d->id, CL_DEVICE_AVAILABLE))
        lack = "the driver says that it is not available";
    else if (!ask_u32(d->id, CL_DEVICE_COMPILER_AVAILABLE))
        lack = "its driver has no compiler";
    else if (major < 1 || (major == 1 && minor < 2))
        lack = "it is older than OpenCL 1.2";
    else if (!(f32 & CL_FP_DENORM))
        lack = "it flushes subnormal numbers of f32 to zero (no CL_FP_DENORM)";
    else if (!(f32 & CL_FP_INF_NAN) || !(f32 & CL_FP_ROUND_TO_NEAREST))
        lack = "its f32 is not that of IEEE 754 (no CL_FP_INF_NAN or CL_FP_ROUND_TO_NEAREST)";
    else if (!(f32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT))
        lack = "it rounds f32 divisions and square roots incorrectly "
               "(no CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)";
    if (lack)
        snprintf(d->lacks, sizeof(d->lacks), "%s", lack);
}

static void read_compute(struct ocl_device *d)
{
    d->compute_major = ask_u32(d->id, INFO_COMPUTE_MAJOR_NV);
    d->compute_minor = ask_u32(d->id, INFO_COMPUTE_MINOR_NV);
    d->warp_size = ask_u32(d->id, INFO_WARP_SIZE_NV);
    if (!d->warp_size)
        d->warp_size = ask_u32(d->id, INFO_WAVEFRONT_AMD);
    if (!d->warp_size)
        d->warp_size = 1;
}

/* A processor's memory is the host's, whatever its driver calls it. Copies overlap with work where
 * a card's memory is apart, and on a processor of which they take one unit; OpenCL does not tell of
 * others. */
static void read_memory_kind(struct ocl_device *d)
{
    const bool processor = d->type & CL_DEVICE_TYPE_CPU;
    const bool unified = ask_u32(d->id, CL_DEVICE_HOST_UNIFIED_MEMORY);
    d->memory_kind = processor ? CB_MEMORY_HOST : unified ? CB_MEMORY_UNIFIED : CB_MEMORY_DEVICE;
    d->features = CB_FEATURE_FP16 | CB_FEATURE_BF16;
    if (processor || unified)
        d->features |= CB_FEATURE_UNIFIED_MEMORY;
    if (processor ? d->compute_units > 1 : !unified)
        d->features |= CB_FEATURE_ASYNC_COPY;
}

static void read_device(struct ocl_device *d, cl_platform_id platform, cl_device_id id,
                        unsigned place)
{
    *d = (struct ocl_device){ .platform = platform, .id = id };
    d->type = ask_u64(id, CL_DEVICE_TYPE);
    ask_text(id, CL_DEVICE_NAME, d->name, sizeof(d->name));
    if (!d->name[0])
        snprintf(d->name, sizeof(d->name), "OpenCL device");
    ask_text(id, CL_DRIVER_VERSION, d->driver, sizeof(d->driver));
    read_pci_or_uuid(d);
    if (!d->stable_id[0])
        read_platform_id(d, place);
    read_lacks(d);
    read_compute(d);
    d->f64 = ask_u64(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    d->compute_units = ask_u32(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    d->vector_floats = ask_u32(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    d->vector_floats = d->vector_floats ? d->vector_floats : 1;
    d->memory = ask_u64(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    d->max_alloc = ask_u64(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    d->local_memory = ask_u64(id, CL_DEVICE_LOCAL_MEM_SIZE);
    d->group_size = ask_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);

    read_memory_kind(d);
}

/* ---- the list ---- */

static int rank(const struct ocl_device *d)
{
    const int type = d->type & CL_DEVICE_TYPE_GPU           ? 0
                     : d->type & CL_DEVICE_TYPE_ACCELERATOR ? 1
                                                            : 2;
    return d->lacks[0] ? 3 + type : type;
}

/* Keeps the driver's order among equals. */
static void sort(struct ocl_device *devices, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const struct ocl_device d = devices[i];
        uint32_t at = i;
        for (; at && rank(&devices[at - 1]) > rank(&d); at--)
            devices[at] = devices[at - 1];
        devices[at] = d;
    }
}

/* Two platforms may show one device: the second of equal ids says so. */
static void tell_apart(struct ocl_device *devices, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        unsigned seen = 1;
        for (uint32_t j = 0; j < i; j++)
            seen += !strncmp(devices[j].stable_id, devices[i].stable_id,
                             strcspn(devices[j].stable_id, "/")) &&
                    !devices[i].stable_id[strcspn(devices[j].stable_id, "/")];
        const size_t length = strlen(devices[i].stable_id);
        if (seen > 1)
            snprintf(devices[i].stable_id + length, sizeof(devices[i].stable_id) - length, "/%u",
                     seen);
    }
}

static cb_status add_platform(struct ocl_backend *ocl, cl_platform_id platform, const char *where,
                              cb_error *err)
{
    cl_uint n = 0;
    const cl_int code = ocl_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n);
    if (code != CL_SUCCESS || !n) {
        snprintf(ocl->no_device, sizeof(ocl->no_device),
                 "a platform of OpenCL, and no device in it (clGetDeviceIDs: %d)", (int)code);
        return CB_OK;
    }
    cl_device_id *ids = calloc(n, sizeof(*ids));
    struct ocl_device *devices =
        realloc(ocl->devices, (ocl->n_devices + n) * sizeof(*ocl->devices));
    if (devices)
        ocl->devices = devices;
    cb_status st = CB_OK;
    if (!ids || !devices)
        st = cbc_fail(err, CB_OUT_OF_MEMORY, where, "no memory for a list of %u devices",
                      (unsigned)n);
    else if (ocl_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL) == CL_SUCCESS)
        for (cl_uint i = 0; i < n; i++)
            read_device(&ocl->devices[ocl->n_devices++], platform, ids[i], i);
    free(ids);
    return st;
}

static cb_status find(struct ocl_backend *ocl, const char *where, cb_error *err)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint n = 0;
    const cl_int code = ocl_cl.clGetPlatformIDs(PLATFORMS_MAX, platforms, &n);
    snprintf(ocl->no_device, sizeof(ocl->no_device),
             "libOpenCL.so.1 knows no platform (clGetPlatformIDs: %d)", (int)code);
    if (code != CL_SUCCESS)
        return CB_OK;
    cb_status st = CB_OK;
    for (cl_uint i = 0; i < n && i < PLATFORMS_MAX && st == CB_OK; i++)
        st = add_platform(ocl, platforms[i], where, err);
    sort(ocl->devices, ocl->n_devices);
    tell_apart(ocl->devices, ocl->n_devices);
    return st;
}

cb_status ocl_devices_find(struct ocl_backend *ocl, const char *where, cb_error *err)
{
    struct ocl_quiet quiet;
    cb_status st = ocl_fork_check(ocl, where, err);
    if (st != CB_OK || ocl->enumerated)
        return st;
    const cbc_fpenv fpenv = cbc_fpenv_enter(); /* a driver's threads inherit it */
    ocl_quiet_begin(&quiet);
    if (ocl_library_load(ocl->no_device, sizeof(ocl->no_device)))
        st = find(ocl, where, err);
    ocl_quiet_end(&quiet);
    cbc_fpenv_leave(fpenv);
    ocl->enumerated = st == CB_OK;
    if (st != CB_OK) {
        free(ocl->devices);
        ocl->devices = NULL;
        ocl->n_devices = 0;
    }
    return st;
}

/* ---- choosing ---- */

static bool read_ordinal(const char *text, uint64_t *out)
{
    *out = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || *out > UINT32_MAX)
            return false;
        *out = *out * 10 + (uint64_t)(*c - '0');
    }
    return *text;
}

bool ocl_device_named(const struct ocl_backend *ocl, const char *value, uint32_t *ordinal)
{
    uint64_t number;
    if (read_ordinal(value, &number)) {
        *ordinal = (uint32_t)number;
        return number < ocl->n_devices;
    }
    for (uint32_t i = 0; i < ocl->n_devices; i++) {
        const struct ocl_device *d = &ocl->devices[i];
        if (!strcmp(value, d->stable_id) || !fnmatch(value, d->name, 0)) {
            *ordinal = i;
            return true;
        }
    }
    return false;
}

cb_status ocl_device_resolve(const struct ocl_backend *ocl, uint32_t *ordinal, const char *where,
                             cb_error *err)
{
    if (!ocl->n_devices)
        return cbc_invalid(err, where, "there is no device: %s", ocl->no_device);
    if (*ordinal == CB_DEVICE_AUTO && !ocl->wanted[0])
        *ordinal = 0;
    if (*ordinal == CB_DEVICE_AUTO && !ocl_device_named(ocl, ocl->wanted, ordinal))
        return cbc_invalid(err, where, "the option device=%s names none of %u devices", ocl->wanted,
                           (unsigned)ocl->n_devices);
    if (*ordinal >= ocl->n_devices)
        return cbc_invalid(err, where, "ordinal %u is no device; there are %u", (unsigned)*ordinal,
                           (unsigned)ocl->n_devices);
    return CB_OK;
}
