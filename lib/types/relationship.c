/* What the relationship of an agreement implies: relationship.def. Called by phxd for new
 * agreements; those of older journals stay as they are. Pure. */
#include "types/agreement.h"

#include <string.h>

static const char *const names[] = {
#define RELATIONSHIP(id, name, one_person, apart) name,
#include "types/relationship.def"
#undef RELATIONSHIP
};
const struct phx_enum phx_re_relationship_names = {"relationship", names, PHX_ARRAY_SIZE(names)};

static const struct {
	bool one_person, apart;
} rows[] = {
#define RELATIONSHIP(id, name, one_person, apart) {one_person, apart},
#include "types/relationship.def"
#undef RELATIONSHIP
};

bool phx_agreement_one_person(const struct phx_agreement *a)
{
	return rows[a->relationship].one_person;
}

bool phx_agreement_settle(struct phx_agreement *a)
{
	struct phx_setup as_asked = a->setup;
	bool noop = a->noop_between_owners;
	if (!rows[a->relationship].apart)
		return false;
	a->setup.mode = phx_setup_strictest();
	a->setup.when = PHX_WHEN_BOTH;
	a->setup.start = PHX_SETUP_START_POWER;
	a->noop_between_owners = false;
	return noop || !phx_record_equal(&phx_setup_record, &a->setup, &as_asked);
}
