/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions as products of tiles. One factor, A, is gathered from `source`: an element of it
 * belongs to a pixel of what is written (or summed over) and to a tap, a channel and a place in the
 * filter. The other, B, is what `other` holds.
 *
 *   MODE           source   other    target     pixels of  M         N           summed over
 *   FORWARD        input    filter   output     output     pixels    filters     taps of input
 *   BACKWARD_DATA  output   filter   input      input      pixels    channels    taps of output
 *   BACKWARD_FILTER input   output   filter     output     taps      filters     images, pixels
 *
 * Options: TYPE, MODE, POSITION (a signed type for places in a padded image), the tile. */
#define FORWARD         0
#define BACKWARD_DATA   1
#define BACKWARD_FILTER 2

#if MODE == BACKWARD_FILTER
#define PIXELS BK
#define TAPS   BM
#else
#define PIXELS BM
#define TAPS   BK
#endif

/* Where a pixel or a tap that does not exist is: no sum of it and another place is in an image. */
#define NOWHERE ((POSITION)1 << (sizeof(POSITION) * 8 - 2))

/* Rows and columns of the source and of its pixels, and what a source row is from pixel and tap. */
typedef struct {
    POSITION source_h, source_w, pixels_w;
    POSITION stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    ulong r, s, pixels, taps;
} geometry;

/* What the items of a group look up. */
typedef struct {
    POSITION pixel_y[PIXELS], pixel_x[PIXELS], tap_y[TAPS], tap_x[TAPS];
    ulong tap_at[TAPS]; /* the channel of the source */
    ulong b_at[TAPS];   /* BACKWARD_DATA: the place in the filter */
} places;

void place_pixels(__local places *at, const geometry *g, ulong first)
{
    for (uint i = get_local_id(0); i < PIXELS; i += ITEMS) {
        const ulong pixel = first + i;
        const POSITION y = pixel / g->pixels_w, x = pixel % g->pixels_w;
#if MODE == BACKWARD_DATA
        at->pixel_y[i] = pixel < g->pixels ? y + g->pad_top : -NOWHERE;
        at->pixel_x[i] = x + g->pad_left;
#else
        at->pixel_y[i] = pixel < g->pixels ? y * g->stride_h - g->pad_top : -NOWHERE;
        at->pixel_x[i] = x * g->stride_w - g->pad_left;
#endif
    }
}

/* channel_b: from one source channel to the next in the filter. */
void place_taps(__local places *at, const geometry *g, ulong first, ulong channel_b)
{
    for (uint i = get_local_id(0); i < TAPS; i += ITEMS) {
        const ulong tap = first + i, channel = tap / (g->r * g->s), place = tap % (g->r * g->s);
        const POSITION y = place / g->s * g->dilation_h, x = place % g->s * g->dilation_w;
        const POSITION none = MODE == BACKWARD_DATA ? NOWHERE : -NOWHERE;
        at->tap_y[i] = tap < g->taps ? y : none;
        at->tap_x[i] = x;
        at->tap_at[i] = channel * (ulong)g->source_h * (ulong)g->source_w;
        at->b_at[i] = MODE == BACKWARD_DATA ? channel * channel_b + place : 0;
    }
}

/* Whether the tap of the pixel is in the source, and where in its channel. */
bool find(__local const places *at, const geometry *g, uint pixel, uint tap, ulong *place)
{
#if MODE == BACKWARD_DATA
    const POSITION up = at->pixel_y[pixel] - at->tap_y[tap];
    const POSITION left = at->pixel_x[pixel] - at->tap_x[tap];
    const POSITION y = g->stride_h == 1 ? up : up / g->stride_h;
    const POSITION x = g->stride_w == 1 ? left : left / g->stride_w;
    const bool whole = y * g->stride_h == up && x * g->stride_w == left;
#else
    const POSITION up = at->pixel_y[pixel] + at->tap_y[tap], y = up;
    const POSITION left = at->pixel_x[pixel] + at->tap_x[tap], x = left;
    const bool whole = true;
#endif
    *place = (ulong)y * (ulong)g->source_w + (ulong)x;
    return whole && up >= 0 && left >= 0 && y < g->source_h && x < g->source_w;
}

/* A: neighbouring pixels are read in one go where all are in a row of the source. */
void gather(__local REAL *tile, __local const places *at, const geometry *g,
            __global const REAL *source)
{
    for (uint piece = get_local_id(0); piece < TAPS * PIXELS / V; piece += ITEMS) {
        const uint tap = piece / (PIXELS / V), first = piece % (PIXELS / V) * V;
        __global const REAL *channel = source + at->tap_at[tap];
        const bool row = g->stride_w == 1 && at->pixel_y[first] == at->pixel_y[first + V - 1];
        ulong place, last;
        REAL parts[V];
        if (row && find(at, g, first, tap, &place) && find(at, g, first + V - 1, tap, &last))
            for (uint v = 0; v < V; v++)
                parts[v] = channel[place + v];
        else
            for (uint v = 0; v < V; v++)
                parts[v] = find(at, g, first + v, tap, &place) ? channel[place] : 0;
        for (uint v = 0; v < V; v++)
#if MODE == BACKWARD_FILTER
            tile[(first + v) * BM + tap] = parts[v];
#else
            tile[tap * BM + first + v] = parts[v];
#endif
    }
}

/* What has no place in the source is left out of a sum, not added as a zero that an infinite factor
 * would make NaN. So once an item has seen such a factor, the group looks at each term. */
#define NOTE(x) (infinite |= !isfinite(x), (x))

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
conv2d(__global const REAL *source, ulong source_at, __global const REAL *other, ulong other_at,
       __global REAL *target, ulong target_at, ulong n, ulong c, ulong h, ulong w, ulong k,
       ulong c_group, ulong r, ulong s, ulong p, ulong q, ulong stride_h, ulong stride_w,
       ulong dilation_h, ulong dilation_w, ulong pad_top, ulong pad_left, ulong groups)
{
    __local REAL tile_a[BK * BM], tile_b[BK * BN];
    __local places at;
    __local uint infinite_seen;
    const ulong k_group = k / groups, area = r * s;
#if MODE == BACKWARD_DATA
    const geometry g = { p, q, w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left,
                         r, s, h * w, k_group * area };
    const ulong size_m = h * w, size_n = c_group;
#else
    const geometry g = { h, w, q, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left,
                         r, s, p * q, c_group * area };
    const ulong size_m = MODE == FORWARD ? p * q : c_group * area, size_n = k_group;
#endif
    const ulong tiles_m = (size_m + BM - 1) / BM, tiles_n = (size_n + BN - 1) / BN;
    const ulong i0 = GROUP % tiles_m * BM, j0 = GROUP / tiles_m % tiles_n * BN;
    const ulong group = GROUP / tiles_m / tiles_n % groups;
    const ulong image = GROUP / tiles_m / tiles_n / groups;
    const ulong inputs = (image * c + group * c_group) * h * w;
    const ulong outputs = (image * k + group * k_group) * p * q;
    const ulong filters = group * k_group * c_group * area;
    const uint rows = min(size_m - i0, (ulong)BM), cols = min(size_n - j0, (ulong)BN);
    uint infinite = 0;
    REALV acc[WN][MV];

    source += source_at;
    other += other_at;
    FOR_ACC(x, y)
        acc[x][y] = 0;
    if (get_local_id(0) == 0)
        infinite_seen = 0;
#if MODE == BACKWARD_FILTER
    const ulong images = n, size_k = g.pixels;
    place_taps(&at, &g, i0, 0);
#else
    const ulong images = min(n, (ulong)1), size_k = g.taps;
    place_pixels(&at, &g, i0);
#endif
    for (ulong i = 0; i < images; i++)
        for (ulong p0 = 0; p0 < size_k; p0 += BK) {
            const uint depth = min(size_k - p0, (ulong)BK);
#if MODE == BACKWARD_FILTER
            place_pixels(&at, &g, p0);
#else
            place_taps(&at, &g, p0, c_group * area);
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
#if MODE == FORWARD
            gather(tile_a, &at, &g, source + inputs);
            MOVE(tile_b, BN, BK, BK, 1, other + filters + j0 * size_k + p0, size_k, cols, depth,
                 NOTE)
#elif MODE == BACKWARD_DATA
            gather(tile_a, &at, &g, source + outputs);
            for (uint e = get_local_id(0); e < BN * BK; e += ITEMS) {
                const uint channel = e / BK, tap = e % BK;
                const bool exists = channel < cols && tap < depth;
                const ulong place = filters + (j0 + channel) * area + at.b_at[tap];
                tile_b[e] = exists ? NOTE(other[place]) : 0;
            }
#else
            gather(tile_a, &at, &g, source + inputs + i * c * h * w);
            MOVE(tile_b, BN, BK, BK, 1, other + outputs + (i * k + j0) * size_k + p0, size_k, cols,
                 depth, NOTE)
#endif
            if (infinite)
                atomic_or(&infinite_seen, 1u);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (ITEM_I < rows && ITEM_J < cols && !infinite_seen) {
                MULTIPLY(acc, tile_a, tile_b, 1, BK)
            } else if (ITEM_I < rows && ITEM_J < cols) {
                for (uint step = 0; step < BK; step++)
                    for (uint y = 0; y < MV; y++) {
                        const uint i = ITEM_I + y * V;
                        INTV is_term;
                        int parts[V];
                        ulong place;
                        for (uint v = 0; v < V; v++)
#if MODE == BACKWARD_FILTER
                            parts[v] = find(&at, &g, step, i + v, &place) ? -1 : 0;
#else
                            parts[v] = find(&at, &g, i + v, step, &place) ? -1 : 0;
#endif
                        is_term = VLOAD(0, parts);
                        const REALV column = VLOAD(0, tile_a + step * BM + i);
                        for (uint x = 0; x < WN; x++) {
                            const REALV more = column * tile_b[(ITEM_J + x) * BK + step];
                            acc[x][y] = is_term ? acc[x][y] + more : acc[x][y];
                        }
                    }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

#if MODE == FORWARD
    target += target_at + outputs + j0 * size_m + i0;
#elif MODE == BACKWARD_DATA
    target += target_at + inputs + j0 * size_m + i0;
#else
    target += target_at + filters + j0 * size_m + i0;
#endif
    for (uint x = 0; x < WN && ITEM_J + x < cols; x++)
        for (uint y = 0; y < MV; y++) {
            const uint i = ITEM_I + y * V;
            REAL parts[V];
            VSTORE(acc[x][y], 0, parts);
            for (uint v = 0; v < V && i + v < rows; v++)
                target[(ITEM_J + x) * size_m + i + v] = parts[v];
        }
}
