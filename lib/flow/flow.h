/* A workflow as it was written: tasks, what each runs and wants of a node, the files that they
 * read and write, and who waits for whom. Readers (lib/trace) put one together as a draft
 * (flow/draft.h); from then on it does not change. Used by the command line, the simulator and
 * whoever carries out workflows. Pure. */
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
#define PHX_FLOW_TIME_MAX_MS ((int64_t)1000000000 * 1000) /* thirty years: all tasks fit */
#define PHX_FLOW_BYTES_MAX ((uint64_t)1 << 50)
#define PHX_FLOW_NONE UINT32_MAX

/** What becomes of a workflow when a task has failed as often as it may. */
enum phx_flow_when_failed {
	PHX_FLOW_STOP,  /* nothing that has not begun begins */
	PHX_FLOW_GO_ON, /* all is done that does not need what this task makes */
	PHX_FLOW_HOLD,  /* nothing begins until a person says so */
};
extern const struct phx_enum phx_flow_when_failed_names;

/** The lists of a task, in this order. */
enum phx_flow_list {
	PHX_FLOW_ARGV,        /* places in the text */
	PHX_FLOW_ENVIRONMENT, /* the same: "NAME=VALUE" */
	PHX_FLOW_INPUTS,      /* files, by their places */
	PHX_FLOW_OUTPUTS,
	PHX_FLOW_PARENTS,  /* tasks, by their places, rising: for whom this one waits */
	PHX_FLOW_CHILDREN, /* rising: who waits for this one */
	PHX_FLOW_LISTS,
};

struct phx_flow_task {
	uint32_t id, name; /* places in the text; the name is its kind ("mDiffFit"), or the id */
	uint32_t line;     /* where it stands in what was read */
	uint32_t nodes;
	uint32_t cores; /* of each of its nodes; 0: all that a node has */
	uint32_t retries;
	uint32_t level; /* 0: it waits for nobody; else one more than the highest of its parents */
	uint32_t when_failed;  /* enum phx_flow_when_failed */
	uint64_t memory_bytes; /* of each of its nodes; 0: not said */
	int64_t time_ms;       /* then it is ended; 0: no limit */
	int64_t run_ms;        /* how long it is expected to take; -1: not known */
	uint32_t at[PHX_FLOW_LISTS +
		    1]; /* where its lists begin in refs; the last: where they end */
};

struct phx_flow_file {
	uint32_t name;   /* place in the text */
	uint32_t line;   /* where it is told of first */
	uint32_t writer; /* the first task that makes it, or PHX_FLOW_NONE */
	uint32_t other;  /* the second one */
	uint32_t n_writers, n_readers;
	bool told;           /* by itself, not only by tasks */
	bool outside;        /* declared to be there before the first task begins */
	uint64_t size_bytes; /* 0: not said */
};

struct phx_flow {
	char *text; /* every name and word, each ended by a NUL */
	size_t n_text;
	struct phx_flow_task *tasks; /* as they were written */
	struct phx_flow_file *files; /* by name */
	uint32_t *refs;              /* what the lists of the tasks hold */
	uint32_t n_tasks, n_files, n_refs, n_levels;
	uint32_t name; /* place in the text; of an unnamed one ""  */
	/* the form that it was written in tells of every file from outside */
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
/** Iterate over a list of a task: PHX_FLOW_EACH(it, f, task, PHX_FLOW_PARENTS) { ... *it ... } */
#define PHX_FLOW_EACH(it, f, task, list) \
	for (const uint32_t *it = (f)->refs + (f)->tasks[task].at[list], \
			    *it##_end_ = (f)->refs + (f)->tasks[task].at[(list) + 1]; \
	     it < it##_end_; it++)

/** What a workflow comes to. */
struct phx_flow_sums {
	uint32_t n_kinds; /* different names of tasks */
	uint32_t widest;  /* most tasks of one level */
	uint32_t n_dependencies;
	uint32_t n_unknown; /* tasks of which is not known how long they take */
	uint64_t n_bytes;   /* sizes of all files, as often as tasks read or write them */
	int64_t work_ms;    /* how long all tasks take together, each on its nodes */
	int64_t longest_ms; /* the longest way by time: no schedule is shorter */
};
/** -ENOMEM; ret untouched then. */
int phx_flow_sum(const struct phx_flow *f, struct phx_flow_sums *ret);
/** The tasks of the longest way by time, in order: *ret_n places, owned by the caller. -ENOMEM. */
int phx_flow_longest(const struct phx_flow *f, uint32_t **ret, uint32_t *ret_n);

/** Told of what would go wrong when the workflow is carried out; `task`: whose fault it is, or
 * PHX_FLOW_NONE; `line`: in what was read. */
typedef void phx_flow_found_fn(void *arg, uint32_t task, uint32_t line, const char *text);
/** What phx_flow_make() lets pass, since who only asks how long it takes need not care: a task
 * with nothing to run, a file that two tasks write, or that nobody makes and nobody promised, or
 * that lies elsewhere than below the data directory; a task that reads what it writes, or what
 * another makes for which it does not wait. Tells each, by task and then by file; how many there
 * were. */
uint32_t phx_flow_check(const struct phx_flow *f, phx_flow_found_fn *found, void *arg);

#endif
