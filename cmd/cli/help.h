/* What cmd/phx/manual.c puts together: the parts of the manual that come from tables. */
#ifndef PHX_CLI_HELP_H
#define PHX_CLI_HELP_H

#include <stdio.h>

/** The sections COMMANDS and OPTIONS of phx(1) in scdoc, made from the tables. */
void cli_manual(FILE *out);
/** The sections POLICIES, SCHEDULERS and METRICS of phx-sim(1), made from the tables of the
 * simulator. */
void sim_manual(FILE *out);
/** `text` in scdoc: what it takes for marks is escaped. */
void cli_scd(FILE *out, const char *text);

#endif
