/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "error.h"

static const char where[] = "attention";

static cb_status check_size(const char *name, uint64_t batch, uint64_t heads, uint64_t seq,
                            uint64_t head_dim, uint64_t *bytes, cb_error *err)
{
    uint64_t product = sizeof(float);
    if (!cbc_mul(&product, batch) || !cbc_mul(&product, heads) || !cbc_mul(&product, seq) ||
        !cbc_mul(&product, head_dim))
        return cbc_invalid(err, where,
                           "%s of batch %llu, heads %llu, length %llu, head_dim %llu "
                           "overflows",
                           name, (unsigned long long)batch, (unsigned long long)heads,
                           (unsigned long long)seq, (unsigned long long)head_dim);
    *bytes = product;
    return CB_OK;
}

cb_status cbc_check_attention(const cb_attention_args *args, struct cbc_attention *out,
                              cb_error *err)
{
    cb_attention_args l;
    uint64_t bytes_q = 0, bytes_kv = 0;
    cb_status st = cb_args_read(&l, sizeof(l), CB_ATTENTION_ARGS_1_0, args, where, err);
    if (st == CB_OK)
        st = cbc_check_dtype(&l.dtype, CB_F32, 1u << CB_F32, where, err);
    if (st == CB_OK)
        st = cbc_check_flags(l.flags, CB_ATTENTION_CAUSAL, where, err);
    if (st != CB_OK)
        return st;

    const uint64_t kv_heads = l.kv_heads ? l.kv_heads : l.heads;
    if (kv_heads && l.heads % kv_heads)
        return cbc_invalid(err, where, "kv_heads %llu does not divide heads %llu",
                           (unsigned long long)kv_heads, (unsigned long long)l.heads);
    st = check_size("q", l.batch, l.heads, l.seq_q, l.head_dim, &bytes_q, err);
    if (st == CB_OK)
        st = check_size("k", l.batch, kv_heads, l.seq_kv, l.head_dim, &bytes_kv, err);
    if (st != CB_OK)
        return st;

    const bool work = l.batch && l.heads && l.seq_q && l.head_dim, keys = work && l.seq_kv;
    *out = (struct cbc_attention){
        .batch = l.batch,
        .heads = l.heads,
        .kv_heads = kv_heads,
        .seq_q = work ? l.seq_q : 0,
        .seq_kv = l.seq_kv,
        .head_dim = l.head_dim,
        .scale = (float)l.scale,
        .causal = l.flags & CB_ATTENTION_CAUSAL,
        .stream = l.stream,
        .operands = { { "q", l.q, keys ? bytes_q : 0, sizeof(float), false },
                      { "k", l.k, keys ? bytes_kv : 0, sizeof(float), false },
                      { "v", l.v, keys ? bytes_kv : 0, sizeof(float), false },
                      { "o", l.o, work ? bytes_q : 0, sizeof(float), true } },
    };
    return CB_OK;
}
