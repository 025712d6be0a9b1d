/* Reads workflows in WfFormat (JSON): see wfformat.h. The text is read in place, member by member,
 * in whatever order they come; what the schema has beyond this is passed over. Called by
 * trace/workflow.c. */
#include "trace/wfformat.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json_scan.h"
#include "flow/draft.h"
#include "trace/decimal.h"

/* A member, or an item of a list, within which we are: name NULL: the item. */
struct place {
	const char *name; /* borrowed from who reads the object */
	unsigned item;
};

enum { PLACES_MAX = 12 }; /* deeper than anything that is read */

struct reading {
	struct phx_flow_draft d;
	struct phx_err *err;
	struct phx_scan s;
	const char *counted; /* up to here lines are counted */
	uint32_t line;
	struct place path[PLACES_MAX]; /* of the member that is being read */
	unsigned n_path;
	char *word; /* the last text that was read, of n_word bytes */
	size_t n_word, word_size;
	/* where the two halves begin; text NULL: there is none */
	struct phx_scan specification, execution;
	uint32_t *sorted; /* phx_flow_draft_sort(), once all tasks are there */
	uint32_t task;    /* the one that is being read */
	uint64_t size_bytes;
	bool has_id, run_unknown, version_told;
};

/* A member of an object: how its value is read. */
struct member {
	const char *name;
	int (*read)(struct reading *rd);
};

static uint32_t line_now(struct reading *rd)
{
	if (rd->counted > rd->s.at) { /* the second half stands before the first */
		rd->counted = rd->s.text;
		rd->line = 1;
	}
	for (; rd->counted < rd->s.at; rd->counted++)
		rd->line += *rd->counted == '\n';
	return rd->line;
}

static int fail(struct reading *rd, const char *text)
{
	char path[PHX_ERR_TEXT_MAX] = "";
	size_t n = 0;
	for (unsigned i = 0; i < rd->n_path && n < sizeof(path); i++) {
		const struct place *at = &rd->path[i];
		n += (size_t)(at->name ? snprintf(path + n, sizeof(path) - n, "%s%.60s",
						  n ? "." : "", at->name)
				       : snprintf(path + n, sizeof(path) - n, "[%u]", at->item));
	}
	return phx_flow_fail(&rd->d, line_now(rd), rd->err, "%s%s%s", path, n ? ": " : "",
			     rd->s.want ? rd->s.want : text);
}

static void enter(struct reading *rd, const char *name, unsigned item)
{
	assert(rd->n_path < PLACES_MAX);
	rd->path[rd->n_path++] = (struct place){name, item};
}

/* Out again, with what came of it: what is no JSON is told here, if nobody has told it. */
static int leave(struct reading *rd, int r)
{
	r = r < 0 && rd->s.want ? fail(rd, "") : r;
	rd->n_path--;
	return r;
}

static int read_object(struct reading *rd, const struct member *members, size_t n)
{
	char name[PHX_SCAN_NAME_MAX];
	bool began = false;
	if (phx_scan_peek(&rd->s) != '{')
		return fail(rd, "expected an object: { ... }");
	while (phx_scan_member(&rd->s, &began, name)) {
		size_t i = 0;
		enter(rd, name, 0);
		while (i < n && strcmp(members[i].name, name) != 0)
			i++;
		int r = i < n ? members[i].read(rd) : phx_scan_skip(&rd->s);
		r = leave(rd, r);
		if (r < 0)
			return r;
	}
	return rd->s.want ? fail(rd, "") : 0;
}
#define READ_OBJECT(rd, members) read_object(rd, members, PHX_ARRAY_SIZE(members))

static int read_list(struct reading *rd, int (*read)(struct reading *rd))
{
	bool began = false;
	if (phx_scan_peek(&rd->s) != '[')
		return fail(rd, "expected a list: [ ... ]");
	for (unsigned i = 0; phx_scan_item(&rd->s, &began); i++) {
		enter(rd, NULL, i);
		int r = read(rd);
		r = leave(rd, r);
		if (r < 0)
			return r;
	}
	return rd->s.want ? fail(rd, "") : 0;
}

/* ---- values ---- */

static int read_word(struct reading *rd)
{
	struct phx_scan from = rd->s;
	if (phx_scan_peek(&rd->s) != '"')
		return fail(rd, "expected a text: \"...\"");
	int64_t n = phx_scan_string(&rd->s, NULL, 0);
	if (n < 0)
		return fail(rd, "");
	if ((size_t)n >= rd->word_size) {
		char *more = realloc(rd->word, (size_t)n * 2 + 64);
		if (!more)
			return phx_err_set(rd->err, -ENOMEM, "%s: out of memory", rd->d.what);
		rd->word = more;
		rd->word_size = (size_t)n * 2 + 64;
	}
	phx_scan_string(&from, rd->word, rd->word_size);
	rd->n_word = (size_t)n;
	return 0;
}

static int read_text(struct reading *rd, uint32_t *ret)
{
	int r = read_word(rd);
	return r < 0 ? r : phx_flow_draft_text(&rd->d, rd->word, rd->n_word, ret, rd->err);
}

/* A number to thousandths. */
static int read_milli(struct reading *rd, uint64_t max_milli, uint64_t *ret)
{
	char c = phx_scan_peek(&rd->s);
	const char *from = rd->s.at;
	if (c < '0' || c > '9')
		return fail(rd, "expected a number, not below 0");
	if (phx_scan_skip(&rd->s) < 0)
		return fail(rd, "");
	if (phx_decimal_json(from, (size_t)(rd->s.at - from), max_milli, ret) < 0)
		return fail(rd, "the number is too large");
	return 0;
}

static int read_whole(struct reading *rd, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t milli = 0;
	int r = read_milli(rd, max * 1000 + 999, &milli);
	if (r == 0 && milli / 1000 < min)
		return fail(rd, "the number is too small");
	if (r == 0)
		*ret = milli / 1000;
	return r;
}

static int read_u32(struct reading *rd, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t value = 0;
	int r = read_whole(rd, min, max, &value);
	if (r == 0)
		*ret = (uint32_t)value;
	return r;
}

static struct phx_flow_task *task_of(struct reading *rd)
{
	return PHX_LIST_AT(&rd->d.tasks, struct phx_flow_task, rd->task);
}

/* A text that is one of many of the task. */
static int read_link(struct reading *rd, enum phx_flow_link_kind kind)
{
	uint32_t line = line_now(rd);
	int r = read_word(rd);
	return r < 0
		? r
		: phx_flow_draft_link(&rd->d, rd->task, kind, rd->word, rd->n_word, line, rd->err);
}

/* ---- specification ---- */

static int read_id(struct reading *rd)
{
	rd->has_id = true;
	return read_text(rd, &task_of(rd)->id);
}

static int read_name(struct reading *rd)
{
	uint32_t name;
	int r = read_text(rd, &name);
	if (r == 0)
		task_of(rd)->name = name;
	return r;
}

#define LINKS(what, KIND) \
	static int read_one_##what(struct reading *rd) \
	{ \
		return read_link(rd, PHX_FLOW_LINK_##KIND); \
	} \
	static int read_##what(struct reading *rd) \
	{ \
		return read_list(rd, read_one_##what); \
	}
LINKS(parents, PARENT)
LINKS(children, CHILD)
LINKS(inputs, INPUT)
LINKS(outputs, OUTPUT)
LINKS(arguments, ARGV)
LINKS(environment, ENVIRONMENT)

static int read_task(struct reading *rd)
{
	static const struct member members[] = {
		{"id", read_id},
		{"name", read_name},
		{"parents", read_parents},
		{"children", read_children},
		{"inputFiles", read_inputs},
		{"outputFiles", read_outputs},
	};
	phx_scan_peek(&rd->s);
	if (!phx_flow_draft_task(&rd->d, line_now(rd), rd->err))
		return -EINVAL;
	rd->task = rd->d.tasks.n - 1;
	rd->has_id = false;
	int r = READ_OBJECT(rd, members);
	return r == 0 && !rd->has_id ? fail(rd, "id: missing") : r;
}

static int read_tasks(struct reading *rd)
{
	return read_list(rd, read_task);
}

static int read_file_id(struct reading *rd)
{
	rd->has_id = true;
	return read_word(rd);
}

static int read_file_size(struct reading *rd)
{
	return read_whole(rd, 0, PHX_FLOW_BYTES_MAX, &rd->size_bytes);
}

/* What stands here and nobody makes is there before: WfFormat tells of all files. */
static int read_file(struct reading *rd)
{
	static const struct member members[] = {{"id", read_file_id},
						{"sizeInBytes", read_file_size}};
	phx_scan_peek(&rd->s);
	uint32_t line = line_now(rd);
	rd->has_id = false;
	rd->size_bytes = 0;
	int r = READ_OBJECT(rd, members);
	if (r == 0 && !rd->has_id)
		return fail(rd, "id: missing");
	return r < 0 ? r
		     : phx_flow_draft_file(&rd->d, rd->word, rd->n_word, rd->size_bytes, false,
					   line, rd->err);
}

static int read_files(struct reading *rd)
{
	rd->d.tells_outside = true;
	return read_list(rd, read_file);
}

/* ---- execution: how long tasks took, what they ran ---- */

/* The tasks of the specification are known; this one is one of them. */
static int read_executed_id(struct reading *rd)
{
	int r = read_word(rd);
	if (r < 0)
		return r;
	rd->has_id = true;
	rd->task = phx_flow_draft_find(&rd->d, rd->sorted, rd->word);
	return rd->task == PHX_FLOW_NONE ? fail(rd, "no such task in workflow.specification") : 0;
}

static int read_runtime(struct reading *rd)
{
	uint64_t milli = 0;
	int r = read_milli(rd, (uint64_t)PHX_FLOW_TIME_MAX_MS, &milli);
	if (r == 0)
		task_of(rd)->run_ms = (int64_t)milli;
	return r;
}

static int read_cores(struct reading *rd)
{
	return read_u32(rd, 1, PHX_FLOW_CORES_MAX, &task_of(rd)->cores);
}

static int read_memory(struct reading *rd)
{
	return read_whole(rd, 0, PHX_FLOW_BYTES_MAX, &task_of(rd)->memory_bytes);
}

static int read_program(struct reading *rd)
{
	return read_link(rd, PHX_FLOW_LINK_ARGV);
}

/* The program comes before its arguments, wherever it stands. */
static int read_command(struct reading *rd)
{
	static const struct member program[] = {{"program", read_program}},
				   arguments[] = {{"arguments", read_arguments}};
	struct phx_scan from = rd->s;
	int r = READ_OBJECT(rd, program);
	rd->s = r < 0 ? rd->s : from;
	return r < 0 ? r : READ_OBJECT(rd, arguments);
}

static int read_nodes(struct reading *rd)
{
	return read_u32(rd, 1, PHX_FLOW_NODES_MAX, &task_of(rd)->nodes);
}

static int read_retries(struct reading *rd)
{
	return read_u32(rd, 0, PHX_FLOW_RETRIES_MAX, &task_of(rd)->retries);
}

static int read_time(struct reading *rd)
{
	uint64_t milli = 0;
	int r = read_milli(rd, (uint64_t)PHX_FLOW_TIME_MAX_MS, &milli);
	if (r == 0)
		task_of(rd)->time_ms = (int64_t)milli;
	return r;
}

static int read_when_failed(struct reading *rd)
{
	int value, r = read_word(rd);
	struct phx_err err = {0};
	if (r < 0)
		return r;
	if (phx_enum_parse(&phx_flow_when_failed_names, rd->word, &value, &err) < 0)
		return fail(rd, err.text);
	task_of(rd)->when_failed = (uint32_t)value;
	return 0;
}

/* runtimeInSeconds must stand there; this says that nobody knows it. */
static int read_run_known(struct reading *rd)
{
	rd->run_unknown = phx_scan_peek(&rd->s) == 'f';
	return phx_scan_word(&rd->s, rd->run_unknown ? "false" : "true") ? 0 : fail(rd, "");
}

static int read_phoenix(struct reading *rd)
{
	static const struct member members[] = {
		{"nodes", read_nodes},
		{"retries", read_retries},
		{"timeInSeconds", read_time},
		{"when_failed", read_when_failed},
		{"environment", read_environment},
		{"runtimeKnown", read_run_known},
	};
	return READ_OBJECT(rd, members);
}

/* Which task it is comes first, wherever it stands. */
static int read_executed(struct reading *rd)
{
	static const struct member ids[] = {{"id", read_executed_id}},
				   members[] = {
					   {"runtimeInSeconds", read_runtime},
					   {"coreCount", read_cores},
					   {"memoryInBytes", read_memory},
					   {"command", read_command},
					   {"phoenix", read_phoenix},
				   };
	struct phx_scan from = rd->s;
	rd->has_id = rd->run_unknown = false;
	int r = READ_OBJECT(rd, ids);
	if (r == 0 && !rd->has_id)
		return fail(rd, "id: missing");
	if (r < 0)
		return r;
	rd->s = from;
	r = READ_OBJECT(rd, members);
	if (r == 0 && rd->run_unknown)
		task_of(rd)->run_ms = -1;
	return r;
}

static int read_executed_tasks(struct reading *rd)
{
	return read_list(rd, read_executed);
}

/* ---- the whole ---- */

static int read_version(struct reading *rd)
{
	int r = read_word(rd);
	rd->version_told = true;
	if (r == 0 && strcmp(rd->word, "1.5") != 0 && strcmp(rd->word, "1.4") != 0)
		return fail(rd, "expected WfFormat 1.5 (or 1.4, which has the same members)");
	return r;
}

static int read_workflow_name(struct reading *rd)
{
	return read_text(rd, &rd->d.name);
}

static int find_specification(struct reading *rd)
{
	rd->specification = rd->s;
	return phx_scan_skip(&rd->s);
}

static int find_execution(struct reading *rd)
{
	rd->execution = rd->s;
	return phx_scan_skip(&rd->s);
}

static int read_workflow(struct reading *rd)
{
	static const struct member members[] = {{"specification", find_specification},
						{"execution", find_execution}};
	return READ_OBJECT(rd, members);
}

static int read_root(struct reading *rd)
{
	static const struct member members[] = {{"name", read_workflow_name},
						{"schemaVersion", read_version},
						{"workflow", read_workflow}};
	int r = READ_OBJECT(rd, members);
	if (r == 0 && !phx_scan_end(&rd->s))
		return fail(rd, "");
	if (r == 0 && !rd->version_told)
		return fail(rd, "schemaVersion: missing: is it WfFormat?");
	if (r == 0 && !rd->specification.text)
		return fail(rd, "workflow.specification: missing");
	return r;
}

static int read_halves(struct reading *rd)
{
	static const struct member tasks[] = {{"tasks", read_tasks}, {"files", read_files}},
				   executed[] = {{"tasks", read_executed_tasks}};
	rd->s = rd->specification;
	enter(rd, "workflow.specification", 0);
	int r = leave(rd, READ_OBJECT(rd, tasks));
	if (r < 0 || !rd->execution.text)
		return r;
	rd->sorted = phx_flow_draft_sort(&rd->d);
	if (!rd->sorted)
		return phx_err_set(rd->err, -ENOMEM, "%s: out of memory", rd->d.what);
	rd->s = rd->execution;
	enter(rd, "workflow.execution", 0);
	return leave(rd, READ_OBJECT(rd, executed));
}

int phx_wfformat_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		      struct phx_err *err)
{
	struct reading rd = {
		.d.what = name, .err = err, .s = phx_scan_of(text), .counted = text, .line = 1};
	int r = strlen(text) == n ? read_root(&rd) : fail(&rd, "a NUL is in it: expected a text");
	r = r < 0 ? r : read_halves(&rd);
	r = r < 0 ? r : phx_flow_make(&rd.d, ret, err);
	phx_flow_draft_fini(&rd.d);
	free(rd.word);
	free(rd.sorted);
	return r;
}
