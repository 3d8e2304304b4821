/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include "sha256.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

bool cbl_is_sha256(struct slice value)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    if (value.size != 2 * CBL_SHA256_SIZE)
        return false;
    for (uint64_t i = 0; i < value.size; i++)
        if (!memchr(digits, value.at[i], sizeof(digits) - 1))
            return false;
    return true;
}

static bool hash_file(int fd, uint8_t digest[CBL_SHA256_SIZE], struct verdict *v)
{
    struct cbl_sha256 s;
    char bytes[16 * 1024];
    uint64_t at = 0;
    cbl_sha256_begin(&s);
    for (;;) {
        const ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cbl_blame(v, CB_STATE_SKIPPED, "cannot be read: %s", strerror(errno));
        if (n == 0)
            break;
        cbl_sha256_add(&s, bytes, (uint64_t)n);
        at += (uint64_t)n;
    }
    cbl_sha256_end(&s, digest);
    return true;
}

bool cbl_pin_check(const struct cb_loader *l, const char *id, int fd, struct verdict *v)
{
    const struct setting *pin = cbl_setting(&l->settings, id, CBL_PIN_KEY);
    uint8_t digest[CBL_SHA256_SIZE];
    char text[2 * CBL_SHA256_SIZE + 1];
    if (!pin)
        return true;
    if (!hash_file(fd, digest, v))
        return false;
    cbl_hex(text, digest, sizeof(digest));
    return !strcasecmp(text, pin->value) ||
           cbl_blame(v, CB_STATE_REFUSED, "%s pins another file: this one has sha256 %s",
                     pin->origin, text);
}
