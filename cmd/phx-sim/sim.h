/* What the files of `phx sim` share: traces, printing of results, pictures. */
#ifndef PHX_SIM_CLI_H
#define PHX_SIM_CLI_H

#include "cli/cli.h"
#include "sim/report.h"
#include "sim/scenario.h"

/** Ask for the heap in large pieces, first of all: a log is read in milliseconds, and a third of
 * them goes into page faults otherwise. Changes nothing but the time it takes. */
void sim_prepare_heap(void);
/** Where traces are looked for: --traces, else $PHX_TRACES, else NULL. */
const char *sim_traces(const struct cli *cli);
/** What a failed run exits with: a mistake in a file is a configuration error (78), one in an
 * option is usage (64). The text was printed. */
int sim_fail(int error, const struct phx_err *err);
/** The number of an option; 0 without it. */
uint32_t sim_number(const struct cli *cli, enum cli_option_id id);
/** Worker threads: --workers, else one a core. */
unsigned sim_workers(const struct cli *cli);

/** Print a report in the format asked for. */
int sim_print_report(struct cli *cli, const struct phx_sim_report *r);
/** Metrics down, one column a report's row; for tables of one or more reports beside each other. */
int sim_print_columns(struct cli *cli, const struct phx_sim_report_row *rows,
		      const char *const *heads, size_t n, bool with_change);
/** Write an SVG to the file of --svg; CLI_OK when there is no such option. */
int sim_write_svg(struct cli *cli, const struct phx_buf *svg);

/** Tell how far something is, on a terminal; nothing elsewhere. A negative `done` wipes the
 * line. */
void sim_progress(const struct cli *cli, const char *what, double done);

/** phx sim plan --journal. */
int sim_plan_past(struct cli *cli);

#endif
