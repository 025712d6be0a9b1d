/* Writes findings down. Called by finding_iaas.c and finding_curves.c; decides nothing. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study/finding_desk.h"

void desk_begin(struct desk *d, const char *section, bool live, const char *text,
		const char *remark)
{
	d->now = d->error ? NULL : phx_list_push(d->list, sizeof(*d->now));
	if (!d->now) {
		d->error = d->error ? d->error : -ENOMEM;
		return;
	}
	*d->now = (struct phx_paper_finding){
		.section = section, .text = text, .remark = remark, .live = live, .holds = true};
}

void desk_check(struct desk *d, bool holds, const char *format, ...)
{
	struct phx_paper_finding *f = d->now;
	va_list args;
	if (!f || d->error)
		return;
	f->holds = f->holds && holds;
	size_t n = strlen(f->figures), size = sizeof(f->figures);
	if (n && n + 3 < size)
		n += (size_t)snprintf(f->figures + n, size - n, "; ");
	va_start(args, format);
	vsnprintf(f->figures + n, size - n, format, args);
	va_end(args);
}
