/* SPDX-License-Identifier: Apache-2.0 */
/* Field report P11: a sandbox that refuses the permission to use tiles. The whole process is one:
 * the filter is in place before the plugin is loaded. */
#include "judge.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__linux__) && defined(__x86_64__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    GET_XCOMP_PERM = 0x1022,
    REQ_XCOMP_PERM = 0x1023,
    TILE_DATA = 18
};

/* Whether arch_prctl now answers EPERM to both. */
static bool refuse_tiles(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GET_XCOMP_PERM, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REQ_XCOMP_PERM, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
    errno = 0;
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) &&
           syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == -1 && errno == EPERM;
}

#else

static bool refuse_tiles(void)
{
    return false;
}

#endif

static bool refused;

static void fact(cb_backend be, const char *key, char *text, uint64_t size)
{
    cb_error err = test_error();
    TEST_OK(be.api->info(be.self, key, text, &size, &err), &err);
}

static void p11_where_tiles_are_refused_the_rung_below_is_taken_and_info_says_why(void **state)
{
    char kernels[64], faster[256];
    const cb_backend be = TEST_BE(state);
    fact(be, "kernels", kernels, sizeof(kernels));
    fact(be, "faster_kernels", faster, sizeof(faster));
    if (!refused)
        test_skip("p11", "this system takes no seccomp filter");
    assert_string_not_equal(kernels, "amx");
    if (!strstr(faster, "refuses"))
        test_skip("p11", faster);
    assert_string_equal(kernels, "avx512");
    assert_string_equal(faster,
                        "amx: the system refuses tiles: arch_prctl: Operation not permitted");
}

static void p11_bf16_is_right_where_tiles_are_refused(void **state)
{
    static const uint64_t shapes[][3] = { { 1, 1, 1 }, { 33, 65, 100 }, { 130, 70, 257 } };
    for (unsigned s = 0; s < 3; s++)
        for (uint32_t t = 0; t < 4; t++) {
            const struct gemm_case g = {
                CB_BF16, t & 1, t >> 1, shapes[s][0], shapes[s][1], shapes[s][2], 1, 0.5, 3, 5
            };
            check_gemm(TEST_BE(state), &g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            p11_where_tiles_are_refused_the_rung_below_is_taken_and_info_says_why,
            test_setup_backend, test_teardown_backend),
        cmocka_unit_test_setup_teardown(p11_bf16_is_right_where_tiles_are_refused,
                                        test_setup_backend, test_teardown_backend),
    };
    refused = refuse_tiles();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
