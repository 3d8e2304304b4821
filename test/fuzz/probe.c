/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe answers. */
#include "fuzz.h"

#include "probe_message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct slice message = { (const char *)bytes, size };
    struct slice reason = { NULL, 0 };
    uint32_t state;
    if (!cbl_probe_message_read(message, &state, &reason))
        return 0;
    if (reason.at < message.at || reason.at + reason.size > message.at + message.size ||
        memchr(reason.at, 0, reason.size))
        abort();
    return 0;
}
