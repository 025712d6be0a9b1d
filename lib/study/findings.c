/* What the papers say in words, of all of them. Called by the page and by tests. */
#include <errno.h>

#include "study/finding_desk.h"

int phx_papers_findings(struct phx_papers *p, struct phx_list *ret, struct phx_err *err)
{
	struct desk d = {.p = p, .list = ret, .err = err};
	int r = phx_papers_study(p, &d.s, err);
	if (r < 0)
		return r;
	find_curves(&d);
	find_iaas(&d);
	if (d.error == -ENOMEM)
		return phx_err_set(err, -ENOMEM, "out of memory");
	return d.error;
}
