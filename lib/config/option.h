/* What the files of phoenix.conf share; inside lib/config only. */
#ifndef PHX_CONFIG_OPTION_H
#define PHX_CONFIG_OPTION_H

#include "config/config.h"

/** The options of a struct phx_config, pools and origins left out. */
extern const struct phx_record phx_options_record;
/** How the values fit together; texts name the place of the option at fault. `main_file` stands for
 * what is missing. */
int phx_config_check(const struct phx_config *cfg, const char *main_file, struct phx_err *err);

/** The selectors of protected_disks, a line each. -E2BIG. */
int phx_config_selectors(const struct phx_config *cfg, char ret[PHX_SELECTORS_TEXT_MAX]);

#endif
