/* The way into `phx lab` for phx's command table. */
#ifndef PHX_LAB_COMMAND_H
#define PHX_LAB_COMMAND_H

/** argv[0] is "lab", then a word ("up"), options and arguments; `phx lab help` lists them. Prints, and returns what
 * phx exits with. */
int phx_cmd_lab(int argc, char **argv);

#endif
