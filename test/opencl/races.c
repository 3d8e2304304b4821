/* SPDX-License-Identifier: Apache-2.0 */
/* Every op on oclgrind, an interpreter that sees each access of a kernel: neither a race nor an
 * access out of bounds, and the results are those of the CPU backend. OCLGRIND_LOG is the file of
 * its findings. It computes in the host's arithmetic, and does not say that it rounds divisions
 * correctly, so the driver says it. */
#include "backend.h"
#include "driver.h"
#include "kit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FP_CORRECT_DIVIDE (1u << 7)

static cb_backend judge;

static int open_judge(void **state)
{
    cb_negotiation n;
    cb_create_args args;
    cb_plugin_entry_fn entry;
    (void)state;
    cb_negotiation_init(&n);
    cb_create_args_init(&args);
    void *dl = dlopen(TEST_CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!dl)
        return -1;
    *(void **)&entry = dlsym(dl, CB_PLUGIN_SYMBOL);
    if (!entry || entry(&n) != CB_OK)
        return -1;
    judge.api = n.table;
    return judge.api->create(&args, &judge.self, NULL) != CB_OK ||
           judge.api->init(judge.self, CB_DEVICE_AUTO, NULL) != CB_OK;
}

static int close_judge(void **state)
{
    (void)state;
    judge.api->destroy(judge.self);
    return 0;
}

/* What oclgrind has found, or "". */
static const char *findings(void)
{
    static char text[4096];
    const char *path = getenv("OCLGRIND_LOG");
    assert_non_null(path);
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static void compare(const struct kit_call *call, const void *got, const void *want)
{
    const struct kit_operand *out = &call->operands[call->out];
    for (uint64_t i = 0; i < out->count; i++) {
        const double a = kit_get(out->dtype, got, i), b = kit_get(out->dtype, want, i);
        const double bound = 64 * kit_ulp(out->dtype, fabs(b) + 1);
        if (!(fabs(a - b) <= bound) && !(isnan(a) && isnan(b)))
            fail_msg("%s: element %lu is %a, and the CPU backend's %a", call->name,
                     (unsigned long)i, a, b);
    }
}

static void every_call_races_nowhere_and_stays_in_its_buffers(void **state)
{
    const cb_backend be = TEST_BE(state);
    cb_error err = test_error();
    struct kit_call call;
    struct kit_data data;
    unsigned char got[KIT_BYTES_MAX], want[KIT_BYTES_MAX];
    for (unsigned i = 0; kit_call(i, &call); i++) {
        kit_data_random(&call, &data, 1, i);
        TEST_OK(kit_run_apart(judge, &call, &data, want, &err), &err);
        TEST_OK(kit_run_apart(be, &call, &data, got, &err), &err);
        if (*findings())
            fail_msg("%s: %s", call.name, findings());
        compare(&call, got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_races_nowhere_and_stays_in_its_buffers,
                                        test_setup_backend, test_teardown_backend),
    };
    const char *log = getenv("OCLGRIND_LOG");
    if (log)
        remove(log);
    driver_claim(FP_CORRECT_DIVIDE);
    return cmocka_run_group_tests(tests, open_judge, close_judge);
}
