/* A workflow while its file is read, in any order; phx_flow_make() turns it into a workflow. Used
 * by the readers (lib/trace). Pure. */
#ifndef PHX_FLOW_DRAFT_H
#define PHX_FLOW_DRAFT_H

#include "flow/flow.h"

/** What a task can have several of. */
enum phx_flow_link_kind {
	PHX_FLOW_LINK_ARGV,
	PHX_FLOW_LINK_ENVIRONMENT,
	PHX_FLOW_LINK_INPUT,
	PHX_FLOW_LINK_OUTPUT,
	PHX_FLOW_LINK_PARENT, /* the id of another task */
	PHX_FLOW_LINK_CHILD,
	PHX_FLOW_LINK_ORDER, /* `text` is the id of a parent, `task` the offset of the child's id */
};

struct phx_flow_link {
	uint32_t task, kind, text, line;
	uint64_t size_bytes; /* of a file, as given here */
};

/** Zero-initialise, then set `what`. */
struct phx_flow_draft {
	const char *what;    /* names the file in errors; borrowed */
	struct phx_buf text; /* begins with a NUL: offset 0 is "" */
	/* struct phx_flow_task; id, name: offsets in `text`, each of a text of its own */
	struct phx_list tasks;
	struct phx_list links; /* struct phx_flow_link */
	struct phx_list files; /* struct phx_flow_file, those declared by themselves */
	uint32_t name;
	bool by_files;      /* a task that reads a file waits for the one task that writes it */
	bool tells_outside; /* a file that no task writes and nobody declared is an error */
};
void phx_flow_draft_fini(struct phx_flow_draft *d);

/** Puts "WHAT:LINE: ..." into err; bytes that are not UTF-8 become '?'. Returns -EINVAL. */
int phx_flow_fail(const struct phx_flow_draft *d, uint32_t line, struct phx_err *err,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** Adds `n` bytes, none of them NUL, to the text. -ENOMEM, -E2BIG with a text. */
int phx_flow_draft_text(struct phx_flow_draft *d, const char *text, size_t n, uint32_t *ret,
			struct phx_err *err);
/** Adds a task with the defaults: one node, all its cores, no retries, no time limit. Borrowed
 * until the next one is added. NULL: too many tasks, or out of memory, with a text. */
struct phx_flow_task *phx_flow_draft_task(struct phx_flow_draft *d, uint32_t line,
					  struct phx_err *err);
/** Adds a link to a task. Errors as phx_flow_draft_text(). */
int phx_flow_draft_link(struct phx_flow_draft *d, uint32_t task, enum phx_flow_link_kind kind,
			const char *text, size_t n, uint32_t line, struct phx_err *err);
/** Sets the size of the file of the last phx_flow_draft_link(). */
void phx_flow_draft_size(struct phx_flow_draft *d, uint64_t size_bytes);
/** The task `child` waits for the task `parent`; both are offsets of ids in the text. Errors as
 * phx_flow_draft_text(). */
int phx_flow_draft_order(struct phx_flow_draft *d, uint32_t child, uint32_t parent, uint32_t line,
			 struct phx_err *err);
/** Declares a file by itself; `outside`: it exists before the first task begins, as every declared
 * file does that no task makes. If declared twice, the larger size holds. Errors as
 * phx_flow_draft_text(). */
int phx_flow_draft_file(struct phx_flow_draft *d, const char *name, size_t n, uint64_t size_bytes,
			bool outside, uint32_t line, struct phx_err *err);

/** Indexes of all tasks, sorted by id, then in the order of addition; owned by the caller. NULL:
 * out of memory. */
uint32_t *phx_flow_draft_sort(const struct phx_flow_draft *d);
/** The index of the task with this id, found in the result of phx_flow_draft_sort(); PHX_FLOW_NONE:
 * there is none. */
uint32_t phx_flow_draft_find(const struct phx_flow_draft *d, const uint32_t *sorted,
			     const char *id);

/** Makes the workflow of a draft, in O(n log n) of its parts. -EINVAL "WHAT:LINE: task "ID": ...":
 * no task, a malformed name, an id that is missing, malformed or there twice, a parent that does
 * not exist, a cycle (named by its members), a command or environment that is too long, a malformed
 * name of a file or variable; -ENOMEM; ret is untouched then. */
int phx_flow_make(const struct phx_flow_draft *d, struct phx_flow *ret, struct phx_err *err);

#endif
