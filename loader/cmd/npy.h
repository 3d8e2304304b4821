/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy format, versions 1.0 and 2.0, between bytes and a description. No files, no memory
 * of its own, no state. */
#ifndef NPY_H
#define NPY_H

#include <stdbool.h>
#include <stdint.h>

#define NPY_RANK_MAX       64
#define NPY_WHY_SIZE       160
#define NPY_HEADER_MAX     2048  /* what npy_header may write */
#define NPY_DICTIONARY_MAX 65535 /* the longest header that is read */

enum npy_type {
    NPY_F16,
    NPY_F32,
    NPY_F64,
    NPY_I64,
    NPY_U64,
};
#define NPY_TYPE_COUNT 5

struct npy {
    uint32_t type; /* enum npy_type, in the byte order of this machine */
    uint32_t rank; /* 0: a single element */
    bool fortran;  /* the first axis is the fastest, else the last is */
    uint64_t shape[NPY_RANK_MAX];
    uint64_t offset; /* of the first element in the file */
    uint64_t bytes;  /* of all elements; 0 when an extent is 0 */
};

/* Bytes of an element, and the type as people say it: "f16". */
uint32_t npy_item_size(uint32_t type);
const char *npy_type_name(uint32_t type);

/**
 * npy_measure - sets a->bytes from type, rank and shape.
 *
 * False: the size overflows, an extent of 0 counting as 1; *a is untouched.
 */
bool npy_measure(struct npy *a);

/**
 * npy_parse - reads the description at the start of a whole file.
 *
 * @bytes, @size: the file. Its length must be that of header and elements, to the byte.
 * @out:          receives the description; untouched on false.
 * @why:          receives the reason on false: printable, terminated, without the file's name.
 */
bool npy_parse(const uint8_t *bytes, uint64_t size, struct npy *out, char why[NPY_WHY_SIZE]);

/**
 * npy_header - writes what stands before the elements, as version 1.0.
 *
 * Returns its length, a multiple of 64. a->offset and a->bytes are not looked at.
 */
uint64_t npy_header(const struct npy *a, char out[NPY_HEADER_MAX]);

#endif
