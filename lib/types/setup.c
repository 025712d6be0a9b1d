/* Tables of setup policies: see setup.h. Pure. */
#include "types/setup.h"

static const char *const modes[] = {"noop", "wipe"};
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

bool phx_setup_wipes(const struct phx_setup *s, enum phx_setup_when moment)
{
	return s->mode == PHX_SETUP_WIPE && (s->when == PHX_WHEN_BOTH || s->when == (int)moment);
}
