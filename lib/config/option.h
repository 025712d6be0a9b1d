/* One option at a time; inside lib/config only. */
#ifndef PHX_CONFIG_OPTION_H
#define PHX_CONFIG_OPTION_H

#include "config/conf.h"
#include "config/config.h"

/** A text (the default) into the option's member. -EINVAL names the key and what would be right. */
int phx_option_from_text(const struct phx_option *o, const char *text, struct phx_config *cfg, struct phx_err *err);
/** A setting of a file into the option's member, replacing what was there. -EINVAL "FILE:LINE: ...". */
int phx_option_from_setting(const struct phx_option *o, const struct phx_conf *c, const config_setting_t *s,
			    struct phx_config *cfg, struct phx_err *err);
/** The member as text. */
void phx_option_format(const struct phx_option *o, const struct phx_config *cfg, char *buf, size_t size);
/** How the values fit together; texts name the place of the option at fault. `main_file` stands for what is missing. */
int phx_config_check(const struct phx_config *cfg, const char *main_file, struct phx_err *err);

#endif
