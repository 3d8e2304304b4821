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

#define CBL_BUILD_ID_MAX 64

/* The text of the one manifest note, unchecked, and the bytes of the build id, if there is one. */
struct cbl_note {
    char text[CB_MANIFEST_MAX];
    uint64_t size;
    unsigned char build_id[CBL_BUILD_ID_MAX];
    uint64_t build_id_size;
};

/* Reads the headers of an open, regular file of the given size. false: the verdict says why. */
bool cbl_elf_read(int fd, uint64_t size, struct cbl_note *out, struct verdict *v);

/* A segment of notes, wherever its bytes were read from. */
struct cbl_notes {
    const char *bytes;
    uint64_t size, alignment;
    uint64_t at; /* where they are in the file or in memory: what tells two segments apart */
};

/* Looks for our notes in one segment. *found is 0 before the first and becomes where the manifest
 * is: the same bytes seen through a second segment are not a second manifest. */
bool cbl_notes_scan(const struct cbl_notes *n, uint64_t *found, struct cbl_note *out,
                    struct verdict *v);

#define CBL_PRIORITY_MAX 1000

/* The facts of a manifest; the slices point into its text. */
struct manifest {
    struct slice id, version, device_class, isa;
    int32_t priority;
};

/* Reads a manifest's text. On false the facts that were understood are there all the same. */
bool cbl_manifest_read(struct slice text, struct manifest *out, struct verdict *v);

/* What this machine can run, to be handed to the two below. */
uint64_t cbl_isa_of_machine(void);

/* Refuses a manifest's instruction set that this machine does not have whole. */
bool cbl_isa_check(uint64_t have, struct slice isa, struct verdict *v);

/* Adds it in the manifest's spelling. */
void cbl_isa_add(struct text *t, uint64_t have);

/* Refuses another ABI, naming both. */
bool cbl_abi_check(uint64_t major, uint64_t minor, uint64_t draft, const char *who,
                   struct verdict *v);

#endif
