/* What completion.c prints beside completions. */
#ifndef PHX_HELP_H
#define PHX_HELP_H

#include <stdio.h>

/** The sections COMMANDS and OPTIONS of phx(1) in scdoc, made from the tables. */
void cli_manual(FILE *out);
/** The section KEYS of phoenix.conf(5), made from lib/config/option.def. */
void cli_manual_config(FILE *out);

#endif
