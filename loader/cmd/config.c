/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

int cmd_config(const struct arguments *a)
{
    cb_loader *loader = open_loader(a);
    if (!loader)
        return EXIT_TROUBLE;
    const bool good = print_loader_words(loader, cb_loader_config, a->options & OPTION_JSON);
    cb_loader_close(loader, NULL);
    return good ? EXIT_OK : EXIT_TROUBLE;
}
