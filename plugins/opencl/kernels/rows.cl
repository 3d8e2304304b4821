/* SPDX-License-Identifier: Apache-2.0 */
/* gather and scatter: rows of `units` units from one operand to the other. Options: UNIT, the type
 * that a row is moved in; SCATTER; IN_A_ROW. */

/* rows: gather reads its row i from rows[i]; scatter moves row rows[2 i] to rows[2 i + 1], all
 * different. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
move_rows(__global const UNIT *in, ulong in_at, __global UNIT *out, ulong out_at,
          __global const ulong *rows, ulong rows_at, ulong n, ulong units,
          ulong per_item)
{
    const ulong first = FIRST, step_rows = STEP / units, step_units = STEP % units;
    ulong row = first / units, unit = first % units;
    rows += rows_at;
    for (ulong i = 0; i < per_item && row < n; i++) {
        const ulong from = SCATTER ? rows[2 * row] : rows[row];
        const ulong to = SCATTER ? rows[2 * row + 1] : row;
        out[out_at + to * units + unit] = in[in_at + from * units + unit];
        row += step_rows;
        unit += step_units;
        if (unit >= units) {
            unit -= units;
            row++;
        }
    }
}
