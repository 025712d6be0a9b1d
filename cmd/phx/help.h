/* What completion.c prints beside completions. */
#ifndef PHX_HELP_H
#define PHX_HELP_H

#include <stdio.h>

/** The sections COMMANDS and OPTIONS of phx(1) in scdoc, made from the tables. */
void cli_manual(FILE *out);

#endif
