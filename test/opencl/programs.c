/* SPDX-License-Identifier: Apache-2.0 */
/* Writes every program that the ops build, with its options, into the folder that is the argument:
 * for compilers that are no driver's, see lint.sh. */
#include "backend.h"
#include "driver.h"
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>

static void every_op_of_every_type_builds_its_programs(void **state)
{
    cb_error err = test_error();
    struct kit_call call;
    struct kit_data data;
    unsigned char result[KIT_BYTES_MAX];
    (void)state;
    const cb_backend be = test_open((const char *const[]){ "warmup=all", NULL });
    for (unsigned i = 0; kit_call(i, &call); i++) {
        kit_data_random(&call, &data, 1, i);
        TEST_OK(kit_run_apart(be, &call, &data, result, &err), &err);
    }
    print_message("# %lu programs\n", (unsigned long)driver_calls("clBuildProgram"));
    assert_true(driver_calls("clBuildProgram") > 8);
    test_close(be);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_of_every_type_builds_its_programs),
    };
    if (argc > 1)
        driver_dump(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
