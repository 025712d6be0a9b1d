/* Tables of setup policies: see setup.h. Pure. */
#include "types/setup.h"

static const char *const modes[] = {
#define K(id, name, does, text) name,
	PHX_SETUP_MODES(K)
#undef K
};
static const unsigned does[] = {
#define K(id, name, does, text) does,
	PHX_SETUP_MODES(K)
#undef K
};
const struct phx_enum phx_setup_mode_names = {"setup policy", modes, PHX_ARRAY_SIZE(modes)};

static const char *const methods[] = {"auto", "crypto", "discard", "overwrite", "secure-erase"};
const struct phx_enum phx_wipe_method_names = {"wipe method", methods, PHX_ARRAY_SIZE(methods)};

static const char *const whens[] = {"release", "assign", "both"};
const struct phx_enum phx_setup_when_names = {"moment of a setup policy", whens,
					      PHX_ARRAY_SIZE(whens)};

static const char *const verifies[] = {"sample", "full"};
const struct phx_enum phx_verify_names = {"read-back", verifies, PHX_ARRAY_SIZE(verifies)};

static const char *const starts[] = {"auto", "kexec", "power"};
const struct phx_enum phx_setup_start_names = {"start of an erase", starts, PHX_ARRAY_SIZE(starts)};

PHX_RECORD_TABLE(phx_setup, PHX_SETUP_FIELDS);

/* The mode may be out of range: agreements are asked before their values are checked. */
static unsigned all_of(const struct phx_setup *s)
{
	return s->mode >= 0 && s->mode < (int)PHX_ARRAY_SIZE(does) ? does[s->mode] : 0;
}

bool phx_setup_does(const struct phx_setup *s, unsigned what)
{
	return (all_of(s) & what) == what;
}

bool phx_setup_acts(const struct phx_setup *s, enum phx_setup_when moment)
{
	return all_of(s) && (s->when == PHX_WHEN_BOTH || s->when == (int)moment);
}

bool phx_setup_wipes(const struct phx_setup *s, enum phx_setup_when moment)
{
	return phx_setup_does(s, PHX_SETUP_DISKS) && phx_setup_acts(s, moment);
}

bool phx_setup_clears(const struct phx_setup *s)
{
	return phx_setup_does(s, PHX_SETUP_SCRATCH) && !phx_setup_does(s, PHX_SETUP_DISKS) &&
		phx_setup_acts(s, PHX_WHEN_RELEASE);
}

bool phx_setup_covers(const struct phx_setup *s, const struct phx_setup *other)
{
	return phx_setup_does(s, all_of(other));
}

int phx_setup_both(const struct phx_setup *a, const struct phx_setup *b)
{
	struct phx_setup s = {0};
	while (!phx_setup_covers(&s, a) || !phx_setup_covers(&s, b))
		s.mode++;
	return s.mode;
}

int phx_setup_strictest(void)
{
	return (int)PHX_ARRAY_SIZE(does) - 1;
}
