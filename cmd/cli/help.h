/* What completion.c prints beside completions. */
#ifndef PHX_CLI_HELP_H
#define PHX_CLI_HELP_H

#include <stdio.h>

/** The sections COMMANDS and OPTIONS of phx(1) in scdoc, made from the tables. */
void cli_manual(FILE *out);
/** The section KEYS of phoenix.conf(5), made from the rows of lib/config/config.h. */
void cli_manual_config(FILE *out);

/** The sections POLICIES, SCHEDULERS and METRICS of phx-sim(1), made from the tables of the
 * simulator. */
void sim_manual(FILE *out);
/** `text` in scdoc: what it takes for marks is escaped. */
void cli_scd(FILE *out, const char *text);

#endif
