/* SPDX-License-Identifier: Apache-2.0 */
/* What the mock missing_dependency is linked with, and does not find when it is loaded. */
__attribute__((visibility("default"))) int not_there(void);
int not_there(void)
{
    return 0;
}
