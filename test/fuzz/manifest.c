/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a manifest. */
#include "fuzz.h"

#include "manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct verdict v = { 0 };
    struct manifest m;
    if (cbl_manifest_read((struct slice){ (const char *)bytes, size }, &m, &v))
        cbl_isa_check(0, m.isa, &v);
    cbl_text_free(&v.reason);
    return 0;
}
