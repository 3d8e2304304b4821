/* SPDX-License-Identifier: Apache-2.0 */
/* The one device: the processor that the host runs on. */
#include "cpu.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

cb_status cpu_check_ordinal(uint32_t ordinal, const char *where, cb_error *err)
{
    if (ordinal != 0 && ordinal != CB_DEVICE_AUTO)
        return cbc_invalid(err, where, "ordinal %u is no device; there is only 0",
                           (unsigned)ordinal);
    return CB_OK;
}

cb_status cpu_device_count(void *self, uint32_t *count, cb_error *err)
{
    (void)self;
    if (!count)
        return cbc_invalid(err, "device_count", "count is NULL");
    *count = 1;
    return CB_OK;
}

/* The model name as the kernel gives it, else "CPU". */
void cpu_device_name(char *name, uint64_t size)
{
    char line[256];
    snprintf(name, size, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return;
    while (fgets(line, sizeof(line), f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        if (*value)
            snprintf(name, size, "%s", value);
        break;
    }
    fclose(f);
}

cb_status cpu_device_info(void *self, uint32_t ordinal, cb_device_info *out, cb_error *err)
{
    const struct cpu_backend *cpu = self;
    cb_device_info info = { CB_ARGS(cb_device_info), .memory_kind = CB_MEMORY_HOST,
                            .total_memory = cpu->memory_limit, .id = "cpu" };
    if (ordinal != 0)
        return cbc_invalid(err, "device_info", "ordinal %u is no device; there is only 0",
                           (unsigned)ordinal);
    cpu_device_name(info.name, sizeof(info.name));
    return cb_result_write(out, &info, sizeof(info), CB_DEVICE_INFO_1_0, "device_info", err);
}

cb_status cpu_capabilities(void *self, uint32_t ordinal, cb_capabilities *out, cb_error *err)
{
    static const cb_capabilities capabilities = {
        CB_ARGS(cb_capabilities),
        .features =
            CB_FEATURE_FP16 | CB_FEATURE_BF16 | CB_FEATURE_UNIFIED_MEMORY | CB_FEATURE_ASYNC_COPY,
        .warp_size = 1,
        .max_threads_per_block = 1,
    };
    (void)self;
    cb_status st = cpu_check_ordinal(ordinal, "capabilities", err);
    return st != CB_OK ? st
                       : cb_result_write(out, &capabilities, sizeof(capabilities),
                                         CB_CAPABILITIES_1_0, "capabilities", err);
}

/* ---- info: a writer per key ---- */

/* What init settled; before it, what init would settle now. */
static unsigned threads_of(const struct cpu_backend *cpu)
{
    if (!cpu->kernels.threaded)
        return 1;
    if (atomic_load(&cpu->initialized))
        return cpu_team_size(cpu->team);
    return cpu->threads ? cpu->threads : cpu_threads_available();
}

static void info_initialized(const struct cpu_backend *cpu, char *text, size_t size)
{
    snprintf(text, size, "%d", atomic_load(&cpu->initialized) ? 1 : 0);
}

static void info_summary(const struct cpu_backend *cpu, char *text, size_t size)
{
    snprintf(text, size, "CPU backend " CPU_VERSION ", %s kernels, threads: %u", cpu->kernels.name,
             threads_of(cpu));
}

static void info_kernels(const struct cpu_backend *cpu, char *text, size_t size)
{
    snprintf(text, size, "%s", cpu->kernels.name);
}

static void info_faster_kernels(const struct cpu_backend *cpu, char *text, size_t size)
{
    const struct cpu_kernels *kernels = &cpu->kernels;
    if (kernels->above)
        snprintf(text, size, "%s: %s", kernels->above, kernels->above_why);
    else
        snprintf(text, size, "none");
}

static void info_threads(const struct cpu_backend *cpu, char *text, size_t size)
{
    snprintf(text, size, "%u", threads_of(cpu));
}

static void info_isa(const struct cpu_backend *cpu, char *text, size_t size)
{
    (void)cpu;
    snprintf(text, size, "%s", CB_MANIFEST_ISA);
}

static void info_device(const struct cpu_backend *cpu, char *text, size_t size)
{
    (void)cpu;
    cpu_device_name(text, size);
}

static const struct {
    const char *key;
    void (*write)(const struct cpu_backend *cpu, char *text, size_t size);
} facts[] = {
    { "initialized", info_initialized }, { "summary", info_summary },
    { "kernels", info_kernels },         { "faster_kernels", info_faster_kernels },
    { "threads", info_threads },         { "isa", info_isa },
    { "device", info_device },
};

static bool write_fact(const struct cpu_backend *cpu, const char *key, char *text, size_t size)
{
    text[0] = 0;
    if (!strcmp(key, "keys")) {
        for (size_t i = 0; i < COUNT_OF(facts); i++) {
            cb_text_append(text, size, i ? "\n" : "");
            cb_text_append(text, size, facts[i].key);
        }
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (!strcmp(key, facts[i].key)) {
            facts[i].write(cpu, text, size);
            return true;
        }
    return false;
}

cb_status cpu_info(void *self, const char *key, char *buffer, uint64_t *length, cb_error *err)
{
    char text[512];
    const cb_status st = cbc_check_info(key, length, err);
    if (st != CB_OK)
        return st;
    const bool known = write_fact(self, key, text, sizeof(text));
    return cbc_info_write(key, known ? text : NULL, buffer, length, err);
}
