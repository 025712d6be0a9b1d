/* What squeue and sinfo print with our formats, into typed structs. Strict: a
 * line that is not exactly as we asked for is an error that shows it, since a
 * job that was overlooked would lose its node. No field is asked for that a user
 * can write freely (names, comments): a newline in one would make lines up. Pure
 * but for allocations. Called by ask.c and tests. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nodeset.h"
#include "slurm/internal.h"

enum { LINE_MAX_ = 65536, FIELDS_MAX = 16, WAIT_STATUS_SIGNAL = 128 };

/* ---- lines and fields ---- */

static int bad_line(struct phx_err *err, const char *command, const char *line, const char *why)
{
	return phx_err_set(err, -EPROTO, "%s: line '%.100s': %s", command, line, why);
}

/* Cuts `line` at its bars into `most` fields, the last one with whatever is left; how many there
 * are. */
static unsigned cut(char *line, unsigned most, char **ret_fields)
{
	unsigned n = 0;
	for (char *p = line; p && n < most; n++) {
		ret_fields[n] = p;
		p = n + 1 < most ? strchr(p, '|') : NULL;
		if (p)
			*p++ = '\0';
	}
	return n;
}

typedef int (*line_fn)(char **fields, void *to, const char **ret_why);

/* Calls `take` for each line of n_fields fields. */
static int each_line(const char *text, const char *command, unsigned n_fields, line_fn take,
		     void *to, struct phx_err *err)
{
	PHX_AUTO_FREE char *copy = malloc(LINE_MAX_);
	int r = copy ? 0 : -ENOMEM;
	for (const char *line = text; r == 0 && *line;) {
		char *fields[FIELDS_MAX];
		const char *why = "is not as it was asked for";
		size_t n = strcspn(line, "\n");
		if (n >= LINE_MAX_ || line[n] != '\n')
			return bad_line(err, command, line,
					n >= LINE_MAX_ ? "is too long" : "is cut off");
		memcpy(copy, line, n);
		copy[n] = '\0';
		r = cut(copy, n_fields, fields) == n_fields ? take(fields, to, &why) : -EPROTO;
		if (r == -EPROTO) {
			snprintf(copy, LINE_MAX_, "%.*s", (int)n, line);
			return bad_line(err, command, copy, why);
		}
		line += n + 1;
	}
	return r;
}

/* ---- values ---- */

static bool get_u64(const char *text, uint64_t max, uint64_t *ret)
{
	return phx_u64_parse(text, 0, max, ret) == 0;
}

static bool get_u32(const char *text, uint32_t *ret)
{
	uint64_t v;
	bool got = get_u64(text, UINT32_MAX, &v);
	if (got)
		*ret = (uint32_t)v;
	return got;
}

/* Seconds since 1970, or none. */
static bool get_time(const char *text, int64_t *ret_ms)
{
	uint64_t s = 0;
	if (strcmp(text, "N/A") && !get_u64(text, INT64_MAX / 1000, &s))
		return false;
	*ret_ms = (int64_t)s * 1000;
	return true;
}

static bool get_bool(const char *text, bool *ret)
{
	*ret = text[0] == '1';
	return !strcmp(text, "0") || !strcmp(text, "1");
}

/* "17", "17_4", "17+1" */
static bool get_id(const char *text, char *ret, size_t size)
{
	return isdigit((unsigned char)text[0]) && strspn(text, "0123456789_+") == strlen(text) &&
		phx_str_copy(ret, size, text) == 0;
}

/* "4", and "2-4" of a job that may have fewer: what it wants at most counts, as Slurm tries that
 * first. */
static bool get_nodes(const char *text, uint32_t *ret)
{
	const char *dash = strchr(text, '-');
	char first[16];
	uint32_t least;
	if (dash)
		snprintf(first, sizeof(first), "%.*s", (int)(dash - text), text);
	if (dash && !get_u32(first, &least))
		return false;
	return get_u32(dash ? dash + 1 : text, ret) && *ret;
}

int phx_slurm_parse_limit(const char *text, int64_t *ret_ms)
{
	static const char *const none[] = {"UNLIMITED", "NOT_SET", "Partition_Limit", "INVALID",
					   "N/A"};
	unsigned part[3], days = 0, n = 0;
	int used = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(none); i++)
		if (!strcmp(text, none[i])) {
			*ret_ms = 0;
			return 0;
		}
	if (strspn(text, "0123456789:-") != strlen(text) || strlen(text) > 20)
		return -EINVAL;
	if (strchr(text, '-') && (sscanf(text, "%8u-%n", &days, &used) != 1 || !used))
		return -EINVAL;
	for (text += used; n < 3; n++) {
		used = 0;
		if (sscanf(text, "%8u%n", &part[n], &used) != 1)
			return -EINVAL;
		text += used;
		if (*text != ':')
			break;
		text++;
	}
	if (*text || n < 1 || n > 2)
		return -EINVAL;
	unsigned hours = n == 2 ? part[0] : 0;
	*ret_ms = ((((int64_t)days * 24 + hours) * 60 + part[n - 1]) * 60 + part[n]) * 1000;
	return 0;
}

static bool get_state(const char *text, int *ret)
{
	static const struct {
		const char *name;
		int state;
	} states[] = {
#define JOB_STATE(name, ours) {#name, PHX_ENGINE_JOB_##ours},
#include "slurm/state.def"
#undef JOB_STATE
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(states); i++)
		if (!strcmp(text, states[i].name)) {
			*ret = states[i].state;
			return true;
		}
	return false;
}

/* A job that waits for this would not start if it had nodes. */
static bool waits_for_other(const char *reason)
{
	static const char *const reasons[] = {
		"JobHeldUser",       "JobHeldAdmin",  "JobHoldMaxRequeue",        "Dependency",
		"BeginTime",         "Reservation",   "DependencyNeverSatisfied", "Licenses",
		"JobArrayTaskLimit", "PartitionDown", "PartitionInactive"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(reasons); i++)
		if (!strcmp(reason, reasons[i]))
			return true;
	return false;
}

static int get_hosts(const char *text, struct phx_list *ret)
{
	struct phx_nodeset set = {0};
	struct phx_err why = {0};
	int r = text[0] ? phx_nodeset_parse(text, NULL, NULL, &set, &why) : 0;
	for (uint32_t i = 0; r == 0 && i < set.n; i++) {
		struct phx_engine_host *h = phx_list_push(ret, sizeof(*h));
		r = h ? PHX_STR_SET(h->node, set.names[i]) : -ENOMEM;
	}
	phx_nodeset_fini(&set);
	return r == -ENOMEM ? r : r < 0 ? -EPROTO : 0;
}

/* ---- squeue ---- */

static int fill_job(char **f, struct phx_engine_job *j, const char **ret_why)
{
	bool requeue, batch;
	*ret_why = "has a value that is not understood";
	if (f[PHX_SLURM_JOB_FIELDS][0] || !get_id(f[0], j->id, sizeof(j->id)) ||
	    !get_u32(f[1], &j->uid) || !get_nodes(f[2], &j->nodes) ||
	    !get_time(f[5], &j->submitted_ms) || !get_time(f[6], &j->started_ms) ||
	    phx_slurm_parse_limit(f[7], &j->limit_ms) < 0 || !get_u32(f[8], &j->restarts) ||
	    !get_bool(f[9], &requeue) || !get_bool(f[10], &batch) ||
	    PHX_STR_SET(j->user, f[11]) < 0 || !get_time(f[13], &j->begin_ms))
		return -EPROTO;
	*ret_why = "has a state that is not known";
	if (!get_state(f[3], &j->state))
		return -EPROTO;
	*ret_why = "has nodes that are not understood";
	int r = get_hosts(f[12], &j->hosts);
	bool there = j->state == PHX_ENGINE_JOB_RUNNING || j->state == PHX_ENGINE_JOB_ENDING;
	if (r < 0)
		return r;
	/* for an instant: it leaves its last node, or has none yet */
	if (there && !j->hosts.n)
		j->state = PHX_ENGINE_JOB_HELD;
	if (!there)
		phx_list_fini(&j->hosts);
	if (j->state == PHX_ENGINE_JOB_WAITING && waits_for_other(f[4]))
		j->state = PHX_ENGINE_JOB_HELD;
	if (j->state != PHX_ENGINE_JOB_RUNNING && j->state != PHX_ENGINE_JOB_ENDING)
		j->started_ms = 0; /* of one that waits: a guess that changes all the time */
	if (j->state != PHX_ENGINE_JOB_HELD || strcmp(f[4], "BeginTime"))
		j->begin_ms = 0;
	j->no_requeue = !requeue || !batch;
	return 0;
}

static int take_job(char **f, void *to, const char **ret_why)
{
	struct phx_list *list = to;
	struct phx_engine_job j = {0};
	int r = fill_job(f, &j, ret_why);
	struct phx_engine_job *slot =
		r == 0 && j.state < PHX_ENGINE_JOB_DONE ? phx_list_push(list, sizeof(*slot)) : NULL;
	if (slot) {
		*slot = j;
		return 0;
	}
	phx_record_fini(&phx_engine_job_record, &j);
	return r;
}

int phx_slurm_parse_jobs(const char *text, struct phx_list *ret_jobs, struct phx_err *err)
{
	return each_line(text, "squeue", PHX_SLURM_JOB_FIELDS + 1, take_job, ret_jobs, err);
}

int phx_slurm_by_id(const void *a, const void *b)
{
	return strcmp(((const struct phx_engine_job *)a)->id,
		      ((const struct phx_engine_job *)b)->id);
}

static int take_end(char **f, void *to, const char **ret_why)
{
	struct phx_list *list = to;
	struct phx_engine_job told = {0};
	uint64_t status;
	if (!get_state(f[1], &told.state) || !get_u64(f[2], UINT32_MAX, &status)) {
		*ret_why = "has a value that is not understood";
		return -EPROTO;
	}
	/* as wait() has it: a signal in the low bits, or the exit status above them */
	told.status = status & 0x7f ? (int64_t)(WAIT_STATUS_SIGNAL + (status & 0x7f))
				    : (int64_t)(status >> 8 & 0xff);
	struct phx_engine_job *j = NULL;
	if (told.state >= PHX_ENGINE_JOB_DONE && list->n && PHX_STR_SET(told.id, f[0]) == 0)
		j = bsearch(&told, list->items, list->n, sizeof(told), phx_slurm_by_id);
	if (j) {
		j->state = told.state;
		j->status = told.status;
	}
	return 0;
}

int phx_slurm_parse_ends(const char *text, struct phx_list *jobs, struct phx_err *err)
{
	return each_line(text, "squeue", PHX_SLURM_END_FIELDS + 1, take_end, jobs, err);
}

/* ---- sinfo ---- */

/* "idle+drain", "down+drain+not_responding": is one of the words drain...? */
static bool is_closed(const char *state)
{
	for (const char *p = state; p; p = strchr(p, '+')) {
		p += *p == '+';
		if (phx_str_starts(p, "drain"))
			return true;
	}
	return false;
}

static struct phx_engine_node *add_once(struct phx_list *list, const char *name)
{
	struct phx_engine_node *n =
		list->n ? PHX_LIST_AT(list, struct phx_engine_node, list->n - 1) : NULL;
	if (n && !strcmp(n->name, name))
		return n; /* a line a node and partition */
	n = phx_list_push(list, sizeof(*n));
	if (n)
		PHX_STR_SET(n->name, name);
	return n;
}

/* As it is written on a command line. */
static bool is_partition(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isgraph((unsigned char)*p) || strchr(",='\"|", *p))
			return false;
	return name[0] && strlen(name) < PHX_NAME_MAX;
}

/* One that is down or inactive takes no jobs, or starts none, because somebody wants that. */
static bool get_partition(const char *name, const char *state, struct phx_list *to)
{
	static const char *const states[] = {"up", "drain", "down", "inactive"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(states) && is_partition(name); i++) {
		if (strcmp(state, states[i]))
			continue;
		struct phx_engine_node *p = add_once(to, name);
		if (!p)
			return false;
		p->state = i ? PHX_ENGINE_NODE_CLOSED : PHX_ENGINE_NODE_OPEN;
		p->ours = i == 1;
		return true;
	}
	return false;
}

static int take_node(char **f, void *to, const char **ret_why)
{
	struct phx_slurm_report *report = to;
	*ret_why = "has a value that is not understood";
	if (!phx_name_valid(f[0]) || !f[1][0] ||
	    strspn(f[1], "abcdefghijklmnopqrstuvwxyz_+~#!%$@^*-") != strlen(f[1]) ||
	    !get_partition(f[2], f[3], &report->partitions))
		return -EPROTO;
	struct phx_engine_node *n = add_once(&report->nodes, f[0]);
	if (!n)
		return -ENOMEM;
	n->state = is_closed(f[1]) ? PHX_ENGINE_NODE_CLOSED : PHX_ENGINE_NODE_OPEN;
	n->ours = n->state == PHX_ENGINE_NODE_CLOSED && phx_str_starts(f[4], PHX_SLURM_REASON_MARK);
	return 0;
}

int phx_slurm_parse_nodes(const char *text, struct phx_slurm_report *ret, struct phx_err *err)
{
	return each_line(text, "sinfo", PHX_SLURM_NODE_FIELDS, take_node, ret, err);
}
