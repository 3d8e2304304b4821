/* SPDX-License-Identifier: Apache-2.0 */
/* The loader and a device that is the processor itself: the CPU backend is faster there, and is
 * what a program gets unless somebody names this one. CB_PLUGINS offers both. */
#include "backend.h"
#include "cb_loader.h"

#include <string.h>

/* The name of what is selected for an id, or for none. */
static void selects(const char *id, const char *want)
{
    cb_error err = test_error();
    cb_loader *loader = NULL;
    cb_backend be;
    cb_request request;
    cb_request_init(&request);
    request.id = id;
    TEST_OK(cb_loader_open(NULL, &loader, &err), &err);
    TEST_OK(cb_loader_select(loader, &request, &be, &err), &err);
    assert_string_equal(be.api->name, want);
    const uint64_t x = test_upload(be, want, 3);
    test_release(be, x);
    TEST_OK(cb_loader_release(loader, be, &err), &err);
    TEST_OK(cb_loader_close(loader, &err), &err);
}

static void who_names_nobody_gets_the_cpu_backend(void **state)
{
    (void)state;
    selects(NULL, "cpu");
}

static void who_names_it_gets_it(void **state)
{
    (void)state;
    selects("opencl", "opencl");
}

/* Drivers stay, their threads too; what comes and goes is the plugin. */
static void it_can_be_opened_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        selects("opencl", "opencl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_names_nobody_gets_the_cpu_backend),
        cmocka_unit_test(who_names_it_gets_it),
        cmocka_unit_test(it_can_be_opened_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
