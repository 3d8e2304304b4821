/* SPDX-License-Identifier: Apache-2.0 */
/* The handles of plugins/common. */
#include "backend.h"
#include "handles.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MANY = 1000
};

static void *add(struct cbc_handles *handles, void *object)
{
    void *handle = cbc_handles_add(handles, object);
    assert_non_null(handle);
    return handle;
}

static void a_handle_finds_its_object_until_it_is_removed(void **state)
{
    struct cbc_handles handles = { 0 };
    static int objects[MANY];
    void *all[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++)
        all[i] = add(&handles, &objects[i]);
    for (int i = 0; i < MANY; i += 3)
        assert_ptr_equal(cbc_handles_remove(&handles, all[i]), &objects[i]);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(cbc_handles_find(&handles, all[i]), i % 3 ? &objects[i] : NULL);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(cbc_handles_remove(&handles, all[i]), i % 3 ? &objects[i] : NULL);
    assert_int_equal(handles.n, 0);
    cbc_handles_free(&handles);
}

static void the_list_is_in_the_order_of_adding(void **state)
{
    struct cbc_handles handles = { 0 };
    static int objects[MANY];
    void *all[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++)
        all[i] = add(&handles, &objects[i]);
    for (int i = 0; i < MANY; i += 2)
        cbc_handles_remove(&handles, all[i]);
    assert_int_equal(handles.n, MANY / 2);
    for (uint64_t i = 0; i < handles.n; i++)
        assert_ptr_equal(handles.list[i].object, &objects[2 * i + 1]);
    cbc_handles_free(&handles);
}

static void a_handle_is_never_handed_out_twice(void **state)
{
    struct cbc_handles handles = { 0 };
    int object;
    uint64_t last = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        void *handle = add(&handles, &object);
        assert_true((uintptr_t)handle > last);
        last = (uintptr_t)handle;
        cbc_handles_remove(&handles, handle);
        assert_null(cbc_handles_find(&handles, handle));
    }
    cbc_handles_free(&handles);
}

static void another_list_does_not_know_a_handle(void **state)
{
    struct cbc_handles one = { 0 }, two = { 0 };
    int object;
    (void)state;
    void *mine = add(&one, &object), *theirs = add(&two, &object);
    assert_null(cbc_handles_find(&two, mine));
    assert_null(cbc_handles_find(&one, theirs));
    assert_null(cbc_handles_remove(&two, mine));
    assert_null(cbc_handles_find(&one, NULL));
    assert_null(cbc_handles_find(&one, (void *)UINTPTR_MAX));
    assert_null(cbc_handles_find(&one, (char *)mine + 1));
    cbc_handles_free(&one);
    cbc_handles_free(&two);
}

static bool is_mapped(uintptr_t address)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        char *rest;
        const uintptr_t begin = strtoull(line, &rest, 16);
        found = found || (address >= begin && address < strtoull(rest + 1, NULL, 16));
    }
    fclose(maps);
    return found;
}

/* No pointer that a program has can be mistaken for one, nor a device address. */
static void a_handle_is_no_address_of_the_process(void **state)
{
    struct cbc_handles handles = { 0 };
    int object;
    (void)state;
    void *handle = add(&handles, &object);
    assert_true((uintptr_t)handle >= UINT64_C(1) << 61 && (uintptr_t)handle < UINT64_C(1) << 62);
    assert_true(is_mapped((uintptr_t)&object));
    assert_false(is_mapped((uintptr_t)handle));
    cbc_handles_free(&handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_finds_its_object_until_it_is_removed),
        cmocka_unit_test(the_list_is_in_the_order_of_adding),
        cmocka_unit_test(a_handle_is_never_handed_out_twice),
        cmocka_unit_test(another_list_does_not_know_a_handle),
        cmocka_unit_test(a_handle_is_no_address_of_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
