/* The steps of a check (types/check.h): each loads one part of the machine for some time by a
 * program made for that, and says how many errors the program saw. A step fails only where the
 * check could not be done; that a part does not pass is a result. The table of step_table.c calls
 * these steps. */
#include "agent/step.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent/check_run.h"
#include "agent/check_tools.h"
#include "base/file.h"
#include "base/json.h"
#include "inventory/inventory.h"

enum {
	MORE_S = 60,    /* a program may take so long to end after its time */
	KEEP_SHARE = 8, /* an eighth of the free memory stays free, */
	KEEP_MIN_MB = 64,
	EACH_MIN_MB = 8, /* and no program tests less than this */
	STRESSED = 2,    /* stress-ng: an instance has failed */
	FAULTY = 2 | 4,  /* memtester: bits of its status for tests that failed */
};

static void begin(struct step_run *s, enum phx_check_part part, int64_t took_ms)
{
	s->has_check = true;
	s->check = (struct phx_check){.part = (int)part,
				      .seconds = (uint32_t)((took_ms + 500) / 1000)};
	PHX_STR_SET(s->check.disk, s->order->step.disk);
}

/* Counts the lines of the text that have the word. */
static uint64_t count_lines(const char *text, const char *word)
{
	uint64_t n = 0;
	for (const char *at = text; (at = strstr(at, word)); n++) {
		at += strcspn(at, "\n");
	}
	return n;
}

/* The last line of what a program said, for people. */
static int fail_of(const char *program, const struct check_end *e, struct phx_err *err)
{
	size_t n = strlen(e->out);
	while (n && (e->out[n - 1] == '\n' || e->out[n - 1] == '\r'))
		e->out[--n] = '\0';
	const char *last = strrchr(e->out, '\n');
	return phx_err_set(err, -EIO, "%s ended with %d: %.150s", program, e->status,
			   last ? last + 1 : e->out);
}

/* ---- processors ---- */

/* Reads "    bogo-ops-per-second-real-time: 2341.08", which stress-ng writes about itself. */
static double yaml_number(const char *yaml, const char *key)
{
	const char *at = strstr(yaml, key);
	return at ? strtod(at + strlen(key), NULL) : 0;
}

static void read_yaml(const char *path, struct phx_check *c)
{
	static const char version[] = "stress-ng-version:";
	PHX_AUTO_FREE char *yaml = NULL;
	if (phx_file_read(path, CHECK_OUTPUT_MAX, &yaml, NULL, NULL) < 0)
		return;
	double rate = yaml_number(yaml, "bogo-ops-per-second-real-time:");
	c->rate = rate > 0 && rate < 1e15 ? (uint64_t)rate : 0;
	const char *at = strstr(yaml, version);
	if (at)
		snprintf(c->tool, sizeof(c->tool), "stress-ng%.*s",
			 (int)strcspn(at + strlen(version), "\n"), at + strlen(version));
}

static int judge_cpu(struct step_run *s, const struct check_end *e, int64_t took_ms,
		     struct phx_err *err)
{
	uint64_t errors = count_lines(e->out, "fail:");
	if (e->stopped)
		return phx_err_set(err, -ETIMEDOUT, "stress-ng did not end %d s after its time",
				   MORE_S);
	if (e->status && (e->status != STRESSED || !errors))
		return fail_of("stress-ng", e, err);
	begin(s, PHX_CHECK_cpu, took_ms);
	s->check.errors = errors;
	s->check.passed = !e->status && !errors;
	if (!s->check.passed)
		snprintf(s->check.text, sizeof(s->check.text),
			 "%" PRIu64 " results of processors were wrong", errors);
	return 0;
}

int step_check_cpu(struct step_run *s, struct phx_err *err)
{
	char seconds[24];
	const char *dir = s->agent->cfg.state_dir;
	PHX_AUTO_FREE char *yaml = phx_path("%s/check.yaml", dir);
	snprintf(seconds, sizeof(seconds), "%us", s->order->step.seconds);
	const char *const argv[] = {"stress-ng", "--cpu",    "0",         "--cpu-method",
				    "all",       "--verify", "--timeout", seconds,
				    "--metrics", "--yaml",   yaml,        "--temp-path",
				    dir,         NULL};
	struct check_load load = {
		.argv = argv, .n = 1, .seconds = s->order->step.seconds, .more_s = MORE_S};
	int64_t took_ms;
	struct check_end end;
	int r = yaml ? check_tools(s, &load.env, err) : -ENOMEM;
	r = r ? r : check_run(s, &load, &end, &took_ms, err);
	if (r < 0)
		return r;
	r = judge_cpu(s, &end, took_ms, err);
	if (r == 0)
		read_yaml(yaml, &s->check);
	check_ends_fini(&end, 1);
	unlink(yaml);
	return r;
}

/* ---- memory ---- */

/* How many programs test the memory, and how many MiB each of them. -ENOMEM: there is too little
 * memory. */
static int share_memory(uint32_t cpus, uint64_t free_bytes, uint32_t *ret_n, uint64_t *ret_mb,
			struct phx_err *err)
{
	uint64_t mb = free_bytes >> 20, keep = mb / KEEP_SHARE;
	keep = keep < KEEP_MIN_MB ? KEEP_MIN_MB : keep;
	uint64_t left = mb > keep ? mb - keep : 0, n = left / EACH_MIN_MB;
	if (!n)
		return phx_err_set(err, -ENOMEM, "only %" PRIu64 " MiB of memory are free", mb);
	n = n > cpus && cpus ? cpus : n;
	*ret_n = n > CHECK_LOAD_MAX ? CHECK_LOAD_MAX : (uint32_t)n;
	*ret_mb = left / *ret_n;
	return 0;
}

/* memtester without arguments says its version, and what it lacks. */
static int read_version(struct step_run *s, const char *const *env, struct phx_check *c,
			struct phx_err *err)
{
	static const char *const argv[] = {"memtester", NULL};
	const struct check_load load = {.argv = argv, .env = env, .n = 1, .more_s = MORE_S};
	struct check_end end;
	int64_t took_ms;
	int r = check_run(s, &load, &end, &took_ms, err);
	if (r < 0)
		return r;
	const char *at = strstr(end.out, "memtester version"); /* behind what it lacks */
	at = at ? at : "memtester";
	snprintf(c->tool, sizeof(c->tool), "%.*s", (int)strcspn(at, "\n"), at);
	check_ends_fini(&end, 1);
	return 0;
}

static int judge_memory(struct step_run *s, const struct check_end *ends, uint32_t n,
			int64_t took_ms, struct phx_err *err)
{
	uint64_t errors = 0, wrong = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct check_end *e = &ends[i];
		uint64_t lines = count_lines(e->out, "FAILURE");
		bool faulty = lines || (!e->stopped && e->status < 128 && (e->status & FAULTY));
		if (!faulty && !e->stopped && e->status)
			return fail_of("memtester", e, err);
		errors += lines;
		wrong += faulty;
	}
	begin(s, PHX_CHECK_memory, took_ms);
	s->check.errors = errors;
	s->check.passed = !wrong;
	if (wrong)
		snprintf(s->check.text, sizeof(s->check.text),
			 "%" PRIu64 " errors of memory, seen by %" PRIu64 " of %u programs", errors,
			 wrong, n);
	return 0;
}

int step_check_memory(struct step_run *s, struct phx_err *err)
{
	struct check_end ends[CHECK_LOAD_MAX];
	const char *const *env;
	struct phx_monitor m;
	struct phx_check version = {0};
	char size[24];
	uint32_t n = 0;
	uint64_t mb = 0;
	int64_t took_ms;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r = phx_monitor_read(s->agent->cfg.root, NULL, &m, err);
	r = r ? r : check_tools(s, &env, err);
	r = r ? r : read_version(s, env, &version, err);
	r = r ? r
	      : share_memory(cpus > 0 ? (uint32_t)cpus : 1, m.memory_available_bytes, &n, &mb, err);
	if (r < 0)
		return r;
	snprintf(size, sizeof(size), "%" PRIu64 "M", mb);
	const char *const argv[] = {"memtester", size, NULL};
	const struct check_load load = {.argv = argv,
					.env = env,
					.n = n,
					.seconds = s->order->step.seconds,
					.errors_only = true};
	r = check_run(s, &load, ends, &took_ms, err);
	if (r < 0)
		return r;
	r = judge_memory(s, ends, n, took_ms, err);
	check_ends_fini(ends, n);
	s->check.bytes = n * mb << 20;
	PHX_STR_SET(s->check.tool, version.tool);
	return r;
}

/* ---- disks ---- */

static uint64_t rate_of(const json_t *job, const char *direction)
{
	int64_t rate = phx_json_int(json_object_get(job, direction), "bw_bytes", 0);
	return rate > 0 ? (uint64_t)rate : 0;
}

/* fio may write warnings before the JSON object. */
static json_t *parse_fio(const char *out)
{
	const char *at = strchr(out, '{');
	return at ? json_loads(at, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
}

static int judge_disk(struct step_run *s, const struct check_end *e, int64_t took_ms,
		      struct phx_err *err)
{
	PHX_AUTO_JSON json_t *said = parse_fio(e->out);
	const json_t *job = json_array_get(json_object_get(said, "jobs"), 0);
	int64_t error = phx_json_int(job, "error", 0);
	if (!e->stopped && (!job || (e->status && !error)))
		return fail_of("fio", e, err);
	begin(s, PHX_CHECK_disk, took_ms);
	struct phx_check *c = &s->check;
	c->writes = s->order->step.writes;
	c->passed = !e->stopped && !error;
	c->errors = c->passed ? 0 : 1;
	c->rate = rate_of(job, "read");
	c->write_rate = c->writes ? rate_of(job, "write") : 0;
	snprintf(c->tool, sizeof(c->tool), "%s", phx_json_str(said, "fio version", "fio"));
	if (e->stopped)
		snprintf(c->text, sizeof(c->text),
			 "it does not answer: fio did not end %d s after its time", MORE_S);
	else if (error == EILSEQ)
		snprintf(c->text, sizeof(c->text), "what was read is not what was written");
	else if (error)
		snprintf(c->text, sizeof(c->text), "%s", strerror((int)error));
	return 0;
}

int step_check_disk(struct step_run *s, struct phx_err *err)
{
	const struct phx_step *step = &s->order->step;
	struct phx_disk_facts facts;
	struct check_end end;
	char path[64], file[80], runtime[32];
	int64_t took_ms;
	const char *const *env;
	int r = step_disk_find(s, &facts, path, err);
	r = r ? r : check_tools(s, &env, err);
	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "--filename=%s", path);
	snprintf(runtime, sizeof(runtime), "--runtime=%u", step->seconds);
	const char *const argv[] = {"fio", "--name=check", file, runtime, "--time_based",
				    "--direct=1", "--bs=1M", "--ioengine=psync", "--thread",
				    "--allow_file_create=0", "--output-format=json",
				    step->writes ? "--rw=rw" : "--rw=read",
				    step->writes ? "--verify=crc32c" : "--readonly",
				    /* fio reads back soon after it wrote, not when time is up */
				    step->writes ? "--verify_backlog=16" : NULL, NULL};
	const struct check_load load = {
		.argv = argv, .env = env, .n = 1, .seconds = step->seconds, .more_s = MORE_S};
	r = check_run(s, &load, &end, &took_ms, err);
	if (r < 0)
		return r;
	r = judge_disk(s, &end, took_ms, err);
	check_ends_fini(&end, 1);
	return r;
}
