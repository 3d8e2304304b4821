/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and memset: bytes, in buffers of device memory and plain pointers to host memory. */
#include "check.h"
#include "error.h"

static cb_status check_copy(struct cbc_copy *out, uint32_t flags, uint32_t reserved,
                            const char *where, cb_error *err)
{
    cb_status st = cbc_check_flags(flags, CB_COPY_ASYNC, where, err);
    out->async = flags & CB_COPY_ASYNC;
    return st == CB_OK ? cbc_check_reserved(reserved, where, err) : st;
}

cb_status cbc_check_copy_htod(const cb_copy_htod_args *args, struct cbc_copy *out, cb_error *err)
{
    static const char where[] = "copy_htod";
    cb_copy_htod_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_COPY_ARGS_1_0, args, where, err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_copy){ .from = l.src,
                              .bytes = l.bytes,
                              .stream = l.stream,
                              .operands = { { "dst", l.dst, l.bytes, 1, true } } };
    st = check_copy(out, l.flags, l.reserved, where, err);
    if (st == CB_OK && l.bytes && !l.src)
        st = cbc_invalid(err, where, "src is NULL with %llu bytes", (unsigned long long)l.bytes);
    return st;
}

cb_status cbc_check_copy_dtoh(const cb_copy_dtoh_args *args, struct cbc_copy *out, cb_error *err)
{
    static const char where[] = "copy_dtoh";
    cb_copy_dtoh_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_COPY_ARGS_1_0, args, where, err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_copy){ .to = l.dst,
                              .bytes = l.bytes,
                              .stream = l.stream,
                              .operands = { { "src", l.src, l.bytes, 1, false } } };
    st = check_copy(out, l.flags, l.reserved, where, err);
    if (st == CB_OK && l.bytes && !l.dst)
        st = cbc_invalid(err, where, "dst is NULL with %llu bytes", (unsigned long long)l.bytes);
    return st;
}

cb_status cbc_check_copy_dtod(const cb_copy_dtod_args *args, struct cbc_copy *out, cb_error *err)
{
    static const char where[] = "copy_dtod";
    cb_copy_dtod_args l;
    cb_status st = cb_args_read(&l, sizeof(l), CB_COPY_ARGS_1_0, args, where, err);
    if (st != CB_OK)
        return st;
    *out = (struct cbc_copy){ .bytes = l.bytes,
                              .stream = l.stream,
                              .operands = { { "dst", l.dst, l.bytes, 1, true },
                                            { "src", l.src, l.bytes, 1, false } } };
    return check_copy(out, l.flags, l.reserved, where, err);
}

cb_status cbc_check_memset(uint64_t dst, uint32_t value, uint64_t bytes, cb_stream *stream,
                           struct cbc_copy *out, cb_error *err)
{
    if (value > 255)
        return cbc_invalid(err, "memset", "value %u is not in 0..255", (unsigned)value);
    *out = (struct cbc_copy){ .bytes = bytes,
                              .stream = stream,
                              .operands = { { "dst", dst, bytes, 1, true } } };
    return CB_OK;
}
