/* The table of kinds of RE: see re_kind.h. Called by every room that has to do with REs. Pure. */
#include <string.h>

#include "types/agreement_findings.h"

static const char *const names[] = {
#define KIND(id, name, text) text,
#include "types/re_kind.def"
#undef KIND
};
const struct phx_enum phx_re_type_names = {"workload type", names, PHX_ARRAY_SIZE(names)};

const struct phx_re_kind *const phx_re_kinds[PHX_RE_TYPE_COUNT_] = {
#define KIND(id, name, text) &phx_re_kind_##name,
#include "types/re_kind.def"
#undef KIND
};

const struct phx_re_kind *phx_re_kind(const struct phx_agreement *a)
{
	return phx_re_kinds[a->type >= 0 && a->type < PHX_RE_TYPE_COUNT_ ? a->type : 0];
}

bool phx_re_kind_has_key(const struct phx_re_kind *kind, const char *key)
{
	for (const char *const *k = kind->keys; *k; k++)
		if (!strcmp(*k, key))
			return true;
	return false;
}

bool phx_re_kind_may_have(const struct phx_re_kind *kind, const char *key)
{
	bool listed = false;

	for (int i = 0; i < PHX_RE_TYPE_COUNT_; i++)
		listed = listed || phx_re_kind_has_key(phx_re_kinds[i], key);
	return !listed || phx_re_kind_has_key(kind, key);
}
