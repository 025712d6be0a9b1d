/* A workflow while it is read, in whatever order its file tells of it; phx_flow_make() makes a
 * workflow of it. Used by the readers (lib/trace). Pure. */
#ifndef PHX_FLOW_DRAFT_H
#define PHX_FLOW_DRAFT_H

#include "flow/flow.h"

/** What a task has many of. */
enum phx_flow_link_kind {
	PHX_FLOW_LINK_ARGV,
	PHX_FLOW_LINK_ENVIRONMENT,
	PHX_FLOW_LINK_INPUT,
	PHX_FLOW_LINK_OUTPUT,
	PHX_FLOW_LINK_PARENT, /* the id of another */
	PHX_FLOW_LINK_CHILD,
	PHX_FLOW_LINK_ORDER, /* `text` is the id of a parent, `task` the place of the child's id */
};

struct phx_flow_link {
	uint32_t task, kind, text, line;
	uint64_t size_bytes; /* of a file, as said here */
};

/** Zero-initialise, then say `what`. */
struct phx_flow_draft {
	const char *what;      /* stands for the file in errors; borrowed */
	struct phx_buf text;   /* begins with a NUL: place 0 is "" */
	struct phx_list tasks; /* struct phx_flow_task; id, name: places in `text` */
	struct phx_list links; /* struct phx_flow_link */
	struct phx_list files; /* struct phx_flow_file that are told of by themselves */
	uint32_t name;
	bool by_files;      /* who reads a file waits for the one task that writes it */
	bool tells_outside; /* files of nobody that are not told of are an error */
};
void phx_flow_draft_fini(struct phx_flow_draft *d);

/** "WHAT:LINE: ..." into err; bytes that are no UTF-8 become '?'. Returns -EINVAL. */
int phx_flow_fail(const struct phx_flow_draft *d, uint32_t line, struct phx_err *err,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** Keep `n` bytes, none of them NUL. -ENOMEM, -E2BIG with a text. */
int phx_flow_draft_text(struct phx_flow_draft *d, const char *text, size_t n, uint32_t *ret,
			struct phx_err *err);
/** A new task with the defaults: one node, all its cores, no retries, no time. Borrowed until the
 * next is added. NULL: too many of them, or no memory, with a text. */
struct phx_flow_task *phx_flow_draft_task(struct phx_flow_draft *d, uint32_t line,
					  struct phx_err *err);
/** A task that was added has this, too. Errors as phx_flow_draft_text(). */
int phx_flow_draft_link(struct phx_flow_draft *d, uint32_t task, enum phx_flow_link_kind kind,
			const char *text, size_t n, uint32_t line, struct phx_err *err);
/** The size of the file that phx_flow_draft_link() told of last. */
void phx_flow_draft_size(struct phx_flow_draft *d, uint64_t size_bytes);
/** The task `child` waits for the task `parent`, both by their ids, which are kept already. Errors
 * as phx_flow_draft_text(). */
int phx_flow_draft_order(struct phx_flow_draft *d, uint32_t child, uint32_t parent, uint32_t line,
			 struct phx_err *err);
/** A file told of by itself; `outside`: it is there before the first task begins, as it is in any
 * case when no task makes it. Told of twice: the larger size holds. Errors as
 * phx_flow_draft_text(). */
int phx_flow_draft_file(struct phx_flow_draft *d, const char *name, size_t n, uint64_t size_bytes,
			bool outside, uint32_t line, struct phx_err *err);

/** The places of all tasks that were added, by their ids and then as they were added: owned by the
 * caller. NULL: no memory. */
uint32_t *phx_flow_draft_sort(const struct phx_flow_draft *d);
/** The place of the task with this id, by what phx_flow_draft_sort() gave; PHX_FLOW_NONE. */
uint32_t phx_flow_draft_find(const struct phx_flow_draft *d, const uint32_t *sorted,
			     const char *id);

/** The workflow that was drafted, which takes time by the number n of its parts as n log n does.
 * -EINVAL "WHAT:LINE: task "ID": ...": no task, a malformed name, an id that is missing, malformed
 * or there twice, a parent that does not exist, a circle of tasks (named by its members), a command
 * or environment that is too long, a malformed name of a file or variable; -ENOMEM; ret untouched
 * then. */
int phx_flow_make(const struct phx_flow_draft *d, struct phx_flow *ret, struct phx_err *err);

#endif
