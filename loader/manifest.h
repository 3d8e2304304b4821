/* SPDX-License-Identifier: Apache-2.0 */
/* What a file says of itself: the ELF header, and the manifest note. Nothing is executed. */
#ifndef CBL_MANIFEST_H
#define CBL_MANIFEST_H

#include "compute_backend_plugin.h"
#include "text.h"

/* How a step on a plugin's way ended, when it did not end well. */
struct verdict {
    uint32_t state; /* cb_state */
    struct text reason;
    bool no_memory; /* it was this process that failed */
};

/* Fills the verdict; always false, for `return cbl_blame(...)`. */
__attribute__((format(printf, 3, 4))) bool cbl_blame(struct verdict *v, uint32_t state,
                                                     const char *format, ...);

bool cbl_no_memory(struct verdict *v);

/* The text of the one manifest note, unchecked. */
struct cbl_note {
    char text[CB_MANIFEST_MAX];
    uint64_t size;
};

/* Reads the headers of an open, regular file of the given size. false: the verdict says why. */
bool cbl_elf_read(int fd, uint64_t size, struct cbl_note *out, struct verdict *v);

#define CBL_PRIORITY_MAX 1000

/* The facts of a manifest; the slices point into its text. */
struct manifest {
    struct slice id, version, device_class, isa;
    int32_t priority;
};

/* Reads a manifest's text. On false the facts that were understood are there all the same. */
bool cbl_manifest_read(struct slice text, struct manifest *out, struct verdict *v);

/* Refuses another ABI, naming both. */
bool cbl_abi_check(uint64_t major, uint64_t minor, uint64_t draft, const char *who,
                   struct verdict *v);

#endif
