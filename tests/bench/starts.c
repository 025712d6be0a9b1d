/* starts: fills a database of starts. Appends N rows to the file of a phxd that is not running, as
 * they come of starts of the nodes swarm1 to swarmM, a hundred rows a start: the last one of each
 * node waits for its kernel, so that there is something to find.
 *
 *	starts --rows N --nodes M FILE */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/util.h"
#include "bench/machine.h"
#include "starts/starts.h"

enum { ROWS_OF_START = 100, BYTES_MAX = 1 << 30 };

static const struct {
	enum phx_start_kind kind;
	const char *text;
} head[] = {
	{PHX_START_power_asked, "cycle"},      {PHX_START_pxe_asked, "x86-64_EFI"},
	{PHX_START_dhcp_acked, "10.77.0.9"},   {PHX_START_tftp_sent, "snponly.efi"},
	{PHX_START_script_answered, "deploy"},
};

static void fill_start(struct phx_start_row *rows, unsigned node, int64_t at_us)
{
	for (unsigned i = 0; i < ROWS_OF_START; i++) {
		struct phx_start_row *r = &rows[i];
		*r = (struct phx_start_row){.at_us = at_us + i * 10000,
					    .kind = PHX_START_console,
					    .proven = i < PHX_ARRAY_SIZE(head)};
		snprintf(r->node, sizeof(r->node), "swarm%u", node);
		if (r->proven) {
			r->kind = head[i].kind;
			PHX_STR_SET(r->text, head[i].text);
		} else {
			snprintf(r->text, sizeof(r->text),
				 "[%5u.%06u] usb 1-%u: new high-speed USB device number %u", i,
				 i * 7919, i % 8, i);
		}
	}
}

static void fill(struct phx_starts *s, uint64_t n, unsigned nodes)
{
	struct phx_err err = {0};
	struct phx_start_row *rows = calloc(ROWS_OF_START, sizeof(*rows));
	uint64_t starts = n / ROWS_OF_START;
	int64_t begin_us = ((int64_t)time(NULL) - 3600) * 1000000;
	if (!rows)
		machine_die("no memory");
	for (uint64_t i = 0; i < starts; i++) {
		fill_start(rows, (unsigned)(i % nodes) + 1, begin_us + (int64_t)(i * 100));
		if (phx_starts_put(s, rows, ROWS_OF_START, &err) < 0)
			machine_die("%s", err.text);
	}
	free(rows);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rows", required_argument, NULL, 'r'},
						{"nodes", required_argument, NULL, 'n'},
						{0}};
	static const char usage[] = "usage: starts --rows N --nodes M FILE\n";
	struct phx_starts *s = NULL;
	struct phx_err err = {0};
	uint64_t rows = 0, nodes = 0;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
		if ((c != 'r' && c != 'n') ||
		    phx_u64_parse(optarg, 1, 100000000, c == 'r' ? &rows : &nodes) < 0)
			machine_die(usage);
	if (!rows || !nodes || optind != argc - 1)
		machine_die(usage);
	if (phx_starts_open(argv[optind], BYTES_MAX, &s, &err) < 0)
		machine_die("%s", err.text);
	fill(s, rows, (unsigned)nodes);
	phx_starts_close(s);
	return 0;
}
