/* SPDX-License-Identifier: Apache-2.0 */
/* Row L15 of field_reports.md: plugins do not see each other's symbols, nor the host's. */
#include "place.h"

/* Exported by this program (meson: export_dynamic), as a host's own might be by accident. */
__attribute__((visibility("default"))) int helper(void);
int helper(void)
{
    return 1000;
}

static void l15_plugins_that_export_one_name_each_see_their_own(void **state)
{
    (void)state;
    plant("helper_1");
    plant("helper_2");
    cb_loader *loader = open_loader();
    const cb_backend one = select_id(loader, "helper_1");
    const cb_backend two = select_id(loader, "helper_2");
    assert_string_equal(fact(one, "helper"), "1");
    assert_string_equal(fact(two, "helper"), "2");
    assert_int_equal(helper(), 1000);
    release(loader, one);
    release(loader, two);
    close_loader(loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(l15_plugins_that_export_one_name_each_see_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
