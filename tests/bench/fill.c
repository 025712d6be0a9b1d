/* fill: makes a journal long. Appends N events as they are written for jobs of other people to the
 * journal of a phxd that is not running, and a snapshot behind them, so that it starts as before.
 * It writes through lib/store as phxd does; where a file system syncs (a disk), a million takes its
 * time: fill a copy in memory and move it.
 *
 *	fill --events N JOURNAL */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "bench/machine.h"
#include "core/core.h"
#include "fake/append_one.h"
#include "store/store.h"

static const char event[] = "{\"kind\":\"job_submit\",\"by\":\"uid:4242\",\"uid\":4242,\"gid\":"
			    "4242,\"user\":\"somebody\",\"re\":\"queue\","
			    "\"job_nodes\":4,\"estimate_ms\":3600000,\"argv\":[{\"text\":\"/usr/"
			    "bin/solver\"},{\"text\":\"--input\"},"
			    "{\"text\":\"/data/project/case-17/mesh.bin\"}]}";
static const char actions[] = "[{\"kind\":\"note\",\"re\":\"queue\",\"text\":\"job 17 waits: 4 "
			      "nodes are wanted and 3 are idle\"}]";

/* The newest state, as of event `seq`. malloc'd. */
static char *state_at(struct phx_store *store, uint64_t seq, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *j = NULL;
	uint64_t at = 0;
	if (phx_store_latest(store, &at, &text, err) < 0 || !text ||
	    phx_json_parse(text, strlen(text), &j, err) < 0)
		machine_die("no snapshot: start and stop phxd on this journal first. %s",
			    err->text);
	if (at != phx_store_last(store))
		machine_die("the newest snapshot is of event %llu, not the last",
			    (unsigned long long)at);
	json_object_set_new(j, "seq", json_integer((json_int_t)seq));
	return phx_json_text(j);
}

static void fill(struct phx_store *store, uint64_t n)
{
	struct phx_err err = {0};
	uint64_t first = phx_store_last(store);
	PHX_AUTO_FREE char *state = state_at(store, first + n, &err);
	for (uint64_t seq = first + 1; seq <= first + n; seq++)
		if (append_one(store, seq, (int64_t)seq, "job_submit", "", event, actions, NULL,
			       &err) < 0)
			machine_die("%s", err.text);
	if (!state || phx_store_snapshot(store, first + n, state, &err) < 0)
		machine_die("%s", err.text);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"events", required_argument, NULL, 'n'}, {0}};
	struct phx_store *store = NULL;
	struct phx_err err = {0};
	uint64_t n = 0;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
		if (c != 'n' || phx_u64_parse(optarg, 1, 100000000, &n) < 0)
			machine_die("usage: fill --events N JOURNAL\n");
	if (!n || optind != argc - 1)
		machine_die("usage: fill --events N JOURNAL\n");
	if (phx_store_open(argv[optind], &store, &err) < 0)
		machine_die("%s", err.text);
	fill(store, n);
	phx_store_close(store);
	return 0;
}
