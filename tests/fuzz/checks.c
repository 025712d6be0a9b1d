/* What programs of a check print, as the agent understands it: the first byte chooses the part (d:
 * of a disk that is read, w: that is written), the second is the exit status as a digit, an s as
 * the third says that the program had to be ended; then what it printed, and of processors what it
 * wrote behind a line "---". A check that was not done has a text and no result; one that was
 * passes only where the program ended well and saw no error, and else says why.
 * Parsers: lib/agent/step_check.c */
#include <errno.h>

#include "agent/agent.h"
#include "agent/check_run.h"
#include "agent/check_tools.h"
#include "agent/step.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "inventory/inventory.h"

static const char *printed, *yaml_text;
static int status;
static bool stopped;
static unsigned n_held;

static int fake_run(struct step_run *s, const struct check_load *load, struct check_end *ret_ends,
		    int64_t *ret_ms, struct phx_err *err)
{
	(void)s, (void)err;
	bool version = !strcmp(load->argv[0], "memtester") && !load->argv[1];
	fuzz_never(!load->n || load->n > CHECK_LOAD_MAX);
	for (uint32_t i = 0; i < load->n; i++)
		ret_ends[i] = (struct check_end){.status = version || i ? 0 : status,
						 .stopped = !version && !i && stopped,
						 .out = strdup(i ? "" : printed)};
	n_held += load->n;
	*ret_ms = (int64_t)load->seconds * 1000;
	return 0;
}

static void fake_fini(struct check_end *ends, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(ends[i].out);
	n_held -= n;
}

static int fake_tools(struct step_run *s, const char *const **ret_env, struct phx_err *err)
{
	static const char *const env[] = {NULL};
	(void)s, (void)err;
	*ret_env = env;
	fuzz_file("check.yaml", yaml_text, strlen(yaml_text));
	return 0;
}

static int fake_disk(struct step_run *s, struct phx_disk_facts *ret_facts, char ret_path[64],
		     struct phx_err *err)
{
	(void)s, (void)err;
	memset(ret_facts, 0, sizeof(*ret_facts));
	strcpy(ret_path, "/dev/sdz");
	return 0;
}

/* A machine with so little memory that few programs test it. */
static int fake_monitor(const char *root, const struct phx_monitor *last, struct phx_monitor *ret,
			struct phx_err *err)
{
	(void)root, (void)last, (void)err;
	*ret = (struct phx_monitor){.memory_available_bytes = 90ULL << 20};
	return 0;
}

#define check_run fake_run
#define check_ends_fini fake_fini
#define check_tools fake_tools
#define step_disk_find fake_disk
#define phx_monitor_read fake_monitor
#include "agent/step_check.c"

static void read_back(const struct phx_check *c)
{
	struct phx_check again;
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_check_record, c);
	fuzz_never(!text || phx_json_text_to_record(&phx_check_record, text, &again, NULL) < 0);
	PHX_AUTO_FREE char *other = phx_json_record_text(&phx_check_record, &again);
	fuzz_never(!other || strcmp(text, other));
}

static void check(const struct step_run *s, int r, const struct phx_err *err,
		  enum phx_check_part part)
{
	const struct phx_check *c = &s->check;
	fuzz_never(r > 0 || n_held);
	if (r < 0) {
		fuzz_never(!err->text[0] || s->has_check);
		return;
	}
	fuzz_never(!s->has_check || c->part != (int)part || c->seconds != 600);
	fuzz_never(strcmp(c->disk, part == PHX_CHECK_disk ? "disk1" : ""));
	fuzz_never(c->passed && (c->errors || c->text[0]));
	/* what tests memory goes on until it is ended */
	fuzz_never(c->passed && part != PHX_CHECK_memory && (status || stopped));
	fuzz_never(!c->passed && !c->text[0]);
	fuzz_never(c->write_rate && !c->writes);
	read_back(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct agent agent;
	struct phx_order order = {.step = {.seconds = 600}};
	struct step_run s = {.agent = &agent, .order = &order};
	struct phx_err err = {0};
	if (n < 3)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 3, n - 3);
	char *yaml = strstr(text, "\n---\n");
	yaml_text = yaml ? yaml + 5 : "";
	if (yaml)
		*yaml = '\0';
	printed = text;
	status = data[1] >= '0' && data[1] <= '9' ? data[1] - '0' : data[1];
	stopped = data[2] == 's';
	n_held = 0;
	PHX_STR_SET(agent.cfg.state_dir, fuzz_dir());
	bool disk = data[0] == 'd' || data[0] == 'w';
	order.step.writes = data[0] == 'w';
	PHX_STR_SET(order.step.disk, disk ? "disk1" : "");
	int r = disk             ? step_check_disk(&s, &err)
		: data[0] == 'm' ? step_check_memory(&s, &err)
				 : step_check_cpu(&s, &err);
	check(&s, r, &err,
	      disk                     ? PHX_CHECK_disk
		      : data[0] == 'm' ? PHX_CHECK_memory
				       : PHX_CHECK_cpu);
	return 0;
}
