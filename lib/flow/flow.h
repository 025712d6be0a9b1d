/* A workflow as it was written: tasks, what each runs and requires of a node, the files that they
 * read and write, and their dependencies. Readers (lib/trace) build it as a draft (flow/draft.h);
 * after that it does not change. Used by the command line, the simulator and the code that carries
 * out workflows. Pure. */
#ifndef PHX_FLOW_FLOW_H
#define PHX_FLOW_FLOW_H

#include "base/util.h"

#define PHX_FLOW_TASKS_MAX 1000000
/** Bytes of the words of one task's command, and of its environment, each with its NUL. */
#define PHX_FLOW_WORDS_MAX (1U << 20)
#define PHX_FLOW_NAME_MAX 256 /* room for the id of a task, the name of a file */
#define PHX_FLOW_NODES_MAX 1000000
#define PHX_FLOW_CORES_MAX 65536
#define PHX_FLOW_RETRIES_MAX 1000
#define PHX_FLOW_TIME_MAX_MS ((int64_t)1000000000 * 1000) /* thirty years: sums fit */
#define PHX_FLOW_BYTES_MAX ((uint64_t)1 << 50)
#define PHX_FLOW_NONE UINT32_MAX

/** What happens to a workflow when a task has failed for good (no retries left). */
enum phx_flow_when_failed {
	PHX_FLOW_STOP,  /* no further task begins */
	PHX_FLOW_GO_ON, /* all tasks that do not depend on it are carried out */
	PHX_FLOW_HOLD,  /* nothing begins until a person releases it */
};
extern const struct phx_enum phx_flow_when_failed_names;

/** The lists of a task, in this order. */
enum phx_flow_list {
	PHX_FLOW_ARGV,        /* offsets in the text */
	PHX_FLOW_ENVIRONMENT, /* likewise: "NAME=VALUE" */
	PHX_FLOW_INPUTS,      /* indexes of files */
	PHX_FLOW_OUTPUTS,
	PHX_FLOW_PARENTS,  /* indexes of tasks, ascending: those for which this one waits */
	PHX_FLOW_CHILDREN, /* ascending: those that wait for this one */
	PHX_FLOW_LISTS,
};

struct phx_flow_task {
	uint32_t id, name; /* offsets in the text; the name is its kind ("mDiffFit"), or the id */
	uint32_t line;     /* its line in the source */
	uint32_t nodes;
	uint32_t cores; /* of its node; 0: all. Of several nodes it always has all */
	uint32_t retries;
	uint32_t level; /* 0: no parents; else one more than the highest level of its parents */
	uint32_t when_failed;            /* enum phx_flow_when_failed */
	uint64_t memory_bytes;           /* of each of its nodes; 0: not given */
	int64_t time_ms;                 /* it is ended after that; 0: no limit */
	int64_t run_ms;                  /* expected run time; -1: unknown */
	uint32_t at[PHX_FLOW_LISTS + 1]; /* where its lists begin in refs; the last: their end */
};

struct phx_flow_file {
	uint32_t name;   /* offset in the text */
	uint32_t line;   /* its first line in the source */
	uint32_t writer; /* the first task that makes it, or PHX_FLOW_NONE */
	uint32_t other;  /* the second one */
	uint32_t n_writers, n_readers;
	bool told;           /* declared by itself, not only by tasks */
	bool outside;        /* declared to exist before the first task begins */
	uint64_t size_bytes; /* 0: not given */
};

struct phx_flow {
	char *text; /* every name and word, each ended by a NUL */
	size_t n_text;
	struct phx_flow_task *tasks; /* as they were written */
	struct phx_flow_file *files; /* by name */
	uint32_t *refs;              /* the lists of all tasks */
	uint32_t n_tasks, n_files, n_refs, n_levels;
	uint32_t name; /* offset in the text; "" if it has none */
	/* its source format declares every file from outside */
	bool tells_outside;
};

/** Safe on NULL and on a zeroed one. */
void phx_flow_fini(struct phx_flow *f);

static inline const char *phx_flow_text(const struct phx_flow *f, uint32_t at)
{
	return f->text + at;
}
static inline const char *phx_flow_id(const struct phx_flow *f, uint32_t task)
{
	return f->text + f->tasks[task].id;
}
/** Does the task run on several nodes, which it has alone? */
static inline bool phx_flow_is_wide(const struct phx_flow_task *t)
{
	return t->nodes > 1;
}
static inline const char *phx_flow_file_name(const struct phx_flow *f, uint32_t file)
{
	return f->text + f->files[file].name;
}
/** A list of a task: borrowed, *ret_n items. */
static inline const uint32_t *phx_flow_list(const struct phx_flow *f, uint32_t task,
					    enum phx_flow_list list, uint32_t *ret_n)
{
	const uint32_t *at = &f->tasks[task].at[list];
	*ret_n = at[1] - at[0];
	return f->refs + at[0];
}
/** Iterates over a list of a task: PHX_FLOW_EACH(it, f, task, PHX_FLOW_PARENTS) { ... *it ... } */
#define PHX_FLOW_EACH(it, f, task, list) \
	for (const uint32_t *it = (f)->refs + (f)->tasks[task].at[list], \
			    *it##_end_ = (f)->refs + (f)->tasks[task].at[(list) + 1]; \
	     it < it##_end_; it++)

/** Totals of a workflow. */
struct phx_flow_sums {
	uint32_t n_kinds; /* different names of tasks */
	uint32_t widest;  /* the most tasks of one level */
	uint32_t n_dependencies;
	uint32_t n_unknown; /* tasks with unknown run time */
	uint64_t
		n_bytes; /* sizes of all files, counted each time that a task reads or writes one */
	int64_t work_ms; /* run times of all tasks, times their nodes */
	int64_t longest_ms; /* the critical path: no schedule is shorter */
};
/** -ENOMEM; ret untouched then. */
int phx_flow_sum(const struct phx_flow *f, struct phx_flow_sums *ret);
/** The tasks of the critical path, in order: *ret_n indexes, owned by the caller. -ENOMEM. */
int phx_flow_longest(const struct phx_flow *f, uint32_t **ret, uint32_t *ret_n);

/** Called with each problem of carrying out the workflow; `task`: the task at fault, or
 * PHX_FLOW_NONE; `line`: in the source. */
typedef void phx_flow_found_fn(void *arg, uint32_t task, uint32_t line, const char *text);
/** Finds problems that phx_flow_make() accepts, since they do not matter for estimates: a task
 * without a command; a file that two tasks write, that no task makes and nobody declared, or that
 * lies outside the data directory; a task that reads what it writes, or reads a file of a task for
 * which it does not wait. Reports them by task, then by file; returns their number. */
uint32_t phx_flow_check(const struct phx_flow *f, phx_flow_found_fn *found, void *arg);

#endif
