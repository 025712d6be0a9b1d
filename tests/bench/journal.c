/* How many events a second the journal takes from one writer, and how long a start needs to verify
 * them: the disk's syncs, the hashes and the mark. usage: journal DIRECTORY EVENTS; prints JSON. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "fake/append_one.h"
#include "store/store.h"

enum { EVENT_BYTES = 600, ACTIONS_BYTES = 250 };

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fill(struct phx_store *s, uint64_t n, struct phx_err *err)
{
	char event[EVENT_BYTES + 1], actions[ACTIONS_BYTES + 1], node[32];
	int r = 0;
	for (uint64_t seq = 1; r == 0 && seq <= n; seq++) {
		snprintf(node, sizeof(node), "node%llu", (unsigned long long)seq % 1000);
		snprintf(event, sizeof(event), "{\"seq\":%0*llu}", EVENT_BYTES - 8,
			 (unsigned long long)seq);
		snprintf(actions, sizeof(actions), "[%0*llu]", ACTIONS_BYTES - 2,
			 (unsigned long long)seq);
		r = append_one(s, seq, (int64_t)seq, "step_result", node, event, actions, NULL,
			       err);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct phx_err err = {0};
	struct phx_store *s = NULL;
	struct phx_store_findings found;
	uint64_t n = 0;
	if (argc != 3 || phx_u64_parse(argv[2], 1, 10000000, &n) < 0) {
		fprintf(stderr, "usage: journal DIRECTORY EVENTS\n");
		return 64;
	}
	PHX_AUTO_FREE char *path = phx_path("%s/journal.db", argv[1]);
	int r = path ? phx_store_open(path, &s, &err) : -1;
	double begin = now();
	r = r ? r : fill(s, n, &err);
	double filled = now();
	r = r ? r : phx_store_verify(s, &found, &err);
	double verified = now();
	phx_store_close(s);
	if (r < 0) {
		fprintf(stderr, "journal: %s\n", err.text);
		return 1;
	}
	printf("{\"commits_s\": %.0f, \"verify_s\": %.3f}\n", (double)n / (filled - begin),
	       verified - filled);
	return 0;
}
