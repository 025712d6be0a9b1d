/* Where findings are written down: what a paper says in words of its runs, checked on ours
 * (finding_iaas.c, finding_curves.c). A finding is comparisons; it holds when all do. Where a paper
 * gives no number ("small", "similar"), the bound taken stands in the text. */
#ifndef PHX_STUDY_FINDING_DESK_H
#define PHX_STUDY_FINDING_DESK_H

#include "study/papers_internal.h"

struct desk {
	struct phx_papers *p;
	const struct phx_iaas_study *s; /* of 002 */
	struct phx_list *list;          /* struct phx_paper_finding */
	struct phx_paper_finding *now;  /* that is being written; NULL: there is no memory */
	int error;                      /* the first; nothing is looked at after it */
	struct phx_err *err;
};

/** Begin a finding. `live`: the paper has it from live machines. `remark`: printed where it
 * does not hold. Borrowed for good. */
void desk_begin(struct desk *d, const char *section, bool live, const char *text,
		const char *remark);
/** One comparison of it, with its figures. */
void desk_check(struct desk *d, bool holds, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** 002, from d->s. */
void find_iaas(struct desk *d);
/** 000 and 003, of the curves of their figures. */
void find_curves(struct desk *d);

#endif
