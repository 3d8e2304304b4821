/* SPDX-License-Identifier: Apache-2.0 */
/* The address table of plugins/common. Memory here is never touched: any pointer will do. */
#include "backend.h"
#include "addr_table.h"
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const uint64_t first_address = UINT64_C(1) << 62;

/* What the table gave back. An allocation's owner points to its own count here. */
struct releases {
    atomic_uint total;
    uint64_t bytes; /* of the latest */
    void *memory;
};

static void count_release(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    struct releases *r = ctx;
    atomic_fetch_add(&r->total, 1);
    if (owner)
        atomic_fetch_add((atomic_uint *)owner, 1);
    r->memory = memory;
    r->bytes = bytes;
}

/* For tables that several threads release from. */
static void count_only(void *ctx, void *memory, void *owner, uint64_t bytes)
{
    (void)memory;
    (void)bytes;
    (void)owner;
    atomic_fetch_add(&((struct releases *)ctx)->total, 1);
}

static struct cbc_addr_table *make(struct releases *r)
{
    memset(r, 0, sizeof(*r));
    struct cbc_addr_table *table = cbc_addr_table_create(count_release, r);
    assert_non_null(table);
    return table;
}

static uint64_t insert(struct cbc_addr_table *table, uint64_t bytes, void *memory)
{
    cb_error err = test_error();
    uint64_t address = 0;
    TEST_OK(cbc_addr_table_insert(table, bytes, memory, NULL, &address, "test", &err), &err);
    return address;
}

static struct cbc_operand operand(uint64_t ptr, uint64_t bytes, uint32_t align)
{
    return (struct cbc_operand){ "thing", ptr, bytes, align, false };
}

static cb_status pin(struct cbc_addr_table *table, uint64_t ptr, uint64_t bytes, uint32_t align,
                     struct cbc_pin *out, cb_error *err)
{
    const struct cbc_operand one = operand(ptr, bytes, align);
    return cbc_addr_table_pin(table, &one, 1, out, "test", err);
}

static void addresses_ascend_from_two_to_the_62_with_gaps(void **state)
{
    struct releases r;
    (void)state;
    struct cbc_addr_table *table = make(&r);
    uint64_t end = first_address - 4096;
    for (uint64_t bytes = 1; bytes < 20000; bytes += 1 + bytes / 3) {
        const uint64_t address = insert(table, bytes, &r);
        assert_true(address >= end + 4096 && address % 64 == 0);
        end = address + bytes;
    }
    cbc_addr_table_destroy(table);
}

static void a_pin_finds_the_allocation_of_any_inner_address(void **state)
{
    struct releases r;
    struct cbc_pin found;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    char memory[3][100];
    uint64_t base[3];
    for (int i = 0; i < 3; i++)
        base[i] = insert(table, 100, memory[i]);
    for (int i = 0; i < 3; i++)
        for (uint64_t at = 0; at < 100; at++) {
            TEST_OK(pin(table, base[i] + at, 100 - at, 1, &found, &err), &err);
            assert_ptr_equal(found.memory, memory[i]);
            assert_int_equal(found.offset, at);
            cbc_addr_table_unpin(table, &found, 1);
            TEST_STATUS(pin(table, base[i] + at, 101 - at, 1, &found, &err), CB_INVALID_ARGUMENT,
                        &err);
        }
    cbc_addr_table_destroy(table);
}

static void a_bad_operand_is_refused_by_name_and_value(void **state)
{
    struct releases r;
    struct cbc_pin found;
    (void)state;
    struct cbc_addr_table *table = make(&r);
    const uint64_t base = insert(table, 64, &r);
    const struct cbc_operand bad[] = {
        operand(0, 1, 1),         operand(base - 1, 1, 1),      operand(base + 64, 1, 1),
        operand(base, 65, 1),     operand(base + 2, 8, 4),      operand(base + 4, 8, 8),
        operand(base + 63, 2, 1), operand(base, UINT64_MAX, 1), operand(UINT64_MAX, 1, 1),
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cb_error err = test_error();
        char value[32];
        snprintf(value, sizeof(value), "0x%llx", (unsigned long long)bad[i].ptr);
        TEST_STATUS(cbc_addr_table_pin(table, &bad[i], 1, &found, "where", &err),
                    CB_INVALID_ARGUMENT, &err);
        assert_string_equal(err.where, "where");
        assert_non_null(strstr(err.msg, "thing"));
        assert_non_null(strstr(err.msg, value));
    }
    cbc_addr_table_destroy(table);
}

static void an_operand_without_bytes_is_not_looked_up(void **state)
{
    static const uint64_t pointers[] = { 0, 1, UINT64_C(1) << 62, UINT64_MAX };
    struct releases r;
    struct cbc_pin found;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    for (unsigned i = 0; i < 4; i++) {
        TEST_OK(pin(table, pointers[i], 0, 8, &found, &err), &err);
        assert_true(!found.allocation && !found.memory);
        cbc_addr_table_unpin(table, &found, 1);
    }
    cbc_addr_table_destroy(table);
}

static void when_one_of_several_is_bad_none_is_pinned(void **state)
{
    struct releases r;
    struct cbc_pin pins[3];
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    const uint64_t one = insert(table, 64, &r), two = insert(table, 64, &r);
    const struct cbc_operand operands[] = { operand(one, 64, 4), operand(two, 64, 4),
                                            operand(two, 65, 1) };
    TEST_STATUS(cbc_addr_table_pin(table, operands, 3, pins, "test", &err), CB_INVALID_ARGUMENT,
                &err);
    TEST_OK(cbc_addr_table_remove(table, one, "test", &err), &err);
    TEST_OK(cbc_addr_table_remove(table, two, "test", &err), &err);
    assert_int_equal(r.total, 2); /* at once: nothing holds them */
    cbc_addr_table_destroy(table);
}

static void a_removed_allocation_lives_until_its_last_pin_goes(void **state)
{
    struct releases r;
    struct cbc_pin pins[2], late;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    const uint64_t base = insert(table, 77, &r);
    TEST_OK(pin(table, base, 77, 1, &pins[0], &err), &err);
    TEST_OK(pin(table, base + 70, 7, 1, &pins[1], &err), &err);
    TEST_OK(cbc_addr_table_remove(table, base, "test", &err), &err);
    assert_int_equal(r.total, 0);
    TEST_STATUS(pin(table, base, 1, 1, &late, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(cbc_addr_table_remove(table, base, "test", &err), CB_INVALID_ARGUMENT, &err);
    cbc_addr_table_unpin(table, &pins[0], 1);
    assert_int_equal(r.total, 0);
    cbc_addr_table_unpin(table, &pins[1], 1);
    assert_int_equal(r.total, 1);
    assert_true(r.memory == &r && r.bytes == 77);
    cbc_addr_table_destroy(table);
    assert_int_equal(r.total, 1);
}

static void only_a_live_base_can_be_removed(void **state)
{
    struct releases r;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    TEST_STATUS(cbc_addr_table_remove(table, 0, "test", &err), CB_INVALID_ARGUMENT, &err);
    const uint64_t base = insert(table, 64, &r);
    const uint64_t bad[] = { 0, base - 1, base + 1, base + 63, base + 64, UINT64_MAX };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        TEST_STATUS(cbc_addr_table_remove(table, bad[i], "test", &err), CB_INVALID_ARGUMENT, &err);
    TEST_OK(cbc_addr_table_remove(table, base, "test", &err), &err);
    TEST_STATUS(cbc_addr_table_remove(table, base, "test", &err), CB_INVALID_ARGUMENT, &err);
    assert_int_equal(r.total, 1);
    cbc_addr_table_destroy(table);
}

static void a_mapped_allocation_cannot_be_removed(void **state)
{
    struct releases r;
    struct cbc_pin found, held;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    const uint64_t base = insert(table, 64, &r);
    const struct cbc_operand whole = operand(base, 64, 1), part = operand(base + 60, 4, 1),
                             beyond = operand(base + 60, 5, 1);
    TEST_STATUS(cbc_addr_table_map(table, &beyond, &found, "test", &err), CB_INVALID_ARGUMENT,
                &err);
    TEST_OK(cbc_addr_table_map(table, &whole, &found, "test", &err), &err);
    TEST_OK(cbc_addr_table_map(table, &part, &found, "test", &err), &err);
    assert_true(found.memory == &r && found.offset == 60);
    TEST_OK(pin(table, base, 1, 1, &held, &err), &err);
    for (int maps = 2; maps > 0; maps--) {
        TEST_STATUS(cbc_addr_table_remove(table, base, "test", &err), CB_INVALID_ARGUMENT, &err);
        TEST_OK(cbc_addr_table_unmap(table, &held, "test", &err), &err);
    }
    TEST_STATUS(cbc_addr_table_unmap(table, &held, "test", &err), CB_INVALID_ARGUMENT, &err);
    cbc_addr_table_unpin(table, &held, 1);
    TEST_OK(cbc_addr_table_remove(table, base, "test", &err), &err);
    assert_int_equal(r.total, 1);
    cbc_addr_table_destroy(table);
}

static void destroy_releases_what_is_left_once_each(void **state)
{
    enum {
        COUNT = 200
    };
    static atomic_uint released[COUNT];
    struct releases r;
    uint64_t address[COUNT];
    cb_error err = test_error();
    (void)state;
    memset(released, 0, sizeof(released));
    struct cbc_addr_table *table = make(&r);
    for (int i = 0; i < COUNT; i++)
        TEST_OK(cbc_addr_table_insert(table, 10, NULL, &released[i], &address[i], "test", &err),
                &err);
    for (int i = 0; i < COUNT; i += 3)
        TEST_OK(cbc_addr_table_remove(table, address[i], "test", &err), &err);
    cbc_addr_table_destroy(table);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(released[i], 1);
    cbc_addr_table_destroy(NULL);
}

static void the_address_space_ends_without_wrapping(void **state)
{
    struct releases r;
    uint64_t address = 7, end = 0;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    static const uint64_t huge[] = { UINT64_MAX, UINT64_MAX - 4096, UINT64_C(3) << 62 };
    for (unsigned i = 0; i < 3; i++) {
        TEST_STATUS(cbc_addr_table_insert(table, huge[i], &r, NULL, &address, "test", &err),
                    CB_OUT_OF_MEMORY, &err);
        assert_int_equal(address, 7);
    }
    int n = 0;
    while (cbc_addr_table_insert(table, UINT64_C(1) << 61, &r, NULL, &address, "test", &err) ==
           CB_OK) {
        assert_true(address >= first_address && address > end);
        end = address + (UINT64_C(1) << 61);
        n++;
    }
    assert_true(n >= 4 && n <= 6);
    assert_int_equal(r.total, 0); /* the memory stays the caller's when insert fails */
    insert(table, 64, &r);
    cbc_addr_table_destroy(table);
    assert_int_equal(r.total, n + 1);
}

static void live_counts_what_is_in_the_table(void **state)
{
    struct releases r;
    struct cbc_pin held;
    uint64_t bytes = 7, count = 7;
    cb_error err = test_error();
    (void)state;
    struct cbc_addr_table *table = make(&r);
    cbc_addr_table_live(table, &bytes, &count);
    assert_true(bytes == 0 && count == 0);
    const uint64_t one = insert(table, 100, &r);
    insert(table, 23, &r);
    TEST_OK(pin(table, one, 1, 1, &held, &err), &err);
    TEST_OK(cbc_addr_table_remove(table, one, "test", &err), &err);
    cbc_addr_table_live(table, &bytes, &count);
    assert_true(bytes == 23 && count == 1);
    cbc_addr_table_unpin(table, &held, 1);
    cbc_addr_table_destroy(table);
}

/* ---- against a plain list ---- */

enum {
    LIVE_MAX = 3000
};

struct entry {
    uint64_t base, bytes;
    char *memory;
};

/* The table, and what must be in it, ascending. */
struct model {
    struct cbc_addr_table *table;
    struct releases releases;
    struct entry entries[LIVE_MAX];
    int n;
    uint64_t seed, gone; /* gone: a base that was removed */
    unsigned removed;
};

static uint64_t below(struct model *m, uint64_t bound)
{
    return kit_next(&m->seed) % bound;
}

/* Sizes of every order, so that the addresses lie in no even spacing. */
static void add(struct model *m)
{
    static char memory[LIVE_MAX * 2];
    struct entry *e = &m->entries[m->n++];
    e->bytes = 1 + below(m, UINT64_C(1) << below(m, 34));
    e->memory = &memory[below(m, sizeof(memory))];
    e->base = insert(m->table, e->bytes, e->memory);
}

static void drop(struct model *m, int i)
{
    cb_error err = test_error();
    m->gone = m->entries[i].base;
    TEST_OK(cbc_addr_table_remove(m->table, m->gone, "test", &err), &err);
    memmove(&m->entries[i], &m->entries[i + 1], (size_t)(m->n - i - 1) * sizeof(m->entries[0]));
    m->n--;
    m->removed++;
}

static void look(struct model *m)
{
    struct cbc_pin found;
    cb_error err = test_error();
    if (m->gone)
        TEST_STATUS(pin(m->table, m->gone, 1, 1, &found, &err), CB_INVALID_ARGUMENT, &err);
    if (!m->n)
        return;
    const struct entry *e = &m->entries[below(m, (uint64_t)m->n)];
    const uint64_t at = below(m, e->bytes);
    TEST_OK(pin(m->table, e->base + at, e->bytes - at, 1, &found, &err), &err);
    assert_true(found.memory == e->memory && found.offset == at);
    cbc_addr_table_unpin(m->table, &found, 1);
    TEST_STATUS(pin(m->table, e->base + e->bytes, 1, 1, &found, &err), CB_INVALID_ARGUMENT, &err);
    TEST_STATUS(pin(m->table, e->base - 1, 1, 1, &found, &err), CB_INVALID_ARGUMENT, &err);
}

/* Grows by three in four, then shrinks to nothing: from the old end, the new end, or anywhere. */
static void wave(struct model *m, int way)
{
    uint64_t bytes, count, want = 0;
    while (m->n < LIVE_MAX) {
        if (m->n && below(m, 4) == 0)
            drop(m, (int)below(m, (uint64_t)m->n));
        else
            add(m);
        look(m);
    }
    while (m->n > way) { /* the last wave leaves some to destroy */
        drop(m, way == 0 ? 0 : way == 1 ? m->n - 1 : (int)below(m, (uint64_t)m->n));
        if (below(m, 8) == 0)
            add(m);
        look(m);
    }
    for (int i = 0; i < m->n; i++)
        want += m->entries[i].bytes;
    cbc_addr_table_live(m->table, &bytes, &count);
    assert_true(bytes == want && count == (uint64_t)m->n);
    assert_int_equal(m->releases.total, m->removed);
}

static void a_table_that_grows_and_shrinks_finds_what_is_in_it_and_nothing_else(void **state)
{
    static struct model m;
    (void)state;
    m.table = make(&m.releases);
    m.seed = 1;
    for (int way = 0; way < 3; way++)
        wave(&m, way);
    assert_int_equal(m.n, 2);
    cbc_addr_table_destroy(m.table);
    assert_int_equal(m.releases.total, m.removed + 2);
}

/* ---- threads ---- */

enum {
    THREADS = 4,
    ROUNDS = 3000
};

struct visitor {
    struct cbc_addr_table *table;
    uint64_t shared;
    unsigned wrong;
};

static void *visit(void *arg)
{
    struct visitor *v = arg;
    struct cbc_pin found;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t own;
        v->wrong += pin(v->table, v->shared + 8, 8, 8, &found, NULL) != CB_OK;
        v->wrong += cbc_addr_table_insert(v->table, 32, v, NULL, &own, "test", NULL) != CB_OK;
        cbc_addr_table_unpin(v->table, &found, 1);
        v->wrong += pin(v->table, own, 32, 8, &found, NULL) != CB_OK || found.memory != v;
        v->wrong += cbc_addr_table_remove(v->table, own, "test", NULL) != CB_OK;
        v->wrong += cbc_addr_table_remove(v->table, own, "test", NULL) == CB_OK;
        cbc_addr_table_unpin(v->table, &found, 1);
    }
    return NULL;
}

static void threads_insert_pin_and_remove_at_once(void **state)
{
    struct releases r = { 0 };
    struct visitor visitors[THREADS];
    pthread_t threads[THREADS];
    (void)state;
    struct cbc_addr_table *table = cbc_addr_table_create(count_only, &r);
    assert_non_null(table);
    const uint64_t shared = insert(table, 64, &r);
    for (int i = 0; i < THREADS; i++) {
        visitors[i] = (struct visitor){ table, shared, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(visitors[i].wrong, 0);
    assert_int_equal(r.total, THREADS * ROUNDS);
    cbc_addr_table_destroy(table);
    assert_int_equal(r.total, THREADS * ROUNDS + 1);
}

enum {
    PINNERS = 8
};

struct pinner {
    pthread_barrier_t *all;
    struct cbc_addr_table *table;
    struct cbc_operand operands[3];
    struct cbc_pin pins[3];
    cb_status status;
};

static void *take_pins(void *arg)
{
    struct pinner *p = arg;
    pthread_barrier_wait(p->all); /* side by side, so that they take different locks */
    p->status = cbc_addr_table_pin(p->table, p->operands, 3, p->pins, "test", NULL);
    return NULL;
}

static void pins_of_several_threads_may_be_let_go_by_another(void **state)
{
    struct releases r;
    struct pinner pinners[PINNERS];
    pthread_t threads[PINNERS];
    pthread_barrier_t all;
    cb_error err = test_error();
    (void)state;
    assert_int_equal(pthread_barrier_init(&all, NULL, PINNERS), 0);
    struct cbc_addr_table *table = make(&r);
    const uint64_t base = insert(table, 64, &r), other = insert(table, 64, &r);
    for (int i = 0; i < PINNERS; i++) {
        pinners[i] = (struct pinner){ .all = &all,
                                      .table = table,
                                      .operands = { operand(base, 64, 4), operand(other, 4, 4),
                                                    operand(base + 8, 8, 8) } };
        assert_int_equal(pthread_create(&threads[i], NULL, take_pins, &pinners[i]), 0);
    }
    for (int i = 0; i < PINNERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&all);
    for (int i = 0; i < PINNERS; i++) {
        assert_int_equal(pinners[i].status, CB_OK);
        if (i == PINNERS / 2)
            TEST_OK(cbc_addr_table_remove(table, base, "test", &err), &err);
        assert_int_equal(r.total, 0);
        cbc_addr_table_unpin(table, pinners[i].pins, 3);
    }
    assert_int_equal(r.total, 1);
    TEST_OK(cbc_addr_table_remove(table, other, "test", &err), &err);
    assert_int_equal(r.total, 2);
    cbc_addr_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_ascend_from_two_to_the_62_with_gaps),
        cmocka_unit_test(a_pin_finds_the_allocation_of_any_inner_address),
        cmocka_unit_test(a_bad_operand_is_refused_by_name_and_value),
        cmocka_unit_test(an_operand_without_bytes_is_not_looked_up),
        cmocka_unit_test(when_one_of_several_is_bad_none_is_pinned),
        cmocka_unit_test(a_removed_allocation_lives_until_its_last_pin_goes),
        cmocka_unit_test(only_a_live_base_can_be_removed),
        cmocka_unit_test(a_mapped_allocation_cannot_be_removed),
        cmocka_unit_test(destroy_releases_what_is_left_once_each),
        cmocka_unit_test(the_address_space_ends_without_wrapping),
        cmocka_unit_test(live_counts_what_is_in_the_table),
        cmocka_unit_test(a_table_that_grows_and_shrinks_finds_what_is_in_it_and_nothing_else),
        cmocka_unit_test(threads_insert_pin_and_remove_at_once),
        cmocka_unit_test(pins_of_several_threads_may_be_let_go_by_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
