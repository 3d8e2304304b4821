/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, messages, the answers of supports, and what a call or an instance leaves behind in the
 * process. */
#include "faults.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- statuses and messages ---- */

cb_status chaos_status_wrong(const char *where, cb_status status, cb_error *err)
{
    return status != CB_INVALID_ARGUMENT
               ? status
               : cb_error_set(err, CB_DEVICE_ERROR, where, "args were refused by the driver");
}

cb_status chaos_error_ignored(const char *where, cb_status status, cb_error *err)
{
    (void)where;
    (void)err;
    return status == CB_INVALID_ARGUMENT ? CB_OK : status;
}

cb_status chaos_message_empty(const char *where, cb_status status, cb_error *err)
{
    (void)where;
    if (err && status != CB_OK)
        err->msg[0] = err->where[0] = 0;
    return status;
}

cb_status chaos_message_vague(const char *where, cb_status status, cb_error *err)
{
    return status == CB_OK ? status : cb_error_set(err, status, where, "something is wrong");
}

cb_status chaos_err_touched(const char *where, cb_status status, cb_error *err)
{
    return status == CB_OK ? cb_error_set(err, CB_OK, where, "went well") : status;
}

/* ---- supports ---- */

static void answer(cb_support *out, uint32_t answer, const char *reason)
{
    out->answer = answer;
    snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

void chaos_denied(cb_support *out)
{
    answer(out, CB_SUPPORT_NO, "not today");
}

void chaos_promised(cb_support *out)
{
    answer(out, CB_SUPPORT_YES, "");
}

void chaos_reasonless(cb_support *out)
{
    answer(out, out->answer, "");
}

/* ---- the state of the host ---- */

void chaos_rounding_left(void)
{
    fesetround(FE_DOWNWARD);
}

#if defined(__x86_64__)
#define FLUSH_BITS 0x8040u /* flush to zero, denormals are zero */

void chaos_flush_left(void)
{
    _mm_setcsr(_mm_getcsr() | FLUSH_BITS);
}
#endif

void chaos_locale_left(void)
{
    setlocale(LC_ALL, "C.UTF-8");
}

void chaos_signals_left(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void chaos_umask_left(void)
{
    umask(077);
}

/* Sleeps in the C library, never to return into a plugin that may be unloaded by then. */
static void *sleep_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

void chaos_keep(const struct chaos *chaos)
{
    sigset_t all, before;
    pthread_t thread;
    if (chaos_has(chaos, CHAOS_DESCRIPTOR_KEPT) && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        return;
    if (!chaos_has(chaos, CHAOS_THREAD_KEPT))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, sleep_for_ever, NULL))
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
