/* Findings on an agreement: what agreement.c and the files of the kinds share. Used within
 * lib/types only. */
#ifndef PHX_TYPES_AGREEMENT_FINDINGS_H
#define PHX_TYPES_AGREEMENT_FINDINGS_H

#include "types/re_kind.h"

struct phx_agreement_findings {
	const struct phx_agreement *a, *def; /* the agreement; one with all defaults */
	const struct phx_policy *policy;     /* NULL: no such model */
	phx_agreement_found_fn found;        /* NULL: findings are only counted */
	void *arg;
	unsigned n;
};

/** Adds a finding if `wrong`; in messages `text` follows the name of the key. Both are borrowed for
 * the call. */
static inline void wrong_if(struct phx_agreement_findings *f, bool wrong, const char *field,
			    const char *text)
{
	if (!wrong)
		return;
	f->n++;
	if (f->found)
		f->found(f->arg, field, text);
}

#define KIND(id, name, text) extern const struct phx_re_kind phx_re_kind_##name;
#include "types/re_kind.def"
#undef KIND

#endif
